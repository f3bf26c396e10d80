"""What runs in Spark's executors: cells to keys, keys counted, numbers and answers packed.

A key is a cell's number, or stands for a cell without one. Executors never talk to the service
or the ledger. The functions travel to them by name, so this package has to be installed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from carrier_enrich.frames import crosswalk

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

Batches: TypeAlias = Iterable[Any]

#: Keys of cells without a number; every number is above them.
MISSING_KEY, INVALID_KEY = 0, -1

#: Rows that are read together: more keep more distinct values apart at once.
_ROWS_AT_ONCE = 1 << 16

#: Numbers in one packed row, about: 2 MB, a size that every channel of Spark takes.
PACKED_NUMBERS = 1 << 18

KEYS = "number long, cells long"
PACKED_KEYS = "numbers binary, cells binary"
ANSWERS = "number long, code int"


def keys_of(cells: Any, homes: Any | None, country: str | None) -> Int64s:
    """The key of each cell of an Arrow array, beside the country of each or None."""
    columns = {"phone": cells} if homes is None else {"phone": cells, "country": homes}
    by_row = None if homes is None else "country"
    walk = crosswalk(pa.table(columns), "phone", country=country, country_column=by_row)
    # The crosswalk's INVALID and MISSING, -2 and -1, find theirs from the end.
    return np.append(walk.numbers, [INVALID_KEY, MISSING_KEY])[walk.columns[0].index]


def keyed(country: str | None, phones: int) -> Callable[..., Any]:
    """A function of structs (phone cells, perhaps the country) to structs of keys."""

    def keys(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for some in _together(structs, _ROWS_AT_ONCE):
            columns = pa.concat_arrays(some).flatten()
            found = _keys_of_all(columns, phones, country)
            yield pa.StructArray.from_arrays(found, [key_name(at) for at in range(phones)])

    return keys


def counted(country: str | None, phones: int) -> Callable[[Batches], Iterator[Any]]:
    """A function of batches: phone columns, perhaps the countries', to distinct keys and cells."""

    def count(batches: Batches) -> Iterator[Any]:
        for some in _together(batches, _ROWS_AT_ONCE):
            columns = pa.Table.from_batches(some).columns
            keys = _keys_of_all(columns, phones, country)
            numbers, counts = np.unique(np.concatenate(keys), return_counts=True)
            yield pa.record_batch({"number": numbers, "cells": counts.astype(np.int64)})

    return count


def pack_keys(batches: Batches) -> Iterator[Any]:
    """Distinct keys and their cells, in any order, as rows of packed ones, ascending in each."""
    for some in _together(batches, PACKED_NUMBERS):
        numbers, cells = (column.to_numpy() for column in pa.Table.from_batches(some).columns)
        order = np.argsort(numbers)
        yield packed(numbers=numbers[order], cells=cells[order])


def unpack_answers(batches: Batches) -> Iterator[Any]:
    """Rows of packed numbers and codes as one row for each number."""
    for batch in batches:
        for row in batch.to_pylist():
            numbers = np.frombuffer(row["numbers"], "<i8")
            codes = np.frombuffer(row["codes"], "<i4")
            yield pa.record_batch({"number": numbers, "code": codes})


def packed(**columns: Any) -> Any:
    """A batch of one row that holds each of these integer arrays as bytes."""
    little = {
        name: values.astype(values.dtype.newbyteorder("<")) for name, values in columns.items()
    }
    return pa.record_batch({name: pa.array([values.tobytes()]) for name, values in little.items()})


def key_name(at: int) -> str:
    """The field of the struct of keys that belongs to a phone column."""
    return f"key_{at}"


def _keys_of_all(columns: Sequence[Any], phones: int, country: str | None) -> list[Int64s]:
    home = columns[phones] if len(columns) > phones else None
    return [keys_of(cells, home, country) for cells in columns[:phones]]


def _together(parts: Iterable[Any], rows: int) -> Iterator[list[Any]]:
    """The arrays or batches in lists of at least so many rows, the last one of what is left."""
    waiting: list[Any] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= rows:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
