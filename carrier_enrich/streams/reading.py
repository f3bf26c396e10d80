"""The first pass: which number each cell holds, and which distinct numbers there are."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from carrier_enrich import files, frames
from carrier_enrich.errors import BadInput
from carrier_enrich.frames import INVALID, MISSING, Crosswalk, Demand
from carrier_enrich.streams.ahead import ahead
from carrier_enrich.streams.register import Register

if TYPE_CHECKING:
    from carrier_enrich.files import Part, Source
    from carrier_enrich.frames.names import Label, Phone
    from carrier_enrich.model import Int64s
    from carrier_enrich.phones import Reason


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A source that was read once.

    Attributes:
        phones: names of its phone columns, in the order asked for.
        demand: what they hold.
        version: of the source when it was read.
        pieces: rows of each table that it was read in.
    """

    source: Source
    phones: tuple[str, ...]
    demand: Demand
    version: tuple[Any, ...]
    pieces: tuple[int, ...]
    _cells: IO[bytes]

    def indexes(self) -> Iterator[list[Int64s]]:
        """For each table again, for each phone column: the position of each cell's number in
        the demand, or INVALID, or MISSING.
        """
        self._cells.seek(0)
        for rows in self.pieces:
            yield [self._index(rows) for _ in self.phones]

    def _index(self, rows: int) -> Int64s:
        cells = np.fromfile(self._cells, np.int64, rows)
        # Sorted queries find their places several times sooner.
        order = np.argsort(cells)
        index = np.empty(rows, np.int64)
        index[order] = np.searchsorted(self.demand.numbers, cells[order])
        return np.where(cells < 0, cells, index)


@contextmanager
def reading(
    path: str | Path,
    phone: Phone,
    *,
    country: str | None = None,
    country_column: Label | None = None,
    columns: str | Sequence[str] = frames.DEFAULT_COLUMNS,
    prefix: str = "",
    batch_rows: int = files.BATCH_ROWS,
) -> Iterator[Reading]:
    """Read the phone columns of a file or folder, and hold what was read until the end.

    Args:
        batch_rows: rows that are in memory at once, at most.

    Raises:
        BadInput: as `files.open_source` and `frames.check_request`.
    """
    source = files.open_source(path, batch_rows)
    for part in source.parts:
        frames.check_request(_labels(part), phone, country, country_column, columns, prefix)
    version = source.version()
    labels = _labels(source.parts[0])
    phones = [labels[at] for at in frames.phone_positions(labels, phone)]
    home = None if country_column is None else labels[frames.position(labels, country_column)]
    asked = list(dict.fromkeys(name for name in (*phones, home) if name is not None))
    found = _Found()
    with tempfile.TemporaryFile() as cells:
        for part in source.parts:
            for table in ahead(_tables(part, asked)):
                walk = frames.crosswalk(table, phones, country=country, country_column=home)
                found.add(walk)
                for column in walk.columns:
                    ends = [INVALID, MISSING]
                    np.append(walk.numbers, ends)[column.index].tofile(cells)
        names = tuple(map(str, phones))
        yield Reading(source, names, found.demand(names), version, tuple(found.pieces), cells)


def _labels(part: Part) -> list[str]:
    own = list(part.schema.names)
    return own + [name for name in part.around if name not in own]


def _tables(part: Part, asked: Sequence[str]) -> Iterator[Any]:
    """The asked columns, those that the part's folders are named for among them."""
    inside = [name for name in asked if name in part.schema.names]
    outside = {name: part.around[name] for name in asked if name not in inside}
    for table in part.tables(inside):
        yield files.with_around(table, outside)


class _Found:
    """What the tables hold together."""

    def __init__(self) -> None:
        self.pieces: list[int] = []
        self._register = Register()
        self._invalid: Counter[Reason] = Counter()
        self._missing = 0
        self._unknown_countries = 0
        self._country_names: tuple[str, ...] = ()

    def add(self, walk: Crosswalk) -> None:
        """One more table."""
        self.pieces.append(walk.rows)
        self._register.add(walk.numbers, walk.countries)
        self._invalid.update(walk.invalid)
        self._missing += walk.missing
        self._unknown_countries += walk.unknown_countries
        self._country_names = walk.country_names

    def demand(self, phones: Sequence[str]) -> Demand:
        """All of it."""
        numbers, countries = self._register.all()
        rows = sum(self.pieces)
        return Demand(
            rows=rows,
            numbers=numbers,
            countries=countries,
            country_names=self._country_names,
            invalid=dict(self._invalid),
            missing=self._missing,
            unknown_countries=self._unknown_countries,
            digest=frames.digest_of(rows, phones, numbers),
        )


def changed(source: Source) -> BadInput:
    """What to say of a source that is not what it was."""
    return BadInput(
        f"{source.place} has changed while it was read: nothing was written; run it again, "
        "what was bought is kept in the ledger"
    )
