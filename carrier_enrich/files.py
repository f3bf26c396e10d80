"""Tables in files: Parquet and CSV, read whole and written whole.

A CSV comes as text in every column: nothing becomes a number, nothing becomes null, so Namibia
stays ``NA`` and an identifier keeps its zeros. A file is written beside its target and takes
its place in one step, so that nobody ever sees half of one.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from carrier_enrich.errors import BadInput

PARQUET_SUFFIXES = (".parquet", ".pq")
CSV_SUFFIXES = (".csv", ".tsv", ".txt")

_PARQUET_MAGIC = b"PAR1"
_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"ARROW1": "an Arrow file",
}
_NOT_IN_CSV: tuple[Callable[[Any], bool], ...] = (
    pa.types.is_nested,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
    pa.types.is_interval,
)
_DELIMITERS = (",", ";", "\t", "|")
#: No row of a CSV may be longer than this (bytes).
_BLOCK_BYTES = 1 << 24
#: Where the schema of a table that came from a CSV keeps how the CSV was written.
_DIALECT_KEY = b"carrier_enrich.csv_dialect"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV is written.

    `marked` puts the UTF-8 byte order mark in front, by which spreadsheets know the encoding.
    """

    delimiter: str = ","
    line_end: str = "\n"
    marked: bool = False


