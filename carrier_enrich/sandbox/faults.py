"""Faults on request: which ones are scripted, and whose turn it is."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ENDPOINTS = frozenset({"check", "batch-check", "bulk-submit", "bulk-query", "balance", "result"})


class Stage(StrEnum):
    """When a fault strikes.

    BEFORE: instead of serving the request. AFTER: it spoils a successful answer. DELAY: before
    the request is served. TASK: it is written into a new task. FILE: it spoils a result file.
    """

    BEFORE = "before"
    AFTER = "after"
    DELAY = "delay"
    TASK = "task"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Fault:
    """One scripted fault.

    Attributes:
        on: the endpoint.
        kind: a name of the fault table.
        stage: when it strikes.
        options: of its kind, complete.
        times: how often; None for ever.
        after: matches to let pass first.
    """

    on: str
    kind: str
    stage: Stage
    options: Mapping[str, Any]
    times: int | None = 1
    after: int = 0

    def as_json(self) -> dict[str, Any]:
        """Itself for the report."""
        return {"on": self.on, "kind": self.kind, "times": self.times, "after": self.after} | dict(
            self.options
        )


@dataclass(slots=True)
class _Turn:
    fault: Fault
    passed: int = 0
    struck: int = 0

    def comes(self) -> bool:
        if self.fault.times is not None and self.struck >= self.fault.times:
            return False
        if self.passed < self.fault.after:
            self.passed += 1
            return False
        self.struck += 1
        return True


@dataclass(slots=True)
class FaultBook:
    """The faults that are scripted now, first come first served."""

    _turns: list[_Turn] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> None:
        """Script one more fault."""
        with self._lock:
            self._turns.append(_Turn(fault))

    def clear(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._turns.clear()

    def take(self, on: str, stage: Stage) -> Fault | None:
        """The fault that strikes now, at one place of one request."""
        with self._lock:
            here = (t for t in self._turns if t.fault.on == on and t.fault.stage is stage)
            return next((turn.fault for turn in here if turn.comes()), None)

    def take_all(self, on: str, stage: Stage) -> list[Fault]:
        """All faults whose turn it is at one place of one request."""
        with self._lock:
            here = [t for t in self._turns if t.fault.on == on and t.fault.stage is stage]
            return [turn.fault for turn in here if turn.comes()]

    def as_json(self) -> list[dict[str, Any]]:
        """What is scripted, and how often each fault has struck."""
        with self._lock:
            return [turn.fault.as_json() | {"struck": turn.struck} for turn in self._turns]
