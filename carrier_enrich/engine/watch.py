"""What a run looks like from outside while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Step
from carrier_enrich.model import CallKind


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """One bulk task under way; moments are seconds since the epoch."""

    purchase_id: int
    country: str
    numbers: int
    step: Step
    since: float
    due: float


@dataclass(frozen=True, slots=True)
class Progress:
    """A run at one moment. Counts are distinct numbers, amounts micros of USD.

    Attributes:
        wanted: numbers asked for.
        answered: those answered so far: known before, bought, collected or shared.
        waiting: numbers that wait to be bought.
        awaited: numbers that another run is buying.
        checks: single and multi checks in flight.
        tasks: bulk tasks under way.
        spent: charged so far; `cap` and `balance` as last known.
        known, bought, collected, shared: what `answered` is made of.
        requests: sent so far, of every kind.
        started_at: when the run began, seconds since the epoch.
    """

    wanted: int
    answered: int
    waiting: int
    awaited: int
    checks: int
    tasks: tuple[TaskProgress, ...]
    spent: int
    cap: int | None
    balance: int | None
    known: int = 0
    bought: int = 0
    collected: int = 0
    shared: int = 0
    requests: int = 0
    started_at: float = 0.0


Watch: TypeAlias = Callable[[Progress], None]


def snapshot(desk: Desk) -> Progress:
    """The run as it stands, its moments by this machine's clock."""
    tally, here = desk.tally, desk.clock.here
    return Progress(
        wanted=len(desk.numbers),
        answered=tally.known + tally.bought + tally.collected + tally.shared,
        waiting=desk.waiting.numbers,
        awaited=len(desk.awaited),
        checks=sum(e.is_check and e.running for e in desk.errands),
        tasks=tuple(
            TaskProgress(
                e.purchase.id,
                e.purchase.country or "",
                e.purchase.count,
                e.step,
                here(e.purchase.created_at),
                here(e.due),
            )
            for e in desk.errands
            if e.purchase.kind is CallKind.BULK_TASK
        ),
        spent=tally.charged,
        cap=desk.budget.cap,
        balance=tally.balance_after,
        known=tally.known,
        bought=tally.bought,
        collected=tally.collected,
        shared=tally.shared,
        requests=tally.requests.total(),
        started_at=here(tally.started_at),
    )