def read_table(path: str | Path) -> Any:
    """A Parquet or CSV file as a pyarrow Table; which of the two, its first bytes say.

    A CSV is UTF-8, or UTF-16 with its mark, else Windows-1252; separated by comma, semicolon,
    tab or bar, whichever its header has most of. The table remembers this for `write_table`.

    Raises:
        BadInput: no such file, neither Parquet nor CSV, or rows that do not fit the header.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    if start.startswith(_PARQUET_MAGIC):
        return _read_parquet(path)
    for magic, kind in _OTHER_KINDS.items():
        if start.startswith(magic):
            raise BadInput(f"{path} is {kind}: give a Parquet or CSV file")
    if path.suffix.lower() in PARQUET_SUFFIXES:
        raise BadInput(f"{path} is not a Parquet file")
    return _read_csv(path)


def write_table(table: Any, path: str | Path) -> None:
    """Write a table as Parquet or CSV, by the suffix, whole or not at all.

    A table that came from a CSV goes back with its separator and line ends. A CSV has every
    text exactly as it is in the table, and nothing for null.

    Raises:
        BadInput: as `check_target`.
        OSError: the disk refuses; the old file, if any, is still there.
    """
    path = Path(path)
    check_target(path, table)
    if path.suffix.lower() in PARQUET_SUFFIXES:
        _put(path, lambda file: pyarrow.parquet.write_table(_without_dialect(table), file))
        return
    default = Dialect(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    dialect = _dialect_of(table) or default
    _put(path, lambda file: _write_csv(table, file, dialect))


def check_target(path: str | Path, table: Any = None) -> None:
    """Raise now what `write_table` would raise after everything is paid for.

    The columns that a CSV can't hold are found where the table is given.

    Raises:
        BadInput: a suffix that is neither Parquet's nor CSV's, a folder that is not there or
            can't be written to, or a column that no CSV cell can hold.
    """
    path = Path(path)
    if path.suffix.lower() not in (*PARQUET_SUFFIXES, *CSV_SUFFIXES):
        known = ", ".join((*PARQUET_SUFFIXES, *CSV_SUFFIXES))
        raise BadInput(f"{path} is to be written, but its suffix is none of {known}")
    if path.is_dir():
        raise BadInput(f"{path} is to be written, but is a folder")
    if not os.access(path.resolve().parent, os.W_OK):
        raise BadInput(f"{path} can't be written: its folder is not there or not writable")
    if table is None or path.suffix.lower() in PARQUET_SUFFIXES:
        return
    for field in table.schema:
        if any(is_one(field.type) for is_one in _NOT_IN_CSV):
            raise BadInput(f"column {field.name!r} holds {field.type}: a CSV can't, Parquet can")


def _read_parquet(path: Path) -> Any:
    try:
        # Not read_table, which adds columns for folders that are named like year=2026.
        with pyarrow.parquet.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} is not a whole Parquet file: {_line(error)}") from None


def _read_csv(path: Path) -> Any:
    encoding, marked = _encoding(path)
    header, dialect = _header(path, encoding, marked)
    names = [f"f{at}" for at in range(len(header))]
    misfits: list[Any] = []

    def misfit(row: Any) -> Literal["error"]:
        misfits.append(row)
        return "error"

    try:
        table = pyarrow.csv.read_csv(
            path,
            # The header is read as a row, because its names may be doubled or empty. Without
            # threads, because only then a row that does not fit is told with its number.
            read_options=pyarrow.csv.ReadOptions(
                column_names=names, encoding=encoding, block_size=_BLOCK_BYTES, use_threads=False
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                # A blank line is a row where there is one column, and none where there are more.
                ignore_empty_lines=len(header) > 1,
                invalid_row_handler=misfit,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowException, UnicodeError) as error:
        reason = _line(error)
        if misfits:
            row = misfits[0]
            reason = f"row {row.number} has {row.actual_columns} cells, the header {len(header)}"
        raise BadInput(f"{path} can't be read as CSV: {reason}") from None
    if "\n" in (table.column(len(names) - 1)[-1].as_py() or ""):
        _check_quotes(path, encoding, dialect)
    metadata = {_DIALECT_KEY: json.dumps(asdict(dialect)).encode()}
    return table.slice(1).rename_columns(header).replace_schema_metadata(metadata)


def _check_quotes(path: Path, encoding: str, dialect: Dialect) -> None:
    """Refuse a file whose last quote is never closed: the rows after it would become one cell."""
    with path.open(encoding=encoding, newline="") as file:
        try:
            for _ in csv.reader(file, delimiter=dialect.delimiter, strict=True):
                pass
        except csv.Error as error:
            raise BadInput(
                f"{path} can't be read as CSV: a quote is not closed ({error})"
            ) from None


def _encoding(path: Path) -> tuple[str, bool]:
    """The encoding of a text file, and whether spreadsheets need to be told of UTF-8."""
    with path.open("rb") as file:
        start = file.read(3)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", True
        file.seek(0)
        for encoding in ("utf-8", "cp1252"):
            file.seek(0)
            decoder = codecs.getincrementaldecoder(encoding)()
            try:
                while block := file.read(_BLOCK_BYTES):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            marked = encoding != "utf-8" or start == codecs.BOM_UTF8
            return encoding, marked
    raise BadInput(f"{path} is neither UTF-8 nor Windows-1252: save it as UTF-8")


def _header(path: Path, encoding: str, marked: bool) -> tuple[list[str], Dialect]:
    reading = "utf-8-sig" if encoding == "utf-8" else encoding
    with path.open(encoding=reading, newline="") as file:
        first = file.readline()
        # The quoted parts of a header say nothing of what separates it.
        bare = "".join(first.split('"')[::2])
        delimiter = max(_DELIMITERS, key=bare.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
        except csv.Error as error:
            raise BadInput(f"{path} has a header that can't be read: {error}") from None
        if not header:
            raise BadInput(f"{path} has no header in its first line")
        file.seek(0)
        # A quoted name may hold line ends of its own.
        last = next(itertools.islice(file, reader.line_num - 1, None))
    line_end = "\r\n" if last.endswith("\r\n") else "\n"
    return header, Dialect(delimiter, line_end, marked)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where csv.writer writes its rows, to end as the dialect says.

    The writer itself is told of both marks of a line end, because it quotes only those it
    ends lines with, and an unquoted one inside a cell would break the row.
    """

    file: IO[bytes]
    line_end: str

    def write(self, row: str) -> int:
        return self.file.write((row.removesuffix("\r\n") + self.line_end).encode())


def _write_csv(table: Any, file: IO[bytes], dialect: Dialect) -> None:
    if dialect.marked:
        file.write(codecs.BOM_UTF8)
    lines = _Lines(file, dialect.line_end)
    writer = csv.writer(lines, delimiter=dialect.delimiter, lineterminator="\r\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=1 << 16):
        writer.writerows(zip(*map(_csv_cells, batch.columns), strict=True))


def _csv_cells(column: Any) -> list[Any]:
    # Python's times have no nanoseconds.
    is_time = pa.types.is_temporal(column.type)
    cells: list[Any] = (column.cast(pa.string()) if is_time else column).to_pylist()
    return cells


def _dialect_of(table: Any) -> Dialect | None:
    written = (table.schema.metadata or {}).get(_DIALECT_KEY)
    return None if written is None else Dialect(**json.loads(written))


def _without_dialect(table: Any) -> Any:
    metadata = dict(table.schema.metadata or {})
    metadata.pop(_DIALECT_KEY, None)
    return table.replace_schema_metadata(metadata or None)


def _put(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file beside the target, then let it take the target's place."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _line(error: Exception) -> str:
    """An error in one line, short of the data that it may quote."""
    return str(error).splitlines()[0].split(": ", maxsplit=1)[0][:200]
