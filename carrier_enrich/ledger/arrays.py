"""Numbers by the hundred thousand between numpy and a database, without an object for each.

SQLite takes JSON and gives text, PostgreSQL takes and gives the binary form of ``bigint[]``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich.model import Int64s

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.abc import Buffer

#: Numbers per statement: large enough to be quick, small enough to keep memory bounded.
SLICE = 50_000

_PACKED_BITS = 63

# Fewer numbers are written sooner than Arrow is loaded.
_MANY = 500

_HEADER = np.dtype([("dimensions", ">i4"), ("nulls", ">i4"), ("type", ">u4")])
_SIDE = np.dtype([("length", ">i4"), ("first", ">i4")])
_ITEM = np.dtype([("size", ">i4"), ("value", ">i8")])
_BIGINT, _BIGINT_ARRAY = 20, 1016


def slices(numbers: Int64s) -> Iterator[Int64s]:
    """The numbers in order, `SLICE` at a time."""
    return (numbers[start : start + SLICE] for start in range(0, len(numbers), SLICE))


def as_json(numbers: Int64s) -> str:
    """A JSON array."""
    if len(numbers) < _MANY:
        return str(numbers.tolist())
    import pyarrow as pa
    import pyarrow.compute as pc

    # Lets other threads run meanwhile, as the way over Python's integers does not.
    texts: Any = pa.array(numbers).cast(pa.string())
    return f"[{pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), ',')[0].as_py()}]"


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Two integers in one: the key is ``first + (packed >> bits)``, the value ``low + (packed &
    mask)``. A database reads half as much of these.
    """

    packed: Int64s
    first: int
    low: int
    bits: int

    @property
    def mask(self) -> int:
        """Ones where the value stands."""
        return (1 << self.bits) - 1


def pairs_of(keys: Int64s, values: Int64s) -> Iterator[Pairs]:
    """All pairs in order of the keys, which ascend; `SLICE` at a time, or fewer where the keys
    and the values of a slice lie too far apart for one integer.
    """
    starts = [*range(0, len(keys), SLICE), len(keys)]
    todo = list(itertools.pairwise(starts))[::-1]
    while todo:
        start, end = todo.pop()
        first, last = int(keys[start]), int(keys[end - 1])
        low, high = int(values[start:end].min()), int(values[start:end].max())
        bits = (high - low).bit_length()
        if (last - first).bit_length() + bits <= _PACKED_BITS:
            packed = (keys[start:end] - first << bits) + (values[start:end] - low)
            yield Pairs(packed, first, low, bits)
        else:
            middle = (start + end) // 2
            todo += [(middle, end), (start, middle)]


def of_text(text: str | None) -> Int64s:
    """The numbers of a text with commas between them; none from None."""
    return np.fromstring(text or "", np.int64, sep=",")


def as_bigints(numbers: Int64s) -> bytes:
    """PostgreSQL's binary form of ``bigint[]``, without nulls."""
    if not len(numbers):
        return np.array([(0, 0, _BIGINT)], _HEADER).tobytes()
    items = np.empty(len(numbers), _ITEM)
    items["size"] = 8
    items["value"] = numbers
    header = np.array([(1, 0, _BIGINT)], _HEADER)
    side = np.array([(len(numbers), 1)], _SIDE)
    return header.tobytes() + side.tobytes() + items.tobytes()


def of_bigints(data: Buffer) -> Int64s:
    """The numbers of a binary ``bigint[]`` of one dimension, without nulls."""
    start = _HEADER.itemsize + _SIDE.itemsize
    if len(data) < start:
        return np.empty(0, np.int64)
    return np.frombuffer(data, _ITEM, offset=start)["value"].astype(np.int64)


def register(connection: Connection) -> None:
    """Let a psycopg connection send and receive int64 arrays."""
    from psycopg.adapt import Dumper, Loader
    from psycopg.pq import Format

    class BigintsDumper(Dumper):
        format = Format.BINARY
        oid = _BIGINT_ARRAY

        def dump(self, obj: Int64s) -> bytes:
            return as_bigints(obj)

    class BigintsLoader(Loader):
        format = Format.BINARY

        def load(self, data: Buffer) -> Int64s:
            return of_bigints(data)

    connection.adapters.register_dumper(np.ndarray, BigintsDumper)
    connection.adapters.register_loader(_BIGINT_ARRAY, BigintsLoader)
