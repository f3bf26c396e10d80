"""The ledger as files of one's own: what was paid for, in a table that anything can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from carrier_enrich import files
from carrier_enrich.ledger import listing
from carrier_enrich.model import FIELDS, e164

if TYPE_CHECKING:
    from carrier_enrich.ledger import Ledger

_TIME = pa.timestamp("us", "UTC")
_PURCHASE_TYPES = {
    "count": pa.int64(),
    "generation": pa.int64(),
    "id": pa.int64(),
    "highest_cost": pa.int64(),
    "charged": pa.int64(),
}
_MOMENTS = frozenset({"created_at", "closed_at"})


def export_answers(ledger: Ledger, target: Path) -> int:
    """Write every known answer of the ledger's service; the rows written.

    Columns: number (E.164), status, the lookup's fields, answered_at, purchase_id, and numbering,
    the version of the numbering plans by which the number was read.

    Raises:
        BadInput: the target can't be written.
    """
    files.check_target(target)
    pages = [_answers(page) for page in listing.answers(ledger)]
    table = pa.concat_tables(pages) if pages else _answers_schema().empty_table()
    files.write_table(table, target)
    return int(table.num_rows)


def export_purchases(ledger: Ledger, target: Path) -> int:
    """Write every purchase of the ledger's account; the rows written. Amounts are micros of USD.

    Raises:
        BadInput: the target can't be written.
    """
    files.check_target(target)
    rows = listing.purchases(ledger)
    columns = dict(zip(listing.PURCHASE_FIELDS, map(list, zip(*rows, strict=True)), strict=True))
    arrays = {}
    for name in listing.PURCHASE_FIELDS:
        values = columns.get(name, [])
        if name in _MOMENTS:
            arrays[name] = _moments(values)
        else:
            arrays[name] = pa.array(values, _PURCHASE_TYPES.get(name, pa.string()))
    named = {"highest_cost": "highest_cost_micros", "charged": "charged_micros", "count": "numbers"}
    table = pa.table({named.get(name, name): array for name, array in arrays.items()})
    files.write_table(table, target)
    return int(table.num_rows)


def _answers(page: listing.Page) -> Any:
    numbers = pa.array([e164(number) for number in page.numbers.tolist()], pa.string())
    codes = pa.array(page.codes, pa.int64())
    texts = {
        name: pa.array([getattr(lookup, name) for lookup in page.lookups], pa.string())
        for name in ("status", *FIELDS)
    }
    return pa.table(
        {
            "number": numbers,
            **{name: values.take(codes).dictionary_encode() for name, values in texts.items()},
            "answered_at": _moments(page.answered_at),
            "purchase_id": pa.array(page.purchases),
            "numbering": pa.array(page.numbering, pa.string()).dictionary_encode(),
        },
        schema=_answers_schema(),
    )


def _answers_schema() -> Any:
    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("number", pa.string()),
            *((name, text) for name in ("status", *FIELDS)),
            ("answered_at", _TIME),
            ("purchase_id", pa.int64()),
            ("numbering", text),
        ]
    )


def _moments(seconds: Any) -> Any:
    """Times from seconds since the epoch; whole microseconds, as far as a float holds them."""
    micros = pc.round(pc.multiply(pa.array(seconds, pa.float64()), 1e6))
    return micros.cast(pa.int64()).cast(_TIME)
