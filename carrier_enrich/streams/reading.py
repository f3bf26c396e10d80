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
import pyarrow as pa

from carrier_enrich import files, frames
from carrier_enrich.ascending import are_in, distinct
from carrier_enrich.blocks import ahead
from carrier_enrich.errors import BadInput
from carrier_enrich.frames import INVALID, MISSING, Demand
from carrier_enrich.phones import e164_of, normalise_e164
from carrier_enrich.phones.plans import region_names
from carrier_enrich.spreadsheets import check_is_csv
from carrier_enrich.streams.register import Register

if TYPE_CHECKING:
    from carrier_enrich.files import Part, Source
    from carrier_enrich.frames.names import Label, Phone
    from carrier_enrich.model import Int64s
    from carrier_enrich.phones import Reason
    from carrier_enrich.phones.digits import Bools


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
    target: str | Path | None = None,
    excel_safe: bool = False,
    batch_rows: int = files.BATCH_ROWS,
) -> Iterator[Reading]:
    """Read the phone columns of a file or folder, and hold what was read until the end.

    Args:
        target: where it is to be written, to raise now what writing would raise after everything
            is paid for.
        batch_rows: rows that are in memory at once, at most.

    Raises:
        BadInput: as `files.open_source`, `frames.check_request` and `files.check_target`; or the
            target is the source.
    """
    source = files.open_source(path, batch_rows)
    if target is not None:
        _check_target(source, target, excel_safe=excel_safe)
    for part in source.parts:
        frames.check_request(_labels(part), phone, country, country_column, columns, prefix)
    version = source.version()
    labels = _labels(source.parts[0])
    phones = [labels[at] for at in frames.phone_positions(labels, phone)]
    home = None if country_column is None else labels[frames.position(labels, country_column)]
    asked = list(dict.fromkeys(name for name in (*phones, home) if name is not None))
    found = _Found(country, home)
    with tempfile.TemporaryFile() as cells:
        for part in source.parts:
            for table, plain in ahead(_tables(part, asked, phones)):
                found.pieces.append(len(table))
                for name, numbers in zip(phones, plain, strict=True):
                    found.keys(table, name, *numbers).tofile(cells)
        names = tuple(map(str, phones))
        yield Reading(source, names, found.demand(names), version, tuple(found.pieces), cells)


def _check_target(source: Source, target: str | Path, *, excel_safe: bool) -> None:
    if files.place_of(target).identity == source.place.identity:
        raise BadInput(f"{target} is the source too: it is never overwritten, name another target")
    files.check_target(target, source.parts[0].schema, is_folder=source.is_folder)
    if excel_safe:
        check_is_csv(Path(target))


def _labels(part: Part) -> list[str]:
    own = list(part.schema.names)
    return own + [name for name in part.around if name not in own]


def _tables(
    part: Part, asked: Sequence[str], phones: Sequence[str]
) -> Iterator[tuple[Any, list[tuple[Bools, Int64s]]]]:
    """The asked columns, and which cells of each phone column are E.164 texts already."""
    inside = [name for name in asked if name in part.schema.names]
    outside = {name: part.around[name] for name in asked if name not in inside}
    for piece in part.tables(inside):
        table = files.with_around(piece, outside)
        yield table, [_e164(table.column(name)) for name in phones]


def _e164(column: Any) -> tuple[Bools, Int64s]:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return e164_of(column)
    return np.zeros(len(column), np.bool_), np.empty(0, np.int64)


class _Found:
    """What the tables hold together."""

    def __init__(self, country: str | None, home: Label | None) -> None:
        self.pieces: list[int] = []
        self._country = country
        self._home = home
        self._register = Register()
        self._invalid: Counter[Reason] = Counter()
        self._missing = 0

    def keys(self, table: Any, phone: Label, is_plain: Bools, plain: Int64s) -> Int64s:
        """The number of each cell of a phone column, or INVALID, or MISSING.

        Args:
            is_plain: which cells are E.164 texts, and `plain` the integers of these. They need
                no country, and one that was met before needs no second look.
        """
        other = self._not_plain(plain)
        if len(other):
            stands = ~are_in(plain, other)
            is_plain = is_plain.copy()
            is_plain[is_plain] = stands
            plain = plain[stands]
        keys = np.empty(len(table), np.int64)
        keys[is_plain] = plain
        rest = ~is_plain
        if rest.any():
            keys[rest] = self._read(table.filter(pa.array(rest)), phone)
        return keys

    def _not_plain(self, numbers: Int64s) -> Int64s:
        """Those of these numbers that are no numbers as they stand; the others are taken up."""
        numbers = distinct(numbers)
        new: Int64s = numbers[~self._register.knows(numbers)]
        read = normalise_e164(new)
        stands, others = np.flatnonzero(read.numbers == new), np.flatnonzero(read.numbers != new)
        self._register.add(new[stands], read.regions[stands])
        return new[others]

    def _read(self, table: Any, phone: Label) -> Int64s:
        walk = frames.crosswalk(table, [phone], country=self._country, country_column=self._home)
        self._register.add(walk.numbers, walk.countries)
        self._invalid.update(walk.invalid)
        self._missing += walk.missing
        # INVALID and MISSING, -2 and -1, find theirs from the end.
        return np.append(walk.numbers, [INVALID, MISSING])[walk.columns[0].index]

    def demand(self, phones: Sequence[str]) -> Demand:
        """All of it."""
        numbers, countries = self._register.all()
        rows = sum(self.pieces)
        return Demand(
            rows=rows,
            numbers=numbers,
            countries=countries,
            country_names=region_names(),
            invalid=dict(self._invalid),
            missing=self._missing,
            digest=frames.digest_of(rows, phones, numbers),
        )


def changed(source: Source) -> BadInput:
    """What to say of a source that is not what it was."""
    return BadInput(
        f"{source.place} has changed while it was read: nothing was written; run it again, "
        "what was bought is kept in the ledger"
    )
