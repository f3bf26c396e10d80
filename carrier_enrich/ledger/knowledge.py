"""What is known of numbers, and who is about to find out more: lookups and claims."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.ledger.states import OPEN
from carrier_enrich.model import Answers, Int64s, Lookup, LookupStatus

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database

_COLUMNS = "status, carrier, underlying_carrier, number_type, country_code, region, city"


@dataclass(frozen=True, slots=True)
class Freshness:
    """From which moment (seconds since the epoch) on knowledge counts.

    "Undetermined" is hardly knowledge: it stops a second question only for a short while.
    """

    answers: float
    undetermined: float


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Lookups and claims of one service, shared by all accounts of that service."""

    db: Database
    service_id: int

    def recall(self, numbers: Int64s, fresh: Freshness) -> Answers:
        """What is known and fresh of these numbers (ascending), ascending."""
        with self.db.transaction():
            self.db.put_numbers(numbers)
            rows = self.db.run(
                """SELECT l.number, l.outcome_id
                   FROM asked a JOIN lookups l ON l.service_id = :service AND l.number = a.number
                   JOIN outcomes o ON o.id = l.outcome_id
                   WHERE l.answered_at >=
                       CASE o.status WHEN :undetermined THEN :short ELSE :long END
                   ORDER BY l.number""",
                service=self.service_id,
                undetermined=LookupStatus.UNDETERMINED,
                short=fresh.undetermined,
                long=fresh.answers,
            ).all()
            outcomes = self._outcomes({row[1] for row in rows})
        found = np.array([row[0] for row in rows], np.int64)
        ids = np.array([row[1] for row in rows], np.int64)
        distinct, codes = np.unique(ids, return_inverse=True)
        lookups = tuple(outcomes[i] for i in distinct.tolist())
        return Answers(found, codes.astype(np.int32), lookups)

    def write(self, answers: Answers, *, purchase_id: int, now: float) -> None:
        """Record answers; inside a transaction of the caller's."""
        ids = np.array([self._outcome_id(lookup) for lookup in answers.lookups], np.int64)
        order = np.argsort(answers.numbers, kind="stable")
        numbers = answers.numbers[order].tolist()
        outcomes = ids[answers.codes[order]].tolist() if len(ids) else []
        self.db.run(
            "CREATE TEMPORARY TABLE IF NOT EXISTS answered (number BIGINT, outcome_id BIGINT)"
        )
        self.db.run("DELETE FROM answered")
        self.db.insert("answered", ("number", "outcome_id"), zip(numbers, outcomes, strict=True))
        self.db.run(
            """INSERT INTO lookups (service_id, number, outcome_id, purchase_id, answered_at)
               SELECT :service, number, outcome_id, :purchase, :now FROM answered WHERE true
               ON CONFLICT (service_id, number) DO UPDATE SET
                   outcome_id = excluded.outcome_id, purchase_id = excluded.purchase_id,
                   answered_at = excluded.answered_at""",
            service=self.service_id,
            purchase=purchase_id,
            now=now,
        )

    def claim(self, numbers: Int64s, run_id: int, account_id: int) -> Int64s:
        """Claim these numbers for a run; those that are now its own, ascending.

        What a living run or an open purchase holds stays with it. A number is claimed for a
        service, not for an account: another key would pay for it just the same.
        """
        with self.db.transaction():
            self.db.lock(account_id)
            self.db.put_numbers(numbers)
            self.db.run(
                """INSERT INTO claims (service_id, number, run_id)
                   SELECT :service, number, :run FROM asked WHERE true ORDER BY number
                   ON CONFLICT (service_id, number) DO UPDATE SET run_id = excluded.run_id
                   WHERE claims.purchase_id IS NULL
                     AND claims.run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)""",
                service=self.service_id,
                run=run_id,
            )
            rows = self.db.run(
                """SELECT c.number FROM asked a
                   JOIN claims c ON c.service_id = :service AND c.number = a.number
                   WHERE c.run_id = :run AND c.purchase_id IS NULL ORDER BY c.number""",
                service=self.service_id,
                run=run_id,
            ).scalars()
            return np.fromiter(rows, np.int64)

    def in_open_purchases(self, numbers: Int64s) -> Int64s:
        """Those of these numbers that an open purchase is already buying, ascending."""
        with self.db.transaction():
            self.db.put_numbers(numbers)
            states = ", ".join(f"'{state}'" for state in OPEN)
            rows = self.db.run(
                f"""SELECT c.number FROM asked a
                    JOIN claims c ON c.service_id = :service AND c.number = a.number
                    JOIN purchases p ON p.id = c.purchase_id
                    WHERE p.state IN ({states}) ORDER BY c.number""",
                service=self.service_id,
            ).scalars()
            return np.fromiter(rows, np.int64)

    def release(self, run_id: int) -> None:
        """Give up a run's claims that no purchase stands behind."""
        with self.db.transaction():
            self.db.run(
                "DELETE FROM claims WHERE run_id = :run AND purchase_id IS NULL", run=run_id
            )

    def _outcomes(self, ids: set[int]) -> dict[int, Lookup]:
        if not ids:
            return {}
        rows = self.db.run(f"SELECT id, {_COLUMNS} FROM outcomes")
        return {
            row[0]: Lookup(LookupStatus(row[1]), *(value or None for value in row[2:]))
            for row in rows
            if row[0] in ids
        }

    def _outcome_id(self, lookup: Lookup) -> int:
        values = dict(zip(_COLUMNS.split(", "), astuple(lookup), strict=True))
        values = {name: value or "" for name, value in values.items()}
        # The update changes nothing; it makes RETURNING answer for a row that was there.
        row = self.db.run(
            f"""INSERT INTO outcomes ({_COLUMNS}) VALUES (:status, :carrier, :underlying_carrier,
                    :number_type, :country_code, :region, :city)
                ON CONFLICT ({_COLUMNS}) DO UPDATE SET status = excluded.status
                RETURNING id""",
            **values,
        )
        return int(row.scalar_one())
