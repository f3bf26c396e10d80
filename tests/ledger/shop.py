"""Short ways to buy on a ledger."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from carrier_enrich.ledger import Balance, Budget, Freshness, Ledger, Purchase
from carrier_enrich.model import (
    Answers,
    BulkTask,
    Call,
    CallKind,
    Int64s,
    Lookup,
    LookupStatus,
    Product,
    TaskStatus,
)

NOW = 1_700_000_000.0
PLENTY = Balance(10**12, NOW)
FOUND = Lookup(LookupStatus.FOUND, "T-Mobile", "", "mobile", "US", "CA", "Fresno")


def some(count: int, first: int = 14_155_550_000) -> Int64s:
    """So many numbers, ascending."""
    return np.arange(first, first + count, dtype=np.int64)


def answers(numbers: Int64s, lookup: Lookup = FOUND) -> Answers:
    """The same answer for each number."""
    return Answers(numbers, np.zeros(len(numbers), np.int32), (lookup,))


def task(count: int, status: TaskStatus = TaskStatus.SUCCESS, id: str = "t-1") -> BulkTask:  # noqa: A002  as the service names it
    """A bulk task as the service describes it."""
    return BulkTask(id, "carrier_batch", status, "US", count, "2026-01-01", count, 0)


@dataclass
class Shop:
    """One run on one ledger, with a clock that stands still unless it is set."""

    ledger: Ledger
    run_id: int
    now: float = NOW
    budget: Budget = field(default_factory=lambda: Budget("test"))

    def claim(self, numbers: Int64s) -> Int64s:
        account = self.ledger.purchases.account_id
        return self.ledger.knowledge.claim(numbers, self.run_id, account)

    def intend(
        self,
        numbers: Int64s,
        kind: CallKind = CallKind.BULK_TASK,
        cost: int | None = 1_000,
        *,
        budget: Budget | None = None,
        balance: Balance = PLENTY,
        claim: bool = True,
    ) -> Purchase:
        if claim:
            self.claim(numbers)
        bulk = kind is CallKind.BULK_TASK
        call = Call(
            kind,
            numbers,
            Product.CARRIER_BATCH if bulk else None,
            "US" if bulk else None,
            None if cost is None else cost * len(numbers),
        )
        return self.ledger.purchases.intend(
            call,
            "\n".join(f"+{n}" for n in numbers.tolist()).encode(),
            run_id=self.run_id,
            budget=budget or self.budget,
            balance=balance,
            now=self.now,
        )

    def collect(self, purchase: Purchase, given: Answers, charged: int | None = 0) -> Purchase:
        return self.ledger.purchases.collected(purchase, given, charged=charged, now=self.now)

    def know(self, given: Answers) -> Purchase:
        """Buy these answers with a multi check."""
        numbers = np.sort(given.numbers)
        return self.collect(self.intend(numbers, CallKind.MULTI_CHECK), given)

    def recall(self, numbers: Int64s, fresh: Freshness | None = None) -> Answers:
        return self.ledger.knowledge.recall(numbers, fresh or Freshness(0.0, 0.0))

    def end(self) -> None:
        self.ledger.leases.end(self.run_id, self.now)
