"""Bulk tasks after their submit: polled, downloaded, recorded, or bought again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carrier_enrich.ascending import without
from carrier_enrich.engine.buying import Buying
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.waiting import Lot
from carrier_enrich.errors import TaskFailed
from carrier_enrich.ledger import State
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


@dataclass(slots=True)
class Tasks:
    """The bulk tasks of a run."""

    desk: Desk
    buying: Buying

    def submitted(self, errand: Errand, task: BulkTask) -> None:
        """The service has taken the task: poll it, or leave it in detached mode."""
        desk, now = self.desk, self.desk.clock()
        errand.purchase = desk.ledger.purchases.submitted(errand.purchase, task, now)
        errand.step = Step.POLL
        errand.due = now + desk.settings.poll_seconds
        self.buying.places.taken(desk.errands)
        if not desk.wait_for_tasks:
            desk.leave(errand)

    def polled(self, errand: Errand, task: BulkTask) -> None:
        """What the query said: download, buy again, or ask later."""
        desk, now = self.desk, self.desk.clock()
        match task.status:
            case TaskStatus.FAILED:
                self._failed(errand, now)
            case TaskStatus.SUCCESS if task.result_url and not task.preparing:
                if errand.purchase.success_count is None:
                    errand.purchase = desk.ledger.purchases.finished(errand.purchase, task)
                    self.buying.places.ended(desk.errands, now)
                errand.task = task
                errand.step = Step.DOWNLOAD
                errand.due = now
            case _:
                errand.due = now + desk.settings.poll_seconds

    def _failed(self, errand: Errand, now: float) -> None:
        desk = self.desk
        closed = desk.ledger.purchases.failed(errand.purchase, now)
        desk.drop(errand)
        self.buying.places.ended(desk.errands, now)
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

    def downloaded(self, errand: Errand, file: ResultFile) -> None:
        """The file is read: record it, unless it lacks rows and was fetched only once."""
        desk, purchase = self.desk, errand.purchase
        errand.downloads += 1
        expected = purchase.success_count
        missing = expected is not None and len(file.answers) < expected
        if missing and errand.downloads == 1:
            self.ask_link(errand)
            return
        left_out = without(errand.numbers, file.answers.numbers)
        # Rows that the service counts and the file lacks are paid for, and nobody can tell
        # which of the numbers left out they are: none of them is bought again by itself.
        status = LookupStatus.CHARGE_UNKNOWN if missing else LookupStatus.UNDETERMINED
        answers = _with(file.answers, left_out, Lookup(status))
        succeeded = expected if expected is not None else len(file.answers)
        charged = errand.charge_for(min(succeeded, purchase.count))
        desk.tally.doubled += file.doubled
        desk.tally.foreign += file.foreign
        desk.collect(errand, answers, charged)
        if missing:
            desk.tally.unknown += len(left_out)
        elif len(left_out) and _excluded(errand) and not errand.adopted:
            self._second_look(left_out)
        for path in desk.settings.spool.glob(f"purchase-{purchase.id}-*.result"):
            path.unlink(missing_ok=True)

    def _second_look(self, left_out: Int64s) -> None:
        """Numbers that a task excluded go once through multi checks, within the budget."""
        desk = self.desk
        if not desk.buying or CallKind.MULTI_CHECK not in desk.buys:
            return
        account = desk.ledger.purchases.account_id
        mine = desk.ledger.knowledge.claim(left_out, desk.run_id, account)
        for call in checks(mine, desk.rules):
            desk.waiting.add(Lot(call, optional=True))

    def ask_link(self, errand: Errand) -> None:
        """Links are never kept: the task gives a new one, in its polling interval."""
        errand.task = None
        errand.step = Step.POLL
        errand.due = self.desk.clock()

    def target(self, errand: Errand) -> Path:
        """Where the result file goes."""
        return self.desk.settings.spool / f"purchase-{errand.purchase.id}-{self.desk.run_id}.result"

    def open_tasks(self) -> int:
        """Unfinished bulk tasks of the account that the ledger knows, whoever submitted them."""
        return sum(p.state is State.SUBMITTED for p in self.desk.ledger.purchases.open())


def _excluded(errand: Errand) -> bool:
    """Whether the task left numbers out: by its counts, or by a total below what was sent."""
    total = errand.task.total if errand.task else 0
    return bool(errand.purchase.excluded_count) or 0 < total < errand.purchase.count


def _with(answers: Answers, numbers: Int64s, lookup: Lookup) -> Answers:
    """The answers and, for further numbers, one lookup."""
    codes = np.full(len(numbers), len(answers.lookups), np.int32)
    return Answers(
        np.concatenate([answers.numbers, numbers]),
        np.concatenate([answers.codes, codes]),
        (*answers.lookups, lookup),
    )
