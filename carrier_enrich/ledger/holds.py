"""Which numbers are taken: claimed by a run, or being bought by an open purchase.

They are kept in packed blocks of ascending integers, a few rows where there are many numbers.
Every method runs inside a transaction that has called ``Database.lock``, or only reads.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.model import Int64s

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.ledger.database import Database

#: Numbers per block: a check of a hundred reads one or two, a bulk task writes a few dozen.
BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Holds:
    """The numbers of one service that somebody holds."""

    db: Database
    service_id: int

    def add(
        self, numbers: Int64s, *, run_id: int | None = None, purchase_id: int | None = None
    ) -> None:
        """Hold these numbers (ascending) for a run or for a purchase."""
        for start in range(0, len(numbers), BLOCK):
            block = numbers[start : start + BLOCK]
            self.db.run(
                """INSERT INTO holds
                       (service_id, run_id, purchase_id, first_number, last_number, numbers)
                   VALUES (:service, :run, :purchase, :first, :last, :numbers)""",
                service=self.service_id,
                run=run_id,
                purchase=purchase_id,
                first=int(block[0]),
                last=int(block[-1]),
                numbers=_packed(block),
            )

    def claimed_by(self, run_id: int, numbers: Int64s) -> NDArray[np.bool_]:
        """Which of these numbers (ascending) the run has claimed; it may be buying some."""
        return self._among(numbers, "run_id = :run", run=run_id)

    def claimed_by_others(self, run_id: int, numbers: Int64s) -> NDArray[np.bool_]:
        """Which of these numbers (ascending) another run has claimed."""
        return self._among(numbers, "run_id <> :run", run=run_id)

    def in_purchases(self, numbers: Int64s) -> NDArray[np.bool_]:
        """Which of these numbers (ascending) an open purchase is buying."""
        return self._among(numbers, "purchase_id IS NOT NULL")

    def of_purchase(self, purchase_id: int) -> Int64s:
        """The numbers of an open purchase, ascending."""
        rows = self.db.run(
            "SELECT numbers FROM holds WHERE purchase_id = :purchase ORDER BY first_number",
            purchase=purchase_id,
        ).scalars()
        blocks = [_numbers(row) for row in rows]
        return np.concatenate(blocks) if blocks else np.empty(0, np.int64)

    def _among(self, numbers: Int64s, condition: str, **values: object) -> NDArray[np.bool_]:
        held = np.zeros(len(numbers), np.bool_)
        if not len(numbers):
            return held
        rows = self.db.run(
            f"""SELECT numbers FROM holds WHERE service_id = :service AND {condition}
                AND first_number <= :last AND last_number >= :first""",
            service=self.service_id,
            first=int(numbers[0]),
            last=int(numbers[-1]),
            **values,
        ).scalars()
        for row in rows:
            block = _numbers(row)
            start = np.searchsorted(numbers, block[0])
            end = np.searchsorted(numbers, block[-1], side="right")
            asked = numbers[start:end]
            places = np.searchsorted(block, asked)
            held[start:end] |= block[places] == asked
        return held


def _packed(block: Int64s) -> bytes:
    # Neighbours differ by little, which packs well.
    return zlib.compress(np.diff(block, prepend=0).astype("<i8").tobytes(), 1)


def _numbers(packed: bytes | memoryview) -> Int64s:
    return np.frombuffer(zlib.decompress(packed), "<i8").cumsum(dtype=np.int64)
