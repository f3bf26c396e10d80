"""The loop: one thread, one effect at a time, until nothing is left to do.

Decisions come from `routing` (what to call), `retry` (what a failure gets) and the ledger (what
may be spent, polled, claimed). Time passes only in the courier's `wait`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from carrier_enrich.engine import sharing
from carrier_enrich.engine.buying import Buying
from carrier_enrich.engine.collecting import Collecting
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand
from carrier_enrich.engine.tasks import Tasks
from carrier_enrich.engine.watch import Progress, Watch, snapshot
from carrier_enrich.errors import DeadlinePassed, PaidWorkOpen
from carrier_enrich.ledger import State
from carrier_enrich.tables import counted, duration

#: Seconds between two heartbeats; far below the lease.
BEAT_SECONDS = 10.0

#: Seconds that checks which are out get to come in after an interruption.
GRACE_SECONDS = 5.0

#: Failures after which the service surely has no task of a submit. (A failed task was another one.)
_UNTAKEN = frozenset({"Busy", "NotSent", "QuotaUsedUp", "ServiceUnavailable", "TaskFailed"})


@dataclass(slots=True)
class Loop:
    """Runs one desk to its end."""

    desk: Desk
    watch: Watch | None = None
    buying: Buying = field(init=False)
    collecting: Collecting = field(init=False)
    next_beat: float = 0.0
    next_look: float = 0.0
    look_seconds: float = sharing.LOOK_SECONDS
    last: Progress | None = None

    def __post_init__(self) -> None:
        self.buying = Buying(self.desk)
        self.collecting = Collecting(self.desk, self.buying, Tasks(self.desk, self.buying))

    def run(self) -> None:
        """Until everything wanted is answered, or nothing more can be done.

        An interruption (Ctrl-C, a termination) stops the sending, gives the checks that are out
        a few seconds to come in, and goes on upwards; everything paid for is in the ledger.
        """
        try:
            while self._turn():
                pass
        except BaseException:
            self._drain()
            raise

    def _turn(self) -> bool:
        desk = self.desk
        now = desk.clock()
        if now >= self.next_beat:
            desk.clock.agree()
            desk.ledger.leases.beat(desk.run_id, now)
            self.next_beat = now + BEAT_SECONDS
        if now >= desk.deadline and not desk.stopping:
            desk.stop(self._too_late())
        if desk.stopping:
            self._leave()
        elif len(desk.awaited) and now >= self.next_look:
            self._look(now)
        for errand in list(desk.errands):
            if not errand.running and errand.due <= now:
                self.collecting.perform(errand, now)
        self._tell()
        self.buying.prepare(now)
        if not (desk.jobs or desk.errands or desk.waiting or len(desk.awaited)):
            return False
        for arrival in desk.courier.wait(self._pause(now)):
            waiting = desk.jobs.pop(arrival.ticket)
            if waiting is None:
                self.buying.balance_arrived(arrival)
            else:
                self.collecting.arrived(waiting, arrival)
        return True

    def _pause(self, now: float) -> float:
        """Seconds until something is due, if nothing arrives before."""
        desk = self.desk
        dues = [self.next_beat, desk.deadline if not desk.stopping else self.next_beat]
        dues += [errand.due for errand in desk.errands if not errand.running]
        lots_due = self.buying.next_due(now)
        if lots_due is not None:
            dues.append(lots_due)
        if len(desk.awaited):
            dues.append(self.next_look)
        return max(0.0, min(dues) - now)

    def _look(self, now: float) -> None:
        before = len(self.desk.awaited)
        sharing.look_again(self.desk)
        moved = len(self.desk.awaited) < before
        slower = min(sharing.LOOK_SECONDS_MAX, self.look_seconds * 1.5)
        self.look_seconds = sharing.LOOK_SECONDS if moved else slower
        self.next_look = now + self.look_seconds * (1 + self.desk.chance.random() / 4)

    def _leave(self) -> None:
        """Stopping: wait only for the jobs that are out."""
        desk = self.desk
        desk.waiting.clear()
        desk.awaited = desk.awaited[:0]
        for errand in list(desk.errands):
            if errand.running:
                continue
            if errand.purchase.state is State.INTENDED and _never_taken(errand):
                now = desk.clock()
                closed = desk.ledger.purchases.refused(errand.purchase, "stopped", now)
                desk.tally.closed(closed)
                desk.drop(errand)
            else:
                desk.leave(errand)

    def _too_late(self) -> DeadlinePassed | PaidWorkOpen:
        desk = self.desk
        tasks = [e for e in desk.errands if not e.is_check]
        given = duration(desk.settings.deadline_seconds)
        if tasks:
            numbers = sum(e.purchase.count for e in tasks)
            return PaidWorkOpen(
                f"the deadline of {given} passed with {counted(len(tasks), 'bulk task')} "
                f"({counted(numbers, 'number')}) still open and paid for: collect with "
                "carrier-enrich settle, or by running this again"
            )
        return DeadlinePassed(
            f"the deadline of {given} passed before all answers came; what came is kept: "
            "run it again"
        )

    def _drain(self) -> None:
        desk = self.desk
        desk.buying = False
        until = desk.clock() + GRACE_SECONDS
        while any(e.running and e.is_check for e in desk.errands) and desk.clock() < until:
            for arrival in desk.courier.wait(until - desk.clock()):
                came = desk.jobs.pop(arrival.ticket, None)
                if came is not None and came.is_check and arrival.error is None:
                    self.collecting.arrived(came, arrival)

    def _tell(self) -> None:
        if self.watch is None:
            return
        progress = snapshot(self.desk)
        if progress != self.last:
            self.last = progress
            self.watch(progress)


def _never_taken(errand: Errand) -> bool:
    """Whether every request for it, none of which is out, was answered without charge."""
    if errand.is_check:
        return True  # one whose answer is lost is closed at once
    return not errand.adopted and _UNTAKEN.issuperset(errand.failures)
