"""What a run has under way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from carrier_enrich.ledger import Purchase, State
from carrier_enrich.model import BulkTask, CallKind, Int64s


class Step(Enum):
    """The next thing to do for a purchase."""

    SEND = "send"
    POLL = "poll"
    DOWNLOAD = "download"


@dataclass(slots=True)
class Errand:
    """An open purchase and where it stands in this run.

    Attributes:
        numbers: what it buys, ascending.
        due: seconds since the epoch at which `step` is next.
        slot: the account's slot that it holds, for checks.
        adopted: it was left open by an earlier run.
        for_task: it waits for any bulk task of the account to end.
        freed: one has ended while its submit was out.
        task: the finished task, with a link, before its download.
        downloads: files that were fetched whole.
        running: a job of it is out.
    """

    purchase: Purchase
    numbers: Int64s
    step: Step
    due: float
    failures: Counter[str] = field(default_factory=Counter)
    slot: int | None = None
    adopted: bool = False
    optional: bool = False
    for_task: bool = False
    freed: bool = False
    task: BulkTask | None = None
    downloads: int = 0
    running: bool = False

    @property
    def is_check(self) -> bool:
        """Whether it is a single or multi check."""
        return self.purchase.kind is not CallKind.BULK_TASK

    @property
    def has_place(self) -> bool:
        """Whether it is a bulk task that the service has, or is to have, among its unfinished."""
        return not self.is_check and self.purchase.state in (State.INTENDED, State.SUBMITTED)

    def charge_for(self, succeeded: int) -> int | None:
        """Micros charged for so many numbers that were checked successfully; None if unpriced.

        Only those are charged (spec, Limits: bulk billing; What the service does: billing).
        """
        highest = self.purchase.highest_cost
        return None if highest is None else highest // self.purchase.count * succeeded
