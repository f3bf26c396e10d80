"""A process that enriches a file and may kill itself at a named step.

    python -m support.worker '{"base_url": ..., "api_key": ..., "ledger": ..., "source": ...,
                               "target": ..., "receipt": ..., "settings": {}, "die": "after:x:2"}'

A step is ``before:NAME:N`` or ``after:NAME:N``: the N-th call of a ledger method, or the N-th job
of a kind that the courier starts (before) or brings back (after). With ``"die": "list"`` the
process runs to its end and writes the steps that it passed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from carrier_enrich import Enricher, Settings
from carrier_enrich.client import CarrierClient
from carrier_enrich.engine.courier import Arrival, Job, ThreadCourier


class Steps:
    """Counts the steps that the process passes, and kills it at one of them."""

    def __init__(self, die: str) -> None:
        self.die = die
        self.passed: Counter[str] = Counter()

    def reach(self, name: str) -> None:
        self.passed[name] += 1
        if f"{name}:{self.passed[name]}" == self.die:
            os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """An object whose calls are steps."""

    def __init__(self, inner: Any, steps: Steps) -> None:
        self._inner, self._steps = inner, steps

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*args: Any, **named: Any) -> Any:
            self._steps.reach(f"before:{name}")
            result = value(*args, **named)
            self._steps.reach(f"after:{name}")
            return result

        return call


class WatchedCourier:
    """A courier whose jobs are steps."""

    def __init__(self, inner: ThreadCourier, steps: Steps) -> None:
        self.inner, self.steps = inner, steps

    def start(self, ticket: int, job: Job) -> None:
        self.steps.reach(f"before:{type(job).__name__}")
        self.inner.start(ticket, job)

    def wait(self, seconds: float) -> list[Arrival]:
        arrivals = self.inner.wait(seconds)
        for arrival in arrivals:
            self.steps.reach(f"after:{type(arrival.job).__name__}")
        return arrivals


def main(given: dict[str, Any]) -> None:
    steps = Steps(given.get("die", ""))
    settings = Settings.of(
        {},
        base_url=given["base_url"],
        api_key=given["api_key"],
        ledger=given["ledger"],
        poll_seconds=0.2,
        price_single_usd="0.002",
        price_multi_usd="0.002",
        **given.get("settings", {}),
    )

    def courier(client: CarrierClient, clock: Callable[[], float]) -> WatchedCourier:
        return WatchedCourier(ThreadCourier(client, clock), steps)

    with Enricher(settings, courier=courier, clock=time.time) as enricher:
        ledger = enricher.open_ledger()
        enricher._ledger = replace(
            ledger,
            knowledge=Watched(ledger.knowledge, steps),
            purchases=Watched(ledger.purchases, steps),
            leases=Watched(ledger.leases, steps),
        )
        receipt = enricher.enrich_file(given["source"], given["target"], "phone")
        enricher._ledger = ledger
    Path(given["receipt"]).write_text(json.dumps(receipt.to_dict() | {"steps": dict(steps.passed)}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
