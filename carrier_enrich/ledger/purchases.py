"""What was, is being, and may have been bought: one row a purchase, one transaction a move."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.errors import LedgerError
from carrier_enrich.ledger.gate import Gate
from carrier_enrich.ledger.leases import check_alive
from carrier_enrich.ledger.moves import Moves
from carrier_enrich.ledger.purchase import (
    COLUMNS,
    Balance,
    Budget,
    Purchase,
    purchase_of,
    quoted,
)
from carrier_enrich.ledger.states import OPEN, State
from carrier_enrich.model import Answers, BulkTask, Call, CallKind, Lookup, LookupStatus
from carrier_enrich.phones import NUMBERING

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database
    from carrier_enrich.ledger.knowledge import Knowledge


@dataclass(frozen=True, slots=True)
class Purchases:
    """The purchases of one account.

    Attributes:
        service: digest that names the service; with product, country and bytes it makes the
            idempotency key, so that even a lost ledger finds the same task again.
    """

    db: Database
    knowledge: Knowledge
    account_id: int
    service: str
    gate: Gate = field(init=False)
    _moves: Moves = field(init=False)

    def __post_init__(self) -> None:
        moves = Moves(self.db, self.account_id, self.knowledge.service_id)
        object.__setattr__(self, "gate", Gate(self.db, self.account_id))
        object.__setattr__(self, "_moves", moves)

    def intend(
        self, call: Call, body: bytes, *, run_id: int, budget: Budget, balance: Balance, now: float
    ) -> Purchase:
        """Make an intention durable before its request leaves, or refuse it.

        Decided and written in one transaction that no other process can interleave: the highest
        possible cost of this call and of everything that the balance does not show yet must fit
        the balance, and together with what the budget has already spent, the cap.

        Args:
            body: the exact bytes that stand for the call; for a bulk task, the uploaded file.

        Raises:
            OutOfBalance: it would pass the balance. OverBudget: it would pass the cap.
            PriceUnknown: a cap is set and the call's price is not known.
            RunTakenOver: the run has been declared dead.
        """
        digest = hashlib.sha256(
            f"{self.service}\n{call.kind}\n{call.product}\n{call.country}\n".encode() + body
        ).hexdigest()
        with self.db.transaction():
            self._lock()
            check_alive(self.db, run_id, self.account_id)
            self._check_claimed(call, run_id)
            self.gate.check(call, budget, balance)
            generation = 1 + self._count_ended(digest)
            row = self.db.run(
                f"""INSERT INTO purchases (account_id, run_id, budget, kind, product, country,
                        count, digest, generation, idempotency_key, highest_cost, state,
                        created_at, numbering)
                    VALUES (:account, :run, :budget, :kind, :product, :country,
                        :count, :digest, :generation, :key, :highest_cost, :state,
                        :now, :numbering)
                    RETURNING {COLUMNS}""",
                account=self.account_id,
                run=run_id,
                budget=budget.name,
                kind=call.kind,
                product=call.product,
                country=call.country,
                count=len(call.numbers),
                digest=digest,
                generation=generation,
                key=f"carrier-enrich-{digest}-{generation}",
                highest_cost=call.highest_cost,
                state=State.INTENDED,
                now=now,
                numbering=NUMBERING,
            ).one()
            purchase = purchase_of(row)
            self.db.run(
                "INSERT INTO payloads (purchase_id, body) VALUES (:id, :body)",
                id=purchase.id,
                body=zlib.compress(body, 1),
            )
            self.knowledge.holds.add(call.numbers, purchase_id=purchase.id)
        return purchase

    def submitted(self, purchase: Purchase, task: BulkTask, now: float) -> Purchase:
        """The service has taken the bulk task and reserved its cost."""
        # The first poll counts from the submit on.
        return self._moves.to(purchase, State.SUBMITTED, task_id=task.id, polled_at=now)

    def may_poll(self, purchase: Purchase, now: float, interval: float) -> bool:
        """Whether this caller, and nobody else, may poll the task now.

        Atomic over processes: spec, Limits, polling interval.
        """
        stamp = "UPDATE purchases SET polled_at = :now WHERE id = :id AND"
        values = {"id": purchase.id, "now": now}
        with self.db.transaction():
            due = self.db.run(
                f"{stamp} (polled_at IS NULL OR polled_at <= :last)", last=now - interval, **values
            )
            if due.rowcount == 1:
                return True
            # A poll in the future is of a clock that was set back since: it counts from now on.
            self.db.run(f"{stamp} polled_at > :ahead", ahead=now + interval, **values)
            return False

    def finished(self, purchase: Purchase, task: BulkTask) -> Purchase:
        """The task has ended as success; the counts are what it charges by."""
        return self._moves.to(
            purchase,
            State.FINISHED,
            success_count=task.success_cnt,
            excluded_count=task.excluded,
        )

    def failed(self, purchase: Purchase, now: float) -> Purchase:
        """The task has ended as failed and is refunded in full; its numbers are free again."""
        return self._moves.close(purchase, State.FAILED, now, charged=0, note="the task failed")

    def refused(self, purchase: Purchase, note: str, now: float) -> Purchase:
        """The service has refused the call without charge; its numbers are free again."""
        return self._moves.close(purchase, State.REFUSED, now, charged=0, note=note)

    def charge_unknown(
        self, purchase: Purchase, note: str, now: float, *, shows_at: float | None = None
    ) -> Purchase:
        """The answer is lost: the service may have charged. The numbers are free again.

        Args:
            shows_at: until then the service may still be at work on the call, so its highest
                cost stays reserved against any balance that is read; by default `now`.
        """
        return self._moves.close(
            purchase, State.CHARGE_UNKNOWN, now, charged=None, note=note, shows_at=shows_at
        )

    def collected(
        self,
        purchase: Purchase,
        answers: Answers,
        *,
        charged: int | None,
        now: float,
        note: str | None = None,
    ) -> Purchase:
        """Record answers and the end of their purchase in one transaction.

        An answer that comes after its purchase was given up, or was collected by another run,
        is knowledge all the same; the purchase stays as it is.
        """
        with self.db.transaction():
            self._lock()
            current = self.get(purchase.id)
            self.knowledge.write(answers, purchase_id=purchase.id, now=now)
            closed = current.state in (State.CHARGE_UNKNOWN, State.COLLECTED)
            if closed or current.run_id != purchase.run_id:
                return current
            return self._moves.close(purchase, State.COLLECTED, now, charged=charged, note=note)

    def give_up(self, purchase_id: int, now: float) -> Purchase:
        """The user's decision that an open purchase is lost: it is closed, and never asked again.

        A call that may never have arrived ends as charge_unknown, and its numbers are free to
        be bought again. A task that the service has taken is paid for: it is collected at its
        highest cost, with charge_unknown as the answer for each of its numbers.

        Raises:
            LedgerError: the account has no such open purchase, or a run is still at work on it.
        """
        note = "given up by the user"
        with self.db.transaction():
            self._lock()
            purchase = self.get(purchase_id)
            if purchase.state not in OPEN:
                raise LedgerError(f"purchase {purchase_id} is {purchase.state}: nothing to give up")
            ended = self.db.run(
                "SELECT ended_at FROM runs WHERE id = :run", run=purchase.run_id
            ).scalar_one()
            if ended is None:
                raise LedgerError(f"a run is at work on purchase {purchase_id}: stop it first")
            if purchase.state is State.INTENDED:
                return self.charge_unknown(purchase, note, now)
            if purchase.state is State.SUBMITTED:
                purchase = self._moves.to(purchase, State.FINISHED)
            numbers = self.knowledge.holds.of_purchase(purchase_id)
            codes = np.zeros(len(numbers), np.int32)
            answers = Answers(numbers, codes, (Lookup(LookupStatus.CHARGE_UNKNOWN),))
            return self.collected(
                purchase, answers, charged=purchase.highest_cost, now=now, note=note
            )

    def get(self, purchase_id: int) -> Purchase:
        """A purchase of the account as it stands now.

        Raises:
            LedgerError: the account has no such purchase.
        """
        return self._moves.get(purchase_id)

    def body(self, purchase: Purchase) -> bytes:
        """The bytes of an open purchase, exactly as they were intended."""
        with self.db.snapshot():
            row = self.db.run(
                "SELECT body FROM payloads WHERE purchase_id = :id", id=purchase.id
            ).one_or_none()
        if row is None:
            raise LedgerError(f"purchase {purchase.id} is closed: its bytes are gone")
        return zlib.decompress(row[0])

    def open(self) -> list[Purchase]:
        """Every purchase of the account that is not at its end, oldest first."""
        with self.db.snapshot():
            return self._moves.listed(f"state IN ({quoted(OPEN)})")

    def adopt(self, run_id: int, kinds: Sequence[CallKind]) -> list[Purchase]:
        """Take over the open purchases of runs that have ended.

        Raises:
            RunTakenOver: the run itself has been declared dead.
        """
        if not kinds:
            return []
        orphaned = f"""state IN ({quoted(OPEN)}) AND kind IN ({quoted(kinds)})
            AND run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)"""
        with self.db.snapshot():
            # Looked for often, found seldom: only what is found is worth the lock.
            if not self._moves.listed(orphaned):
                return []
        with self.db.transaction():
            self._lock()
            check_alive(self.db, run_id, self.account_id)
            found = self._moves.listed(orphaned)
            for purchase in found:
                self.db.run(
                    "UPDATE purchases SET run_id = :run WHERE id = :id", run=run_id, id=purchase.id
                )
        return [replace(purchase, run_id=run_id) for purchase in found]

    def balance_read(self, balance: Balance, run_id: int) -> None:
        """Keep a balance read."""
        with self.db.transaction():
            self.db.run(
                """INSERT INTO balances (account_id, run_id, read_at, micros)
                   VALUES (:account, :run, :at, :micros)""",
                account=self.account_id,
                run=run_id,
                at=balance.read_at,
                micros=balance.micros,
            )

    def room(self, budget: Budget, balance: Balance) -> int:
        """Micros that may be spent now under both the cap and the balance."""
        return self.gate.room(budget, balance)

    def hidden_until(self, balance: Balance) -> float | None:
        """The moment after which a read shows more than this one did; None where it shows all."""
        return self.gate.hidden_until(balance)

    def spent(self, budget: str) -> int:
        """Micros that purchases under a budget's name have cost or may still cost."""
        return self.gate.spent(budget)

    def experience(self) -> dict[CallKind, float]:
        """Seconds that a call of each kind took on average, of those that were collected."""
        with self.db.snapshot():
            rows = self.db.run(
                """SELECT kind, AVG(closed_at - created_at) FROM purchases
                   WHERE account_id = :account AND state = :collected GROUP BY kind""",
                account=self.account_id,
                collected=State.COLLECTED,
            )
            return {CallKind(row[0]): float(row[1]) for row in rows}

    def _lock(self) -> None:
        self.db.lock(self.knowledge.service_id)

    def _check_claimed(self, call: Call, run_id: int) -> None:
        holds = self.knowledge.holds
        mine = holds.claimed_by(run_id, call.numbers) & ~holds.in_purchases(call.numbers)
        if not len(mine):
            raise LedgerError("a call without numbers")
        if not mine.all():
            raise LedgerError(
                f"{int((~mine).sum())} numbers of a call are not claimed by this run, or are "
                "being bought already"
            )

    def _count_ended(self, digest: str) -> int:
        """How often these very bytes were bought to an end; each needs a key of its own.

        A refused submit made no task, so its key is still unused.
        """
        ended = (State.COLLECTED, State.FAILED, State.CHARGE_UNKNOWN)
        row = self.db.run(
            f"""SELECT COUNT(*) FROM purchases WHERE account_id = :account AND digest = :digest
                AND state IN ({quoted(ended)})""",
            account=self.account_id,
            digest=digest,
        )
        return int(row.scalar_one())
