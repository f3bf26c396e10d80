"""Everything that a ledger holds for a service or an account, page by page: reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.model import Int64s, Lookup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.ledger import Ledger

#: Numbers per page: a page is one short transaction, so that nobody waits long for it.
PAGE = 200_000

PURCHASE_FIELDS = (
    "id",
    "kind",
    "product",
    "country",
    "count",
    "generation",
    "highest_cost",
    "charged",
    "state",
    "task_id",
    "budget",
    "created_at",
    "closed_at",
    "note",
    "numbering",
)


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Some of the known numbers, ascending: ``lookups[codes[i]]`` belongs to ``numbers[i]``.

    `answered_at` is seconds since the epoch, `purchases` the purchase that brought the answer,
    `numbering` the plans by which its numbers were read, None where nobody wrote that down yet.
    """

    numbers: Int64s
    codes: Int64s
    lookups: tuple[Lookup, ...]
    purchases: Int64s
    answered_at: NDArray[np.float64]
    numbering: tuple[str | None, ...]


def answers(ledger: Ledger, *, size: int = PAGE) -> Iterator[Page]:
    """All answers of the ledger's service, by number."""
    last = 0
    while (page := _page(ledger, last, size)) is not None:
        yield page
        last = int(page.numbers[-1])


def purchases(ledger: Ledger) -> list[Sequence[object]]:
    """All purchases of the ledger's account, oldest first, as `PURCHASE_FIELDS`."""
    with ledger.db.snapshot():
        rows = ledger.db.run(
            f"""SELECT {", ".join(PURCHASE_FIELDS)} FROM purchases
                WHERE account_id = :account ORDER BY id""",
            account=ledger.purchases.account_id,
        )
        return [tuple(row) for row in rows]


def _page(ledger: Ledger, after: int, size: int) -> Page | None:
    with ledger.db.snapshot():
        rows = ledger.db.run(
            """SELECT number, outcome_id, purchase_id, answered_at, numbering FROM lookups
               LEFT JOIN purchases ON purchases.id = lookups.purchase_id
               WHERE service_id = :service AND number > :after ORDER BY number LIMIT :size""",
            service=ledger.knowledge.service_id,
            after=after,
            size=size,
        ).all()
        if not rows:
            return None
        numbers, ids, bought_by, answered_at, numbering = zip(*rows, strict=True)
        distinct, codes = np.unique(np.array(ids, np.int64), return_inverse=True)
        lookups = ledger.knowledge.lookups(distinct.tolist())
    return Page(
        np.array(numbers, np.int64),
        codes.astype(np.int64),
        lookups,
        np.array(bought_by, np.int64),
        np.array(answered_at, np.float64),
        numbering,
    )
