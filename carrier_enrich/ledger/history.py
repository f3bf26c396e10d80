"""What was bought in whose name, after the fact: reads only.

Several steps, processes and attempts that share a budget's name are one undertaking. Its receipt
comes from here, because no single one of them has seen all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrier_enrich.ledger.states import OPEN, State
from carrier_enrich.model import CallKind, Int64s

if TYPE_CHECKING:
    from carrier_enrich.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Bought:
    """One purchase as its budget sees it. Amounts are micros of USD, None where not known."""

    id: int
    budget: str
    kind: CallKind
    country: str | None
    count: int
    highest_cost: int | None
    charged: int | None
    state: State
    task_id: str | None
    created_at: float
    polled_at: float | None

    @property
    def is_open(self) -> bool:
        """Whether it is not at its end."""
        return self.state in OPEN


@dataclass(frozen=True, slots=True)
class Origins:
    """Where the answers to a set of numbers come from: counts of distinct numbers.

    Attributes:
        bought: by the budget's own purchases.
        known: by purchases that were at their end before the budget's first moment.
        collected: by purchases that were open at that moment.
        shared: by purchases that others have begun since.
    """

    bought: int
    known: int
    collected: int
    shared: int


_COLUMNS = (
    "p.id, p.budget, p.kind, p.country, p.count, p.highest_cost, p.charged, p.state, p.task_id, "
    "p.created_at, p.polled_at"
)


@dataclass(frozen=True, slots=True)
class History:
    """The purchases of a ledger's account, and the answers that they gave."""

    ledger: Ledger

    def of_budget(self, budget: str) -> list[Bought]:
        """All purchases under a budget's name, oldest first."""
        return self._listed("p.budget = :budget", budget=budget)

    def orphans(self) -> list[Bought]:
        """Open purchases that no living run takes care of, oldest first."""
        states = ", ".join(f"'{state}'" for state in OPEN)
        return self._listed(
            f"""p.state IN ({states})
                AND p.run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)"""
        )

    def origins(self, numbers: Int64s, budget: str, since: float) -> Origins:
        """Where the ledger's answers to these numbers (ascending) come from.

        Args:
            since: seconds since the epoch at which the budget's undertaking began.
        """
        db = self.ledger.db
        with db.snapshot():
            places, counts = db.select(
                (
                    """CASE WHEN p.budget = :budget THEN 0 WHEN p.closed_at <= :since THEN 1
                            WHEN p.created_at <= :since THEN 2 ELSE 3 END""",
                    "COUNT(*)",
                ),
                """CROSS JOIN {lookups_of_asked} CROSS JOIN purchases p
                   WHERE lookups.service_id = :service AND lookups.number = asked.number
                     AND p.id = lookups.purchase_id GROUP BY 1""",
                numbers,
                budget=budget,
                since=since,
                service=self.ledger.knowledge.service_id,
            )
        bought, known, collected, shared = (int(counts[places == i].sum()) for i in range(4))
        return Origins(bought=bought, known=known, collected=collected, shared=shared)

    def _listed(self, condition: str, **values: object) -> list[Bought]:
        db = self.ledger.db
        with db.transaction():
            rows = db.run(
                f"""SELECT {_COLUMNS} FROM purchases p
                    WHERE p.account_id = :account AND {condition} ORDER BY p.id""",
                account=self.ledger.purchases.account_id,
                **values,
            ).all()
        return [_bought(row) for row in rows]


def _bought(row: Sequence[object]) -> Bought:
    values = dict(zip(Bought.__slots__, row, strict=True))
    values["kind"] = CallKind(str(values["kind"]))
    values["state"] = State(str(values["state"]))
    return Bought(**values)  # type: ignore[arg-type]  # the columns are the fields, in order
