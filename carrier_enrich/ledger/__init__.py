"""The ledger: what is known, what is bought, who is buying. The only user of SQL.

One thread owns it. SQLite for one machine, PostgreSQL where several share; the same statements
on both.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from carrier_enrich.ledger.database import Database
from carrier_enrich.ledger.knowledge import Freshness, Knowledge
from carrier_enrich.ledger.leases import Leases
from carrier_enrich.ledger.purchases import Balance, Budget, Purchase, Purchases
from carrier_enrich.ledger.states import State

__all__ = ["Balance", "Budget", "Freshness", "Ledger", "Purchase", "State"]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Knowledge of a service, and the purchases and leases of one of its accounts."""

    db: Database
    knowledge: Knowledge
    purchases: Purchases
    leases: Leases

    @classmethod
    def open(cls, url: str, *, service: str, account: str) -> Ledger:
        """Open, and create or migrate where needed.

        Args:
            url: a database URL: ``sqlite:///path`` or ``postgresql://...``.
            service: digest that names the service; answers are shared under it.
            account: digest that names the account; limits and money are kept under it.

        Raises:
            LedgerError: it can't be opened.
        """
        db = Database(url)
        with db.transaction():
            service_id = db.run(
                """INSERT INTO services (digest) VALUES (:digest)
                   ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING id""",
                digest=service,
            ).scalar_one()
            account_id = db.run(
                """INSERT INTO accounts (digest, service_id) VALUES (:digest, :service)
                   ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING id""",
                digest=account,
                service=service_id,
            ).scalar_one()
        knowledge = Knowledge(db, service_id)
        return cls(
            db,
            knowledge,
            Purchases(db, knowledge, account_id, service),
            Leases(db, account_id),
        )

    def close(self) -> None:
        """Close the database; closing twice is harmless."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
