"""What waits to be bought: quick at both ends, however much it is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from carrier_enrich.model import Call, CallKind


@dataclass(slots=True, eq=False)
class Lot:
    """A call that waits to be bought.

    Attributes:
        failures: how often these numbers have met each class of failure.
        due: seconds since the epoch before which it is not bought.
        optional: a second look: dropped without a word where there is no room for it.
        apart: a check that failed, or a part of one: it is not joined with others.
    """

    call: Call
    failures: Counter[str] = field(default_factory=Counter)
    due: float = 0.0
    optional: bool = False
    apart: bool = False

    @property
    def is_task(self) -> bool:
        """Whether it is a bulk task."""
        return self.call.kind is CallKind.BULK_TASK


@dataclass(slots=True)
class Waiting:
    """Lots in the order in which they are bought; checks and bulk tasks have a line each.

    Attributes:
        numbers: how many numbers wait, second looks not counted.
    """

    checks: deque[Lot] = field(default_factory=deque)
    tasks: deque[Lot] = field(default_factory=deque)
    numbers: int = 0

    def __bool__(self) -> bool:
        return bool(self.checks or self.tasks)

    def __iter__(self) -> Iterator[Lot]:
        return chain(self.tasks, self.checks)

    def add(self, lot: Lot, *, first: bool = False) -> None:
        """Queue a lot at the end of its line, or at its head."""
        line = self.tasks if lot.is_task else self.checks
        line.appendleft(lot) if first else line.append(lot)
        self.numbers += 0 if lot.optional else len(lot.call.numbers)

    def take(self, lot: Lot) -> Lot:
        """Take a lot out of its line."""
        line = self.tasks if lot.is_task else self.checks
        # Lots are taken at either end; looking through a long line for the last one is slow.
        if line[-1] is lot:
            line.pop()
        else:
            line.remove(lot)
        self.numbers -= 0 if lot.optional else len(lot.call.numbers)
        return lot

    def clear(self) -> None:
        """Give everything up."""
        self.checks.clear()
        self.tasks.clear()
        self.numbers = 0

    def clear_checks(self) -> None:
        """Give the checks up."""
        for lot in list(self.checks):
            self.take(lot)

    def ready_tasks(self, now: float, most: int) -> list[Lot]:
        """The next bulk tasks that are due."""
        due = (lot for lot in self.tasks if lot.due <= now)
        return list(islice(due, max(0, most)))

    def first_check(self, now: float) -> Lot | None:
        """The next check that is due."""
        return next((lot for lot in self.checks if lot.due <= now), None)

    def last_check(self, now: float) -> Lot | None:
        """The last check that is due."""
        return next((lot for lot in reversed(self.checks) if lot.due <= now), None)

    def ready_numbers(self, now: float, enough: int) -> int:
        """How many numbers of checks are due; counted only until there are enough."""
        count = 0
        for lot in self.checks:
            count += len(lot.call.numbers) if lot.due <= now else 0
            if count >= enough:
                break
        return count

    def next_check_due(self, now: float) -> float | None:
        """When the next check is due, now at the earliest; None where none waits."""
        return _soonest(self.checks, now)

    def next_task_due(self, now: float) -> float | None:
        """When the next bulk task is due, now at the earliest; None where none waits."""
        return _soonest(self.tasks, now)


def _soonest(line: Iterable[Lot], now: float) -> float | None:
    soonest: float | None = None
    for lot in line:
        if lot.due <= now:
            return now
        soonest = lot.due if soonest is None else min(soonest, lot.due)
    return soonest
