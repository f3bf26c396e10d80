"""From what comes back to the ledger: answers, tasks, files, and what each failure gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from carrier_enrich import retry
from carrier_enrich.engine.buying import Buying
from carrier_enrich.engine.courier import Arrival, Download, Query
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.tasks import Tasks
from carrier_enrich.errors import (
    BadResultFile,
    CarrierEnrichError,
    CheckTimedOut,
    OutOfBalance,
    PaidWorkOpen,
    RequestRefused,
    ServiceError,
)
from carrier_enrich.model import (
    Answers,
    BulkTask,
    Lookup,
    LookupStatus,
)
from carrier_enrich.results import ResultFile


@dataclass(slots=True)
class Collecting:
    """The collecting side of the loop."""

    desk: Desk
    buying: Buying
    tasks: Tasks

    def perform(self, errand: Errand, now: float) -> None:
        """Start the errand's next step."""
        desk = self.desk
        match errand.step:
            case Step.SEND:
                errand.for_task = errand.freed = False
                self.buying.submit(errand)
            case Step.POLL:
                interval = desk.settings.poll_seconds
                if desk.ledger.purchases.may_poll(errand.purchase, now, interval):
                    assert errand.purchase.task_id is not None
                    desk.send(errand, Query(errand.purchase.task_id))
                else:
                    polled = desk.ledger.purchases.get(errand.purchase.id).polled_at or now
                    errand.due = polled + interval
            case Step.DOWNLOAD:
                assert errand.task is not None
                assert errand.purchase.product is not None
                desk.send(
                    errand,
                    Download(
                        errand.task,
                        errand.purchase.product,
                        errand.numbers,
                        self.tasks.target(errand),
                        errand.purchase.success_count,
                    ),
                )
            case _:
                assert_never(errand.step)

    def arrived(self, errand: Errand, arrival: Arrival) -> None:
        """Record what came back, or do what its failure gets."""
        errand.running = False
        match arrival.error:
            case None:
                self._succeeded(errand, arrival.value)
            case BadResultFile() if errand.downloads == 0:
                # A file that was cut where nobody could see it looks just like a bad one.
                errand.downloads += 1
                self.tasks.ask_link(errand)
            case BadResultFile() as error:
                # The file is kept for a look; the task stays open, so nothing is lost. The rest
                # of the run goes on, and then this is raised.
                self.desk.fatal = self.desk.fatal or BadResultFile(
                    f"{error}. The task stays open and is paid for. The file, as far as it came: "
                    f"{self.tasks.target(errand)}. Once it is mended at the service, run this "
                    f"again; to do without: carrier-enrich settle --give-up {errand.purchase.id}"
                )
                self.desk.leave(errand)
            case OSError() as error:
                reason = error.strerror or type(error).__name__
                self.desk.abort(PaidWorkOpen(f"a result file can't be stored: {reason}"))
            case ServiceError() as error:
                self._failed(errand, error, self.desk.clock.of(arrival.started_at))
            case error:
                raise error
        self.buying.purchase_ended()

    def _succeeded(self, errand: Errand, value: object) -> None:
        if not errand.is_check:
            # A step that works starts afresh with its patience; failed tasks are no such matter.
            errand.failures = Counter(TaskFailed=errand.failures["TaskFailed"])
        match value:
            case list():
                self._checked(errand, value)
            case BulkTask() if errand.step is Step.SEND:
                self.tasks.submitted(errand, value)
            case BulkTask():
                self.tasks.polled(errand, value)
            case ResultFile():
                self.tasks.downloaded(errand, value)
            case _:
                raise TypeError(type(value))

    def _checked(self, errand: Errand, lookups: Sequence[Lookup]) -> None:
        answers = Answers.of(zip(errand.numbers.tolist(), lookups, strict=True))
        succeeded = sum(
            lookup.status in (LookupStatus.FOUND, LookupStatus.UNALLOCATED) for lookup in lookups
        )
        charged = errand.charge_for(succeeded)
        self.desk.collect(errand, answers, charged)

    def _failed(self, errand: Errand, error: ServiceError, sent_at: float) -> None:
        desk, now = self.desk, self.desk.clock()
        name = type(error).__name__
        errand.failures[name] += 1
        desk.tally.refusals[error.code or 0] += 1
        decision = retry.decide(
            _operation(errand),
            error,
            attempt=errand.failures[name],
            deadline_left=0.0 if desk.stopping else desk.deadline - now,
            numbers=len(errand.numbers),
            open_tasks=self.tasks.open_tasks(),
            jitter=desk.chance.random(),
        )
        match decision:
            case retry.Wait(seconds=seconds):
                errand.due = now + seconds
            case retry.WaitForTask():
                self.buying.places.refused(errand, desk.errands, now)
            case retry.AskLink():
                self.tasks.ask_link(errand)
            case retry.Halve():
                self._refuse(errand, error)
                half = len(errand.numbers) // 2
                desk.queue_again(errand, [errand.numbers[:half], errand.numbers[half:]])
            case retry.ChargeUnknown(error=fatal, seconds=seconds):
                # The service may be at it still, and charge only then.
                over_at = sent_at + retry.CHECK_SECONDS[errand.purchase.kind]
                closed = desk.ledger.purchases.charge_unknown(
                    errand.purchase, str(error), now, shows_at=max(now, over_at)
                )
                desk.tally.closed(closed)
                desk.drop(errand)
                if fatal is not None:
                    desk.abort(fatal)
                else:
                    desk.queue_again(errand, [errand.numbers], failure=name, due=now + seconds)
            case retry.GiveUp(error=final):
                self._give_up(errand, final)
            case _:
                assert_never(decision)

    def _give_up(self, errand: Errand, error: ServiceError) -> None:
        desk = self.desk
        if errand.step is not Step.SEND or error.may_be_charged:
            # The task, or a submit whose outcome is not known, stays open: it can be settled.
            desk.leave(errand)
            desk.give_up(error)
            return
        if isinstance(error, RequestRefused) and error.code == _INVALID_NUMBER and errand.is_check:
            invalid = Lookup(LookupStatus.INVALID)
            self.desk.collect(errand, Answers.of((n, invalid) for n in errand.numbers.tolist()), 0)
            return
        self._refuse(errand, error)
        if isinstance(error, OutOfBalance):
            self._out_of_balance(errand, error)
        elif isinstance(error, CheckTimedOut):
            desk.shortfall = desk.shortfall or error
        else:
            desk.give_up(error)

    def _out_of_balance(self, errand: Errand, error: OutOfBalance) -> None:
        """40200: smaller calls that still fit may go on, where the caller wants a part."""
        desk = self.desk
        desk.fall_short(error)
        if not desk.partial or not errand.is_check:
            return
        if len(errand.numbers) == 1:
            desk.waiting.clear_checks()
            return
        self.buying.narrow(len(errand.numbers))
        desk.queue_again(errand, [errand.numbers])

    def _refuse(self, errand: Errand, error: CarrierEnrichError) -> None:
        closed = self.desk.ledger.purchases.refused(errand.purchase, str(error), self.desk.clock())
        if not errand.adopted:
            self.desk.tally.closed(closed)
        self.desk.drop(errand)


_INVALID_NUMBER = 40002


def _operation(errand: Errand) -> retry.Operation:
    match errand.step:
        case Step.SEND:
            return errand.purchase.kind
        case Step.POLL:
            return "poll"
        case Step.DOWNLOAD:
            return "download"
