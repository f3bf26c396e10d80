"""A purchase's moves from state to state, each in one transaction with all that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrier_enrich.errors import LedgerError, RunTakenOver
from carrier_enrich.ledger.knowledge import storable
from carrier_enrich.ledger.leases import TAKEN_OVER
from carrier_enrich.ledger.purchase import COLUMNS, Purchase, purchase_of, quoted
from carrier_enrich.ledger.states import State, origins

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database


@dataclass(frozen=True, slots=True)
class Moves:
    """The rows of one account's purchases."""

    db: Database
    account_id: int
    service_id: int

    def to(
        self, purchase: Purchase, state: State, *, shows_at: float | None = None, **changes: object
    ) -> Purchase:
        """Move a purchase on, with changes of its columns.

        Args:
            shows_at: the moment from which on a balance read shows what it cost. By default a
                check's end, and a task's submit.

        Raises:
            LedgerError: the move is not legal.
            RunTakenOver: the purchase belongs to another run by now.
        """
        with self.db.transaction():
            response = shows_at or changes.get("closed_at", changes.get("polled_at"))
            names = ", ".join(f"{name} = :{name}" for name in ("state", *changes))
            row = self.db.run(
                f"""UPDATE purchases SET {names}, responded_at = COALESCE(responded_at, :response)
                    WHERE id = :id AND account_id = :account AND run_id = :run
                      AND state IN ({quoted(origins(state))})
                    RETURNING {COLUMNS}""",
                id=purchase.id,
                account=self.account_id,
                run=purchase.run_id,
                state=state,
                response=response,
                **changes,
            ).one_or_none()
            if row is not None:
                return purchase_of(row)
            current = self.get(purchase.id)
            if current.run_id != purchase.run_id:
                raise RunTakenOver(TAKEN_OVER)
            raise LedgerError(f"purchase {purchase.id} can't go from {current.state} to {state}")

    def close(
        self,
        purchase: Purchase,
        state: State,
        now: float,
        *,
        charged: int | None,
        note: str | None,
        shows_at: float | None = None,
    ) -> Purchase:
        """Move a purchase to its end: its bytes are forgotten, its numbers no longer held."""
        with self.db.transaction():
            self.db.lock(self.service_id)
            moved = self.to(
                purchase,
                state,
                shows_at=shows_at,
                charged=charged,
                note=None if note is None else storable(note),
                closed_at=now,
            )
            self.db.run("DELETE FROM payloads WHERE purchase_id = :id", id=purchase.id)
            self.db.run("DELETE FROM holds WHERE purchase_id = :id", id=purchase.id)
            return moved

    def get(self, purchase_id: int) -> Purchase:
        """A purchase of the account as it stands now.

        Raises:
            LedgerError: the account has no such purchase.
        """
        with self.db.snapshot():
            found = self.listed("id = :id", id=purchase_id)
        if not found:
            raise LedgerError(f"this account has no purchase {purchase_id}")
        return found[0]

    def listed(self, condition: str, **values: object) -> list[Purchase]:
        """The account's purchases of which the condition is true, oldest first."""
        rows: Sequence[Sequence[object]] = self.db.run(
            f"SELECT {COLUMNS} FROM purchases WHERE account_id = :account AND {condition} "
            "ORDER BY id",
            account=self.account_id,
            **values,
        ).all()
        return [purchase_of(row) for row in rows]
