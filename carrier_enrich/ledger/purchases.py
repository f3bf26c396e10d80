"""What was, is being, and may have been bought: one row a purchase, one transaction a move."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrier_enrich.errors import LedgerError, OutOfBalance, OverBudget, PriceUnknown, RunTakenOver
from carrier_enrich.ledger.states import OPEN, State, origins
from carrier_enrich.model import Answers, BulkTask, Call, CallKind, Product, usd

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database
    from carrier_enrich.ledger.knowledge import Knowledge

_COLUMNS = (
    "id, kind, product, country, count, generation, idempotency_key, highest_cost, charged, "
    "state, task_id, success_count, excluded_count, created_at, polled_at, note"
)


@dataclass(frozen=True, slots=True)
class Purchase:
    """One call that is or was bought.

    Amounts are micros of USD, None where the price was not known; moments are seconds since
    the epoch.
    """

    id: int
    kind: CallKind
    product: Product | None
    country: str | None
    count: int
    generation: int
    idempotency_key: str
    highest_cost: int | None
    charged: int | None
    state: State
    task_id: str | None
    success_count: int | None
    excluded_count: int | None
    created_at: float
    polled_at: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """A balance read: micros, and the moment before its request left."""

    micros: int
    read_at: float


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run, or several that share a name, may spend at most.

    Attributes:
        name: purchases under one name count together.
        cap: micros; None for no cap.
    """

    name: str
    cap: int | None = None


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
            self.db.lock(self.account_id)
            self._check_alive(run_id)
            self._check_room(call, budget, balance)
            generation = 1 + self._count_ended(digest)
            row = self.db.run(
                f"""INSERT INTO purchases (account_id, run_id, budget, kind, product, country,
                        count, digest, generation, idempotency_key, highest_cost, state, created_at)
                    VALUES (:account, :run, :budget, :kind, :product, :country,
                        :count, :digest, :generation, :key, :highest_cost, :state, :now)
                    RETURNING {_COLUMNS}""",
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
            ).one()
            purchase = _purchase(row)
            self.db.run(
                "INSERT INTO payloads (purchase_id, body) VALUES (:id, :body)",
                id=purchase.id,
                body=zlib.compress(body, 1),
            )
            self.db.put_numbers(call.numbers)
            claimed = self.db.run(
                """UPDATE claims SET purchase_id = :id
                   WHERE service_id = :service AND run_id = :run AND purchase_id IS NULL
                     AND number IN (SELECT number FROM asked)""",
                id=purchase.id,
                service=self.knowledge.service_id,
                run=run_id,
            ).rowcount
            if claimed != len(call.numbers):
                raise LedgerError(
                    f"{len(call.numbers) - claimed} numbers of a call are not claimed by this run"
                )
        return purchase

    def submitted(self, purchase: Purchase, task: BulkTask, now: float) -> Purchase:
        """The service has taken the bulk task and reserved its cost."""
        # The first poll counts from the submit on.
        return self._move(
            purchase,
            State.SUBMITTED,
            "task_id = :task, responded_at = :now, polled_at = :now",
            task=task.id,
            now=now,
        )

    def may_poll(self, purchase: Purchase, now: float, interval: float) -> bool:
        """Whether this caller, and nobody else, may poll the task now.

        Atomic over processes: spec, Limits, polling interval.
        """
        with self.db.transaction():
            return (
                self.db.run(
                    """UPDATE purchases SET polled_at = :now
                       WHERE id = :id AND (polled_at IS NULL OR polled_at <= :last)""",
                    id=purchase.id,
                    now=now,
                    last=now - interval,
                ).rowcount
                == 1
            )

    def finished(self, purchase: Purchase, task: BulkTask) -> Purchase:
        """The task has ended as success; the counts are what it charges by."""
        return self._move(
            purchase,
            State.FINISHED,
            "success_count = :success, excluded_count = :excluded",
            success=task.success_cnt,
            excluded=task.excluded,
        )

    def failed(self, purchase: Purchase, now: float) -> Purchase:
        """The task has ended as failed and is refunded in full; its numbers are free again."""
        return self._close(purchase, State.FAILED, now, charged=0, note="the task failed")

    def refused(self, purchase: Purchase, note: str, now: float) -> Purchase:
        """The service has refused the call without charge; its numbers are free again."""
        return self._close(purchase, State.REFUSED, now, charged=0, note=note)

    def charge_unknown(self, purchase: Purchase, note: str, now: float) -> Purchase:
        """The answer is lost: the service may have charged. The numbers are free again."""
        return self._close(purchase, State.CHARGE_UNKNOWN, now, charged=None, note=note)

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
            current = self.get(purchase.id)
            self.knowledge.write(answers, purchase_id=purchase.id, now=now)
            if current.state in (State.CHARGE_UNKNOWN, State.COLLECTED):
                return current
            return self._close(purchase, State.COLLECTED, now, charged=charged, note=note)

    def get(self, purchase_id: int) -> Purchase:
        """A purchase as it stands now."""
        with self.db.transaction():
            return _purchase(
                self.db.run(
                    f"SELECT {_COLUMNS} FROM purchases WHERE id = :id",
                    id=purchase_id,
                ).one()
            )

    def body(self, purchase: Purchase) -> bytes:
        """The bytes of an open purchase, exactly as they were intended."""
        with self.db.transaction():
            row = self.db.run(
                "SELECT body FROM payloads WHERE purchase_id = :id", id=purchase.id
            ).one_or_none()
        if row is None:
            raise LedgerError(f"purchase {purchase.id} is {purchase.state}: its bytes are gone")
        return zlib.decompress(row[0])

    def open(self) -> list[Purchase]:
        """Every purchase of the account that is not at its end, oldest first."""
        return self._listed(f"state IN ({_listing(OPEN)})")

    def adopt(self, run_id: int, kinds: Sequence[CallKind]) -> list[Purchase]:
        """Take over the open purchases of runs that have ended, with their claims."""
        orphaned = f"""account_id = :account AND state IN ({_listing(OPEN)})
            AND kind IN ({_listing(kinds)})
            AND run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)"""
        with self.db.transaction():
            self.db.lock(self.account_id)
            found = self._listed(orphaned)
            for purchase in found:
                values = {"run": run_id, "id": purchase.id}
                self.db.run("UPDATE purchases SET run_id = :run WHERE id = :id", **values)
                self.db.run("UPDATE claims SET run_id = :run WHERE purchase_id = :id", **values)
        return found

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
        with self.db.transaction():
            left = balance.micros - self._exposed(balance)
            if budget.cap is not None:
                left = min(left, budget.cap - self.spent(budget.name))
            return max(0, left)

    def spent(self, budget: str) -> int:
        """Micros that purchases under a budget's name have cost or may still cost."""
        with self.db.transaction():
            row = self.db.run(
                f"""SELECT COALESCE(SUM(CASE
                        WHEN state IN ({_listing((State.REFUSED, State.FAILED))}) THEN 0
                        WHEN state = :collected THEN COALESCE(charged, highest_cost, 0)
                        ELSE COALESCE(highest_cost, 0) END), 0)
                    FROM purchases WHERE budget = :budget""",
                collected=State.COLLECTED,
                budget=budget,
            )
            return int(row.scalar_one())

    def experience(self) -> dict[CallKind, float]:
        """Seconds that a call of each kind took on average, of those that were collected."""
        with self.db.transaction():
            rows = self.db.run(
                """SELECT kind, AVG(closed_at - created_at) FROM purchases
                   WHERE account_id = :account AND state = :collected GROUP BY kind""",
                account=self.account_id,
                collected=State.COLLECTED,
            )
            return {CallKind(row[0]): float(row[1]) for row in rows}

    def _check_alive(self, run_id: int) -> None:
        ended = self.db.run("SELECT ended_at FROM runs WHERE id = :run", run=run_id).scalar_one()
        if ended is not None:
            raise RunTakenOver("this run was taken over by another; nothing is lost: run it again")

    def _check_room(self, call: Call, budget: Budget, balance: Balance) -> None:
        cost = call.highest_cost
        if budget.cap is not None:
            if cost is None:
                raise PriceUnknown(
                    f"the price of a {call.kind} is not known, so the cap can't be kept: set its "
                    "price, or give no cap"
                )
            spent = self.spent(budget.name)
            if spent + cost > budget.cap:
                raise OverBudget(
                    f"{len(call.numbers)} numbers may cost {usd(cost)}; {usd(spent)} of the cap "
                    f"of {usd(budget.cap)} is spent"
                )
        exposed = self._exposed(balance)
        if exposed + (cost or 0) > balance.micros or balance.micros <= 0:
            raise OutOfBalance(
                f"{len(call.numbers)} numbers may cost {usd(cost or 0)}; the balance is "
                f"{usd(balance.micros)}, of which {usd(exposed)} may go to calls under way"
            )

    def _exposed(self, balance: Balance) -> int:
        """Micros that may still go and that the balance, as it was read, does not show."""
        row = self.db.run(
            f"""SELECT COALESCE(SUM(highest_cost), 0) FROM purchases
                WHERE account_id = :account
                  AND state NOT IN ({_listing((State.REFUSED, State.FAILED))})
                  AND (responded_at IS NULL OR responded_at >= :read_at)""",
            account=self.account_id,
            read_at=balance.read_at,
        )
        return int(row.scalar_one())

    def _count_ended(self, digest: str) -> int:
        """How often these very bytes were bought to an end; each needs a key of its own.

        A refused submit made no task, so its key is still unused.
        """
        ended = (State.COLLECTED, State.FAILED, State.CHARGE_UNKNOWN)
        row = self.db.run(
            f"""SELECT COUNT(*) FROM purchases WHERE account_id = :account AND digest = :digest
                AND state IN ({_listing(ended)})""",
            account=self.account_id,
            digest=digest,
        )
        return int(row.scalar_one())

    def _close(
        self, purchase: Purchase, state: State, now: float, *, charged: int | None, note: str | None
    ) -> Purchase:
        with self.db.transaction():
            moved = self._move(
                purchase,
                state,
                """charged = :charged, note = :note, closed_at = :now,
                   responded_at = COALESCE(responded_at, :now)""",
                charged=charged,
                note=note,
                now=now,
            )
            self.db.run("DELETE FROM payloads WHERE purchase_id = :id", id=purchase.id)
            if state is State.COLLECTED:
                self.db.run("DELETE FROM claims WHERE purchase_id = :id", id=purchase.id)
            else:
                self.db.run(
                    "UPDATE claims SET purchase_id = NULL WHERE purchase_id = :id", id=purchase.id
                )
            return moved

    def _move(self, purchase: Purchase, state: State, changes: str, **values: object) -> Purchase:
        with self.db.transaction():
            row = self.db.run(
                f"""UPDATE purchases SET state = :state, {changes}
                    WHERE id = :id AND state IN ({_listing(origins(state))})
                    RETURNING {_COLUMNS}""",
                id=purchase.id,
                state=state,
                **values,
            ).one_or_none()
            if row is None:
                raise LedgerError(
                    f"purchase {purchase.id} can't go from {self.get(purchase.id).state} to {state}"
                )
            return _purchase(row)

    def _listed(self, condition: str) -> list[Purchase]:
        with self.db.transaction():
            rows = self.db.run(
                f"SELECT {_COLUMNS} FROM purchases WHERE {condition} "
                + ("" if ":account" in condition else "AND account_id = :account ")
                + "ORDER BY id",
                account=self.account_id,
            )
            return [_purchase(row) for row in rows]


def _listing(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _purchase(row: Sequence[object]) -> Purchase:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["kind"] = CallKind(str(values["kind"]))
    values["state"] = State(str(values["state"]))
    values["product"] = Product(str(values["product"])) if values["product"] else None
    return Purchase(**values)  # type: ignore[arg-type]  # the columns are the fields, by name
