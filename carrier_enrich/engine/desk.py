"""The state of one run, and the few things that every part of the loop does with it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from carrier_enrich.ascending import common, without
from carrier_enrich.engine.courier import Courier, Job
from carrier_enrich.engine.errands import Errand
from carrier_enrich.engine.tally import Tally
from carrier_enrich.engine.waiting import Lot, Waiting
from carrier_enrich.errors import (
    AnswerLost,
    Busy,
    CarrierEnrichError,
    LinkExpired,
    NotSent,
    QuotaUsedUp,
    ServiceUnavailable,
)
from carrier_enrich.ledger import Budget, Freshness, Ledger, SharedClock
from carrier_enrich.model import Answers, CallKind, Countries, Int64s
from carrier_enrich.routing import Rules, checks, route
from carrier_enrich.settings import Settings


@dataclass(slots=True)
class Desk:
    """One run's state; only the loop's thread touches it.

    Attributes:
        clock: seconds since the epoch, in the ledger's time.
        chance: source of jitter.
        buys: the kinds of call that the run may buy.
        wait_for_tasks: False where bulk tasks are submitted and left (detached mode).
        partial: whether what fits the limits is bought where not everything does.
        numbers, countries: what is wanted, ascending, and the country of each.
        recalled: what the ledger knew of them at the start.
        awaited: wanted numbers that another run or an adopted purchase is buying.
        buying: whether new purchases are made.
        shortfall: the first reason why not everything is bought.
        stopping: no new purchase and no further poll; checks that are out still come in.
        fatal: why the run must stop, and raise whatever the caller asked for.
    """

    ledger: Ledger
    courier: Courier
    settings: Settings
    rules: Rules
    budget: Budget
    clock: SharedClock
    chance: random.Random
    run_id: int
    buys: frozenset[CallKind]
    wait_for_tasks: bool
    partial: bool
    numbers: Int64s
    countries: Countries
    fresh: Freshness
    deadline: float
    tally: Tally = field(default_factory=Tally)
    errands: list[Errand] = field(default_factory=list)
    waiting: Waiting = field(default_factory=Waiting)
    jobs: dict[int, Errand | None] = field(default_factory=dict)
    recalled: Answers | None = None
    awaited: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    buying: bool = True
    stopping: bool = False
    shortfall: CarrierEnrichError | None = None
    fatal: CarrierEnrichError | None = None
    tickets: int = 0

    def send(self, errand: Errand | None, job: Job) -> int:
        """Start a job for an errand, or for the run itself; its ticket."""
        self.tickets += 1
        self.jobs[self.tickets] = errand
        if errand is not None:
            errand.running = True
        self.tally.requests[_NAMES[type(job).__name__]] += 1
        self.courier.start(self.tickets, job)
        return self.tickets

    def drop(self, errand: Errand) -> None:
        """The errand is over for this run; its slot is free."""
        if errand.slot is not None:
            self.ledger.leases.free_slot(self.run_id, errand.slot)
            errand.slot = None
        self.errands.remove(errand)

    def collect(self, errand: Errand, answers: Answers, charged: int | None) -> None:
        """Make answers durable, with the end of their purchase; only then do they count."""
        closed = self.ledger.purchases.collected(
            errand.purchase, answers, charged=charged, now=self.clock()
        )
        self.drop(errand)
        if errand.adopted:
            wanted = common(self.awaited, errand.numbers)
            self.tally.collected += len(wanted)
            self.awaited = without(self.awaited, wanted)
        else:
            self.tally.closed(closed)
            self.tally.bought += 0 if errand.optional else len(answers)

    def leave(self, errand: Errand) -> None:
        """Drop an errand whose purchase stays open: nobody waits for its numbers here."""
        self.awaited = without(self.awaited, errand.numbers)
        if not errand.adopted:
            self.tally.still_open += errand.purchase.highest_cost or 0
        self.drop(errand)

    def queue(self, numbers: Int64s) -> None:
        """Put wanted numbers, claimed by this run, where they wait to be bought."""
        wanted = np.searchsorted(self.numbers, numbers)
        rules = self.rules
        for call in route(numbers, self.countries.of(wanted), rules):
            if call.kind in self.buys:
                self.waiting.add(Lot(call))

    def queue_again(
        self, errand: Errand, parts: list[Int64s], *, failure: str = "", due: float = 0.0
    ) -> None:
        """Queue the numbers of a closed check once more, before everything that never was sent.

        An adopted purchase's numbers are wanted only where they are awaited; they come back
        from there.
        """
        if errand.adopted:
            return
        for part in reversed(parts):
            failures = errand.failures.copy() if failure else Counter[str]()
            for call in checks(part, self.rules):
                lot = Lot(call, failures, due, errand.optional, apart=True)
                self.waiting.add(lot, first=True)

    def fall_short(self, error: CarrierEnrichError) -> None:
        """Not everything can be bought; what is under way still comes in."""
        self.shortfall = self.shortfall or error
        if not self.partial:
            self.buying = False

    def stop_buying(self, error: CarrierEnrichError) -> None:
        """The user must decide before anything more is bought; what is paid for still comes in."""
        self.fatal = self.fatal or error
        self.buying = False
        # What others are buying is of no use to a run that raises.
        self.awaited = self.awaited[:0]

    def stop(self, error: CarrierEnrichError) -> None:
        """Time or patience is over: keep what came, leave the rest as it stands."""
        self.shortfall = self.shortfall or error
        self.buying = False
        self.stopping = True

    def abort(self, error: CarrierEnrichError) -> None:
        """Something is wrong that a partial result must not hide."""
        self.fatal = self.fatal or error
        self.stop(error)

    def give_up(self, error: CarrierEnrichError) -> None:
        """A call has failed for good: lack of service is a limit, everything else a fault."""
        limits = (AnswerLost, Busy, LinkExpired, NotSent, QuotaUsedUp, ServiceUnavailable)
        if isinstance(error, limits):
            self.stop(error)
        else:
            self.abort(error)


_NAMES = {
    "SingleCheck": "single_check",
    "MultiCheck": "multi_check",
    "Submit": "bulk_submit",
    "Query": "bulk_query",
    "Download": "result_download",
    "ReadBalance": "balance",
}
