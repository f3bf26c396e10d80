"""The ledger: what is known, what is bought, who is buying. The only user of SQL.

One thread owns it. SQLite for one machine, PostgreSQL where several share; the same statements
on both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from carrier_enrich.ledger.clock import SharedClock
from carrier_enrich.ledger.database import Database
from carrier_enrich.ledger.knowledge import Freshness, Knowledge
from carrier_enrich.ledger.leases import Leases
from carrier_enrich.ledger.purchase import Balance, Budget, Purchase
from carrier_enrich.ledger.purchases import Purchases
from carrier_enrich.ledger.states import State

__all__ = ["Balance", "Budget", "Freshness", "Ledger", "Purchase", "SharedClock", "State"]


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
        try:
            with db.transaction():
                service_id = _entered(db, "services", service)
                account_id = _entered(db, "accounts", account, service_id=service_id)
        except BaseException:
            db.close()
            raise
        knowledge = Knowledge(db, service_id)
        return cls(
            db,
            knowledge,
            Purchases(db, knowledge, account_id, service),
            Leases(db, service_id, account_id),
        )

    def clock(self, local: Callable[[], float]) -> SharedClock:
        """A machine's clock, in the time of this ledger: what all `now` and moments are given in.

        Raises:
            LedgerError: the database can't be asked.
        """
        clock = SharedClock(self.db, local)
        clock.agree()
        return clock

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


def _entered(db: Database, table: str, digest: str, **values: int) -> int:
    """The id of a service or account, entered where it is new."""
    query = f"SELECT id FROM {table} WHERE digest = :digest"
    found = db.run(query, digest=digest).scalar()
    if found is None:
        names = ("digest", *values)
        db.run(
            f"""INSERT INTO {table} ({", ".join(names)}) VALUES (:{", :".join(names)})
                ON CONFLICT (digest) DO NOTHING""",
            digest=digest,
            **values,
        )
        found = db.run(query, digest=digest).scalar_one()
    return int(found)
