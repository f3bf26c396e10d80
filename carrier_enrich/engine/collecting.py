"""From what comes back to the ledger: answers, tasks, files, and what each failure gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import numpy as np

from carrier_enrich import retry
from carrier_enrich.engine.buying import Buying
from carrier_enrich.engine.courier import Arrival, Download, Query
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.waiting import Lot
from carrier_enrich.errors import (
    BadResultFile,
    CarrierEnrichError,
    CheckTimedOut,
    OutOfBalance,
    PaidWorkOpen,
    RequestRefused,
    ServiceError,
    TaskFailed,
)
from carrier_enrich.model import (
    Answers,
    BulkTask,
    Call,
    CallKind,
    Int64s,
    Lookup,
    LookupStatus,
    TaskStatus,
)
from carrier_enrich.results import ResultFile
from carrier_enrich.routing import checks

#: Times that the numbers of a failed bulk task are bought again, under a new generation.
FAILED_TASKS_MAX = 2

#: Seconds after which a task that met "too many unfinished orders" is tried again, if none of
#: this run's own tasks ends before.
ORDER_SECONDS = 60.0


@dataclass(slots=True)
class Collecting:
    """The collecting side of the loop."""

    desk: Desk
    buying: Buying

    def perform(self, errand: Errand, now: float) -> None:
        """Start the errand's next step."""
        desk = self.desk
        match errand.step:
            case Step.SEND:
                errand.for_task = False
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
                        self._target(errand),
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
                self._ask_link(errand)
            case BadResultFile() as error:
                # The file is kept for a look; the task stays open, so nothing is lost. The rest
                # of the run goes on, and then this is raised.
                self.desk.fatal = self.desk.fatal or BadResultFile(
                    f"{error}. The task stays open and is paid for. The file, as far as it came: "
                    f"{self._target(errand)}. Once it is mended at the service, run this again; to "
                    f"do without: carrier-enrich settle --give-up {errand.purchase.id}"
                )
                self.desk.leave(errand)
            case OSError() as error:
                reason = error.strerror or type(error).__name__
                self.desk.abort(PaidWorkOpen(f"a result file can't be stored: {reason}"))
            case ServiceError() as error:
                self._failed(errand, error)
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
                self._submitted(errand, value)
            case BulkTask():
                self._polled(errand, value)
            case ResultFile():
                self._downloaded(errand, value)
            case _:
                raise TypeError(type(value))

    def _checked(self, errand: Errand, lookups: Sequence[Lookup]) -> None:
        purchase = errand.purchase
        answers = Answers.of(zip(errand.numbers.tolist(), lookups, strict=True))
        succeeded = sum(
            lookup.status in (LookupStatus.FOUND, LookupStatus.UNALLOCATED) for lookup in lookups
        )
        charged = _share(purchase.highest_cost, succeeded, purchase.count)
        self._collect(errand, answers, charged)

    def _submitted(self, errand: Errand, task: BulkTask) -> None:
        desk, now = self.desk, self.desk.clock()
        errand.purchase = desk.ledger.purchases.submitted(errand.purchase, task, now)
        if not desk.wait_for_tasks:
            desk.leave(errand)
            return
        errand.step = Step.POLL
        errand.due = now + desk.settings.poll_seconds

    def _polled(self, errand: Errand, task: BulkTask) -> None:
        desk, now = self.desk, self.desk.clock()
        match task.status:
            case TaskStatus.FAILED:
                self._task_failed(errand, now)
            case TaskStatus.SUCCESS if task.result_url and not task.preparing:
                if errand.purchase.success_count is None:
                    errand.purchase = desk.ledger.purchases.finished(errand.purchase, task)
                errand.task = task
                errand.step = Step.DOWNLOAD
                errand.due = now
            case _:
                errand.due = now + desk.settings.poll_seconds

    def _task_failed(self, errand: Errand, now: float) -> None:
        desk = self.desk
        closed = desk.ledger.purchases.failed(errand.purchase, now)
        desk.drop(errand)
        self._task_ended(now)
        if errand.adopted:
            return
        desk.tally.closed(closed)
        errand.failures["TaskFailed"] += 1
        if errand.failures["TaskFailed"] > FAILED_TASKS_MAX:
            desk.fall_short(
                TaskFailed(
                    f"a bulk task of {closed.count:,} numbers ({closed.country}) failed "
                    f"{errand.failures['TaskFailed']} times and was refunded in full each time"
                )
            )
            return
        call = Call(
            closed.kind, errand.numbers, closed.product, closed.country, closed.highest_cost
        )
        desk.waiting.add(Lot(call, errand.failures, now))

    def _downloaded(self, errand: Errand, file: ResultFile) -> None:
        desk, purchase = self.desk, errand.purchase
        errand.downloads += 1
        expected = purchase.success_count
        missing = expected is not None and len(file.answers) < expected
        if missing and errand.downloads == 1:
            self._ask_link(errand)
            return
        left_out = np.setdiff1d(errand.numbers, file.answers.numbers, assume_unique=True)
        # Rows that the service counts and the file lacks are paid for, and nobody can tell
        # which of the numbers left out they are: none of them is bought again by itself.
        status = LookupStatus.CHARGE_UNKNOWN if missing else LookupStatus.UNDETERMINED
        answers = _with(file.answers, left_out, Lookup(status))
        succeeded = expected if expected is not None else len(file.answers)
        charged = _share(purchase.highest_cost, min(succeeded, purchase.count), purchase.count)
        desk.tally.doubled += file.doubled
        desk.tally.foreign += file.foreign
        self._collect(errand, answers, charged)
        if missing:
            desk.tally.unknown += len(left_out)
        elif purchase.excluded_count and len(left_out) and not errand.adopted:
            self._second_look(left_out)
        for path in desk.settings.spool.glob(f"purchase-{purchase.id}-*.result"):
            path.unlink(missing_ok=True)
        self._task_ended(desk.clock())

    def _second_look(self, left_out: Int64s) -> None:
        """Numbers that a task excluded go once through multi checks, within the budget."""
        desk = self.desk
        if not desk.buying or CallKind.MULTI_CHECK not in desk.buys:
            return
        account = desk.ledger.purchases.account_id
        mine = desk.ledger.knowledge.claim(left_out, desk.run_id, account)
        for call in checks(mine, desk.rules):
            desk.waiting.add(Lot(call, optional=True))

    def _collect(self, errand: Errand, answers: Answers, charged: int | None) -> None:
        desk = self.desk
        closed = desk.ledger.purchases.collected(
            errand.purchase, answers, charged=charged, now=desk.clock()
        )
        desk.drop(errand)
        if errand.adopted:
            wanted = np.intersect1d(desk.awaited, answers.numbers, assume_unique=True)
            desk.tally.collected += len(wanted)
            desk.awaited = np.setdiff1d(desk.awaited, wanted, assume_unique=True)
        else:
            desk.tally.closed(closed)
            desk.tally.bought += 0 if errand.optional else len(answers)

    def _failed(self, errand: Errand, error: ServiceError) -> None:
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
            open_tasks=self._open_tasks(),
            jitter=desk.chance.random(),
        )
        match decision:
            case retry.Wait(seconds=seconds):
                errand.due = now + seconds
            case retry.WaitForTask():
                errand.for_task = True
                errand.due = now + ORDER_SECONDS
                self.buying.task_limit = max(1, len(desk.open_tasks()))
            case retry.AskLink():
                self._ask_link(errand)
            case retry.Halve():
                self._refuse(errand, error)
                half = len(errand.numbers) // 2
                desk.queue_again(errand, [errand.numbers[:half], errand.numbers[half:]])
            case retry.ChargeUnknown(error=fatal, seconds=seconds):
                closed = desk.ledger.purchases.charge_unknown(errand.purchase, str(error), now)
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
            self._collect(errand, Answers.of((n, invalid) for n in errand.numbers.tolist()), 0)
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

    def _ask_link(self, errand: Errand) -> None:
        """Links are never kept: the task gives a new one, in its polling interval."""
        errand.task = None
        errand.step = Step.POLL
        errand.due = self.desk.clock()

    def _target(self, errand: Errand) -> Path:
        return self.desk.settings.spool / f"purchase-{errand.purchase.id}-{self.desk.run_id}.result"

    def _open_tasks(self) -> int:
        kinds = (p.kind for p in self.desk.ledger.purchases.open() if p.task_id is not None)
        return sum(kind is CallKind.BULK_TASK for kind in kinds)

    def _task_ended(self, now: float) -> None:
        self.buying.task_limit = None
        for errand in self.desk.errands:
            if errand.for_task:
                errand.due = now


_INVALID_NUMBER = 40002


def _operation(errand: Errand) -> retry.Operation:
    match errand.step:
        case Step.SEND:
            return errand.purchase.kind
        case Step.POLL:
            return "poll"
        case Step.DOWNLOAD:
            return "download"


def _share(highest_cost: int | None, succeeded: int, count: int) -> int | None:
    """Micros charged: only numbers that were checked successfully are (spec, Bulk billing)."""
    return None if highest_cost is None else highest_cost // count * succeeded


def _with(answers: Answers, numbers: Int64s, lookup: Lookup) -> Answers:
    """The answers and, for further numbers, one lookup."""
    codes = np.full(len(numbers), len(answers.lookups), np.int32)
    return Answers(
        np.concatenate([answers.numbers, numbers]),
        np.concatenate([answers.codes, codes]),
        (*answers.lookups, lookup),
    )
