"""Sources and targets: a Parquet or CSV file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from carrier_enrich.errors import BadInput
from carrier_enrich.files.delimited import (
    CSV_SUFFIXES,
    CsvPart,
    CsvWriter,
    check_fits,
    dialect_of,
    without_dialect,
)
from carrier_enrich.files.parquet import (
    PARQUET_MAGIC,
    PARQUET_SUFFIXES,
    ParquetPart,
    ParquetWriter,
)
from carrier_enrich.files.parts import BATCH_ROWS, Part, with_around
from carrier_enrich.files.places import Place, place_of

_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"ARROW1": "an Arrow file",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to read: one file, or those of a folder in the order of their names."""

    place: Place
    parts: tuple[Part, ...]
    is_folder: bool

    def version(self) -> tuple[Any, ...]:
        """What differs when one of the files has changed."""
        if not self.is_folder:
            return self.place.version()
        return tuple(self.place.within(part.name).version() for part in self.parts)


def open_source(path: str | Path, batch_rows: int = BATCH_ROWS) -> Source:
    """The source that a path or an fsspec URL names; what it is, its first bytes say.

    Args:
        batch_rows: rows that are in memory at once, at most.

    Raises:
        BadInput: no such file, neither Parquet nor CSV, or a folder without Parquet files.
    """
    place = place_of(path)
    if place.is_folder():
        names = [n for n in place.files() if n.lower().endswith(PARQUET_SUFFIXES)]
        if not names:
            raise BadInput(f"{place} is a folder without Parquet files")
        parts = [ParquetPart.of(place.within(name), name, batch_rows) for name in names]
        return Source(place, tuple(parts), is_folder=True)
    with place.open() as file:
        start = file.read(8)
    if start.startswith(PARQUET_MAGIC):
        return Source(place, (ParquetPart.of(place, "", batch_rows),), is_folder=False)
    for magic, kind in _OTHER_KINDS.items():
        if start.startswith(magic):
            raise BadInput(f"{place} is {kind}: give a Parquet or CSV file")
    if _suffix(place) in PARQUET_SUFFIXES:
        raise BadInput(f"{place} is not a Parquet file")
    return Source(place, (CsvPart.of(place),), is_folder=False)


class Writer(Protocol):
    """Writes tables of one schema as one file."""

    def write(self, table: Any) -> None:
        """The next rows."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file or folder being written."""

    place: Place
    suffix: str
    marked: bool

    @contextmanager
    def part(self, name: str, schema: Any, parquet_options: Mapping[str, Any]) -> Iterator[Writer]:
        """A file of it, by its relative name, empty where it is the only one."""
        place = self.place.within(name) if name else self.place
        with place.writing() as file:
            if self.suffix in CSV_SUFFIXES:
                dialect = dialect_of(schema, self.suffix)
                dialect = replace(dialect, marked=dialect.marked or self.marked)
                yield CsvWriter(file, schema, dialect)
                return
            writer = ParquetWriter(file, without_dialect(schema), parquet_options)
            try:
                yield writer
            finally:
                writer.close()


@contextmanager
def writing(path: str | Path, *, is_folder: bool = False, marked: bool = False) -> Iterator[Target]:
    """Write a file or a folder of Parquet files, whole or not at all.

    Args:
        marked: put the byte order mark before a CSV, by which spreadsheets know its encoding.

    Raises:
        BadInput: as `check_target`.
        OSError: the disk refuses; what was there before is still there.
    """
    check_target(path, is_folder=is_folder)
    place = place_of(path)
    suffix = ".parquet" if is_folder else _suffix(place)
    with place.staged() as beside:
        yield Target(beside, suffix, marked)


def read_table(path: str | Path) -> Any:
    """A Parquet or CSV file as a pyarrow Table. Of a folder, all files one after the other, with
    what their folders are named for as columns of text.

    Raises:
        BadInput: as `open_source`, or rows that do not fit the header.
    """
    tables = []
    for part in open_source(path).parts:
        pieces = list(part.tables())
        table = pa.concat_tables(pieces) if pieces else part.schema.empty_table()
        tables.append(with_around(table, part.around))
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")


def write_table(table: Any, path: str | Path, *, marked: bool = False) -> None:
    """Write a table as Parquet or CSV, by the suffix, whole or not at all.

    A table that came from a CSV goes back with its separator and line ends. A CSV has every
    text exactly as it is in the table, and nothing for null.

    Raises:
        BadInput: as `check_target`.
        OSError: the disk refuses; the old file, if any, is still there.
    """
    check_target(path, table.schema)
    with writing(path, marked=marked) as target, target.part("", table.schema, {}) as writer:
        writer.write(table)


def check_target(path: str | Path, schema: Any = None, *, is_folder: bool = False) -> None:
    """Raise now what writing would raise after everything is paid for.

    The columns that a CSV can't hold are found where the schema is given.

    Raises:
        BadInput: a suffix that is neither Parquet's nor CSV's, a folder that is not there or
            can't be written to, or a column that no CSV cell can hold.
    """
    place = place_of(path)
    suffix = _suffix(place)
    if is_folder:
        if suffix in CSV_SUFFIXES:
            raise BadInput(f"{place}: a folder of files can't become one CSV: name a folder")
        if not place.is_folder() and _exists(place):
            raise BadInput(f"{place} is a file: name a folder for a folder's files")
        place.check_writable()
        return
    if suffix not in (*PARQUET_SUFFIXES, *CSV_SUFFIXES):
        known = ", ".join((*PARQUET_SUFFIXES, *CSV_SUFFIXES))
        raise BadInput(f"{place} is to be written, but its suffix is none of {known}")
    if place.is_folder():
        raise BadInput(f"{place} is to be written, but is a folder")
    place.check_writable()
    if schema is not None and suffix in CSV_SUFFIXES:
        check_fits(schema)


def _exists(place: Place) -> bool:
    try:
        place.version()
    except OSError:
        return False
    return True


def _suffix(place: Place) -> str:
    return Path(place.name).suffix.lower()
