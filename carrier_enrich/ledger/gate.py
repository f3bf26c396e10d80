"""The gate: no call whose highest possible cost passes the cap or the balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrier_enrich.errors import OutOfBalance, OverBudget, PriceUnknown
from carrier_enrich.ledger.purchase import Balance, Budget, quoted
from carrier_enrich.ledger.states import State
from carrier_enrich.model import Call, usd

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database

_FREE = quoted((State.REFUSED, State.FAILED))


@dataclass(frozen=True, slots=True)
class Gate:
    """The money of one account; amounts are micros of USD."""

    db: Database
    account_id: int

    def check(self, call: Call, budget: Budget, balance: Balance) -> None:
        """Inside the transaction that makes the intention: is there room for this call?

        Raises:
            OutOfBalance: it would pass the balance. OverBudget: it would pass the cap.
            PriceUnknown: a cap is set, and the price of the call, or of one that was bought
                under the same budget, is not known.
        """
        cost = call.highest_cost
        if budget.cap is not None:
            # Budgets go by name alone, and may span services.
            self.db.lock_name(budget.name)
            if cost is None:
                raise PriceUnknown(
                    f"the price of a {call.kind} is not known, so the cap can't be kept: set its "
                    "price, or give no cap"
                )
            if self._has_unpriced(budget.name):
                raise PriceUnknown(
                    "calls of unknown price were bought under this budget, so its cap can't be "
                    "kept: use another budget, or give no cap"
                )
            spent = self.spent(budget.name)
            if spent + cost > budget.cap:
                raise OverBudget(
                    f"{len(call.numbers)} numbers may cost {usd(cost)}; {usd(spent)} of the cap "
                    f"of {usd(budget.cap)} is spent"
                )
        exposed = self.exposed(balance)
        if exposed + (cost or 0) > balance.micros or balance.micros <= 0:
            raise OutOfBalance(
                f"{len(call.numbers)} numbers may cost {usd(cost or 0)}; the balance is "
                f"{usd(balance.micros)}, of which {usd(exposed)} may go to calls under way"
            )

    def room(self, budget: Budget, balance: Balance) -> int:
        """What may be spent now under both the cap and the balance."""
        with self.db.snapshot():
            left = balance.micros - self.exposed(balance)
            if budget.cap is not None:
                left = min(left, budget.cap - self.spent(budget.name))
            return max(0, left)

    def spent(self, budget: str) -> int:
        """What purchases under a budget's name have cost or may still cost."""
        with self.db.snapshot():
            row = self.db.run(
                f"""SELECT COALESCE(SUM(CASE
                        WHEN state IN ({_FREE}) THEN 0
                        WHEN state = :collected THEN COALESCE(charged, highest_cost, 0)
                        ELSE COALESCE(highest_cost, 0) END), 0)
                    FROM purchases WHERE budget = :budget""",
                collected=State.COLLECTED.value,
                budget=budget,
            )
            return int(row.scalar_one())

    def exposed(self, balance: Balance) -> int:
        """What may still go, and the balance, as it was read, does not show."""
        with self.db.snapshot():
            row = self.db.run(
                f"""SELECT COALESCE(SUM(highest_cost), 0) FROM purchases
                    WHERE account_id = :account AND state NOT IN ({_FREE})
                      AND (responded_at IS NULL OR responded_at >= :read_at)""",
                account=self.account_id,
                read_at=balance.read_at,
            )
            return int(row.scalar_one())

    def hidden_until(self, balance: Balance) -> float | None:
        """The moment after which a read shows more than this one did; None where it shows all.

        Until then a call that has ended counts twice: its charge may be in the balance already.
        """
        with self.db.snapshot():
            found = self.db.run(
                f"""SELECT MIN(responded_at) FROM purchases
                    WHERE account_id = :account AND state NOT IN ({_FREE})
                      AND responded_at >= :read_at""",
                account=self.account_id,
                read_at=balance.read_at,
            ).scalar_one()
            return None if found is None else float(found)

    def _has_unpriced(self, budget: str) -> bool:
        row = self.db.run(
            f"""SELECT 1 FROM purchases WHERE budget = :budget AND state NOT IN ({_FREE})
                AND highest_cost IS NULL AND charged IS NULL LIMIT 1""",
            budget=budget,
        )
        return row.scalar() is not None
