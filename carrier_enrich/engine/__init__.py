"""The engine: settle, recall, claim, plan, gate, spend, look again.

`Engine.run` is the whole of it for a set of numbers; `look` says what it would do, for free;
`settle` collects what is already paid for and buys nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from carrier_enrich.advice import advice_on
from carrier_enrich.ascending import without
from carrier_enrich.engine import sharing
from carrier_enrich.engine.courier import Courier, ReadBalance
from carrier_enrich.engine.desk import Desk
from carrier_enrich.engine.loop import Loop
from carrier_enrich.engine.tally import Outcome, Tally
from carrier_enrich.engine.watch import Progress, Watch
from carrier_enrich.errors import BadApiKey, CarrierEnrichError, PaidWorkOpen, ServiceError
from carrier_enrich.ledger import Budget, Freshness, Ledger, Purchase
from carrier_enrich.model import Call, CallKind, Countries, Int64s
from carrier_enrich.routing import Rules, route
from carrier_enrich.settings import Settings
from carrier_enrich.tables import counted

__all__ = ["ALL_KINDS", "CHECKS", "TASKS", "Engine", "Look", "Outcome", "Progress", "Tally"]

CHECKS = frozenset({CallKind.SINGLE_CHECK, CallKind.MULTI_CHECK})
TASKS = frozenset({CallKind.BULK_TASK})
ALL_KINDS = CHECKS | TASKS

#: Seconds that the last balance read of a run may take.
CLOSING_SECONDS = 10.0

#: Bulk tasks at once that an expected duration reckons with: how many the account really takes
#: shows only when one is refused.
TASKS_RECKONED = 4

#: Seconds for which an undetermined number is not asked again.
UNDETERMINED_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What a run would find and do.

    Attributes:
        known: numbers that the ledger knows and that are fresh.
        paid: numbers in open purchases, to be collected.
        calls: what would be bought, in order.
        expected_seconds: what such calls have taken so far, None without experience.
    """

    known: int
    paid: int
    calls: tuple[Call, ...]
    expected_seconds: float | None


