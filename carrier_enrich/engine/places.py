"""How many bulk tasks the account takes at once: found by being refused, then held.

The service says only "too many unfinished orders" (spec, Errors: 42900), never how many are few
enough, and other users of the account count too. So tasks are submitted, a few at a time, until one
is refused; what was under way then is the limit, and the next submit follows when one has ended.
Seldom, and ever more seldom, one more is tried: the others may have finished.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from carrier_enrich.engine.errands import Errand, Step

#: Submits out at once: so many uploads at most are in vain when the limit is met.
SUBMITS_AT_ONCE = 2

#: Seconds until one task more than the limit is tried, at first and at most.
TRIAL_SECONDS = 60.0
TRIAL_SECONDS_MAX = 3_600.0


@dataclass(slots=True)
class Places:
    """The account's places for bulk tasks, as far as this run knows them.

    Attributes:
        most: tasks at once that the settings allow.
        limit: tasks that the account takes at once; None while none was refused.
        trial_at: seconds since the epoch from which on one more than `limit` may be tried.
        pause: seconds from a refusal to the next trial.
    """

    most: int
    limit: int | None = None
    trial_at: float = math.inf
    pause: float = TRIAL_SECONDS

    def free(self, errands: Sequence[Errand], now: float) -> int:
        """How many further bulk tasks may be submitted now."""
        tasks = [errand for errand in errands if errand.has_place]
        if any(errand.for_task for errand in tasks):
            return 0  # it was refused, and is the next
        limit = self.most
        if self.limit is not None:
            limit = min(limit, self.limit + (now >= self.trial_at))
        sending = sum(errand.step is Step.SEND for errand in tasks)
        return max(0, min(limit - len(tasks), SUBMITS_AT_ONCE - sending))

    def next_due(self, errands: Sequence[Errand], now: float) -> float | None:
        """When a place may be free without anything arriving before; None for not at all."""
        if self.free(errands, now):
            return now
        return self.trial_at if self.free(errands, self.trial_at) else None

    def taken(self, errands: Sequence[Errand]) -> None:
        """The service has taken a task: more than thought fit, so the limit is open again."""
        if self.limit is not None and _under_way(errands) > self.limit:
            self.limit = None

    def refused(self, errand: Errand, errands: Sequence[Errand], now: float) -> None:
        """The service has too many: the errand waits for an end, or for its time."""
        if errand.freed:
            errand.due = now  # a place became free while its submit was out
            return
        under_way = _under_way(errands)
        if self.limit is not None:
            self.pause = min(TRIAL_SECONDS_MAX, 2 * self.pause)
        self.limit = under_way
        self.trial_at = now + self.pause
        errand.for_task = True
        # Tasks of others end unseen; where there are only those, time is all there is.
        errand.due = self.trial_at if under_way else now + TRIAL_SECONDS

    def ended(self, errands: Sequence[Errand], now: float) -> None:
        """A task has ended: its place is for the one that waits longest, or is just asking."""
        waiting = [errand for errand in errands if errand.for_task and errand.due > now]
        if waiting:
            waiting[0].due = now
            return
        asking = (e for e in errands if e.has_place and e.step is Step.SEND and not e.freed)
        if (errand := next(asking, None)) is not None:
            errand.freed = True


def _under_way(errands: Sequence[Errand]) -> int:
    return sum(errand.has_place and errand.step is not Step.SEND for errand in errands)