@dataclass(frozen=True, slots=True)
class Engine:
    """Buys answers for numbers, once.

    Attributes:
        clock: this machine's, in seconds since the epoch; what is written down is in the
            ledger's time, which machines with other clocks share.
        chance: source of jitter.
    """

    ledger: Ledger
    courier: Courier
    settings: Settings
    clock: Callable[[], float] = time.time
    chance: random.Random = field(default_factory=random.Random)

    def look(self, numbers: Int64s, countries: Countries) -> Look:
        """What `run` would do with these numbers; nothing is sent or written."""
        knowledge = self.ledger.knowledge
        known = knowledge.recall(numbers, self._fresh()).numbers
        unknown = without(numbers, known)
        paid = knowledge.in_open_purchases(unknown)
        to_buy = without(unknown, paid)
        positions = np.searchsorted(numbers, to_buy)
        calls = route(to_buy, countries.of(positions), Rules.of(self.settings))
        return Look(len(known), len(paid), calls, self._expected_seconds(calls))

    def run(
        self,
        numbers: Int64s,
        countries: Countries,
        *,
        budget: Budget | None = None,
        partial: bool = False,
        buys: frozenset[CallKind] = ALL_KINDS,
        wait_for_tasks: bool = True,
        watch: Watch | None = None,
    ) -> Outcome:
        """Answers for these numbers: recalled, collected, shared, or bought.

        Args:
            numbers: distinct E.164 integers, ascending.
            countries: the country of each.
            budget: what may be spent; by default the settings' cap for this run alone.
            partial: return what fits the limits instead of raising.
            buys: the kinds of call that may be bought.
            wait_for_tasks: False to submit bulk tasks and leave them in the ledger.
            watch: told whenever the progress changes.

        Raises:
            OverBudget, PriceUnknown, OutOfBalance, QuotaUsedUp, DeadlinePassed, ServiceError:
                not everything could be bought; what came is in the ledger. With `partial` they
                come in the outcome's `stopped` instead.
            BadApiKey, RequestRefused, UnexpectedAnswer, BadResultFile, IntentionTooOld,
            RunTakenOver, LedgerError: in any case.
        """
        clock = self.ledger.clock(self.clock)
        now = clock()
        run_id = self.ledger.leases.begin(now)
        rules = Rules.of(self.settings)
        if CallKind.BULK_TASK not in buys:
            rules = replace(rules, product=None)
        desk = Desk(
            ledger=self.ledger,
            courier=self.courier,
            settings=self.settings,
            rules=rules,
            budget=budget or Budget(f"run-{run_id}", self.settings.max_cost),
            clock=clock,
            chance=self.chance,
            run_id=run_id,
            buys=buys,
            wait_for_tasks=wait_for_tasks,
            partial=partial,
            numbers=numbers,
            countries=countries,
            fresh=self._fresh(),
            deadline=now + self.settings.deadline_seconds,
        )
        desk.tally.started_at = now
        try:
            sharing.take_over(desk)
            if desk.buying:
                sharing.begin(desk)
            Loop(desk, watch).run()
            self._closing_balance(desk)
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.add_note("what came is kept: running this again pays for the rest only")
            note = _still_open(tuple(self.ledger.purchases.open()))
            stop.add_note(note or "nothing is open at the service")
            raise
        finally:
            self.ledger.knowledge.release(run_id)
            self.ledger.leases.end(run_id, clock())
        desk.tally.ended_at = clock()
        return self._outcome(desk)

    def settle(self, *, watch: Watch | None = None) -> Outcome:
        """Collect what is paid for and open; buy nothing.

        A bulk submit that never was confirmed is sent again under its key: if the service has
        it, nothing is bought a second time; if it never arrived, it is bought now as intended.
        """
        nothing = np.empty(0, np.int64)
        nowhere = Countries(np.empty(0, np.int16), ())
        return self.run(nothing, nowhere, partial=True, watch=watch)

    def _outcome(self, desk: Desk) -> Outcome:
        open_purchases = tuple(self.ledger.purchases.open())
        error = desk.fatal or desk.shortfall
        if error is not None and (desk.fatal or not desk.partial):
            if _may_settle(error) and any(p.run_id == desk.run_id for p in open_purchases):
                error.exit_code = PaidWorkOpen.exit_code
            for note in (advice_on(error), _still_open(open_purchases)):
                if note is not None:
                    error.add_note(note)
            raise error
        answers = desk.recalled
        if answers is None or len(answers) < len(desk.numbers):
            answers = self.ledger.knowledge.recall(desk.numbers, self._fresh())
        return Outcome(answers, desk.tally, open_purchases, error)

    def _closing_balance(self, desk: Desk) -> None:
        """What is left, for the receipt; a failure here is no failure of the run."""
        if desk.tally.balance_before is None:
            return
        ticket = desk.send(None, ReadBalance())
        until = self.clock() + CLOSING_SECONDS
        while self.clock() < until:
            for arrival in self.courier.wait(until - self.clock()):
                if arrival.ticket == ticket:
                    if isinstance(arrival.value, int):
                        desk.tally.balance_after = arrival.value
                    return

    def _expected_seconds(self, calls: tuple[Call, ...]) -> float | None:
        if not calls:
            return 0.0
        took = self.ledger.purchases.experience()
        if any(call.kind not in took for call in calls):
            return None
        tasks = [took[call.kind] for call in calls if call.kind is CallKind.BULK_TASK]
        checks = sum(took[call.kind] for call in calls if call.kind is not CallKind.BULK_TASK)
        at_once = min(self.settings.bulk_at_once, TASKS_RECKONED, max(1, len(tasks)))
        return max(sum(tasks) / at_once, checks)

    def _fresh(self) -> Freshness:
        now = self.clock()
        return Freshness(
            answers=now - self.settings.max_age_days * 86_400,
            undetermined=now - min(UNDETERMINED_SECONDS, self.settings.max_age_days * 86_400),
        )


def _may_settle(error: CarrierEnrichError) -> bool:
    """Whether what is open can be collected later as things are; not with a bad key, say."""
    plain = error.exit_code == ServiceError.exit_code and not isinstance(error, BadApiKey)
    return isinstance(error, ServiceError) and plain


def _still_open(purchases: tuple[Purchase, ...]) -> str | None:
    if not purchases:
        return None
    numbers = counted(sum(purchase.count for purchase in purchases), "number")
    what = f"{counted(len(purchases), 'purchase')} ({numbers})"
    return f"{what} may be paid for and still open: carrier-enrich settle"
