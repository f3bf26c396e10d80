"""CSV files: read in pieces, written in pieces, every text as it is.

A CSV comes as text in every column: nothing becomes a number, nothing becomes null, so Namibia
stays ``NA`` and an identifier keeps its zeros.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any, Literal

import pyarrow as pa
import pyarrow.csv

from carrier_enrich.errors import BadInput
from carrier_enrich.files.places import Place

CSV_SUFFIXES = (".csv", ".tsv", ".txt")

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


@dataclass(frozen=True, slots=True)
class CsvPart:
    """A CSV file. Its header is read at once, its rows when asked for.

    It is UTF-8, or UTF-16 with its mark, else Windows-1252; separated by comma, semicolon, tab
    or bar, whichever its header has most of.
    """

    place: Place
    encoding: str
    header: tuple[str, ...]
    dialect: Dialect

    @classmethod
    def of(cls, place: Place) -> CsvPart:
        """The file of a place. BadInput where its header can't be read."""
        encoding, marked = _encoding(place)
        header, dialect = _header(place, encoding, marked)
        return cls(place, encoding, tuple(header), dialect)

    @property
    def name(self) -> str:
        """It is never one of several."""
        return ""

    @property
    def schema(self) -> Any:
        """Text in every column; with the dialect, for whoever writes these rows again."""
        fields = [pa.field(name, pa.string()) for name in self.header]
        return pa.schema(fields, {_DIALECT_KEY: json.dumps(asdict(self.dialect)).encode()})

    @property
    def around(self) -> Mapping[str, str | None]:
        """No folder says anything of a CSV."""
        return {}

    @property
    def parquet_options(self) -> Mapping[str, Any]:
        """Nothing is known."""
        return {}

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in pieces. BadInput where a row does not fit the header."""
        names = [f"f{at}" for at in range(len(self.header))]
        chosen = names if columns is None else [names[self.header.index(n)] for n in columns]
        # The very last cell shows whether a quote was left open.
        read = list(dict.fromkeys([*chosen, names[-1]]))
        schema = self.schema if columns is None else pa.schema([(n, pa.string()) for n in columns])
        last = ""
        for batch in self._batches(names, read):
            table = pa.Table.from_batches([batch])
            if len(table):
                last = table.column(names[-1])[-1].as_py()
            yield pa.Table.from_arrays(table.select(chosen).columns, schema=schema)
        if "\n" in last:
            self._check_quotes()

    def _batches(self, names: list[str], read: list[str]) -> Iterator[Any]:
        misfits: list[Any] = []

        def misfit(row: Any) -> Literal["error"]:
            misfits.append(row)
            return "error"

        # The header is read as a row, because its names may be doubled or empty.
        header = 1
        try:
            with (
                self.place.open() as file,
                pyarrow.csv.open_csv(
                    file,
                    read_options=pyarrow.csv.ReadOptions(
                        column_names=names,
                        encoding=self.encoding,
                        block_size=_BLOCK_BYTES,
                        # Only then a row that does not fit is told with its number.
                        use_threads=False,
                    ),
                    parse_options=pyarrow.csv.ParseOptions(
                        delimiter=self.dialect.delimiter,
                        newlines_in_values=True,
                        # A blank line is a row where there is one column, else none.
                        ignore_empty_lines=len(names) > 1,
                        invalid_row_handler=misfit,
                    ),
                    convert_options=pyarrow.csv.ConvertOptions(
                        include_columns=read,
                        column_types=dict.fromkeys(read, pa.string()),
                        strings_can_be_null=False,
                    ),
                ) as reader,
            ):
                for batch in reader:
                    yield batch.slice(header)
                    header = 0 if batch.num_rows else header
        except (pa.ArrowException, UnicodeError) as error:
            reason = str(error).splitlines()[0].split(": ", maxsplit=1)[0][:200]
            if misfits:
                row = misfits[0]
                reason = f"row {row.number} has {row.actual_columns} cells, the header {len(names)}"
            raise BadInput(f"{self.place} can't be read as CSV: {reason}") from None

    def _check_quotes(self) -> None:
        """Refuse a quote that is never closed: the rows after it would become one cell."""
        with _text(self.place, self.encoding) as file:
            try:
                for _ in csv.reader(file, delimiter=self.dialect.delimiter, strict=True):
                    pass
            except csv.Error as error:
                raise BadInput(
                    f"{self.place} can't be read as CSV: a quote is not closed ({error})"
                ) from None


def check_fits(schema: Any) -> None:
    """BadInput where a column holds what no CSV cell can."""
    for field in schema:
        if any(is_one(field.type) for is_one in _NOT_IN_CSV):
            raise BadInput(f"column {field.name!r} holds {field.type}: a CSV can't, Parquet can")


def without_dialect(schema: Any) -> Any:
    """A schema without what only a CSV needs."""
    metadata = dict(schema.metadata or {})
    metadata.pop(_DIALECT_KEY, None)
    return schema.with_metadata(metadata or None)


def dialect_of(schema: Any, suffix: str) -> Dialect:
    """How rows of this schema are written: as they came, else as the suffix says."""
    written = (schema.metadata or {}).get(_DIALECT_KEY)
    if written is not None:
        return Dialect(**json.loads(written))
    return Dialect(delimiter="\t" if suffix == ".tsv" else ",")


def _encoding(place: Place) -> tuple[str, bool]:
    """The encoding of a text file, and whether spreadsheets need to be told of UTF-8."""
    with place.open() as file:
        start = file.read(3)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", True
        for encoding in ("utf-8", "cp1252"):
            file.seek(0)
            decoder = codecs.getincrementaldecoder(encoding)()
            try:
                while block := file.read(_BLOCK_BYTES):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return encoding, encoding != "utf-8" or start == codecs.BOM_UTF8
    raise BadInput(f"{place} is neither UTF-8 nor Windows-1252: save it as UTF-8")


def _text(place: Place, encoding: str) -> io.TextIOWrapper:
    reading = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(place.open(), encoding=reading, newline="")


def _header(place: Place, encoding: str, marked: bool) -> tuple[list[str], Dialect]:
    with _text(place, encoding) as file:
        first = file.readline()
        # The quoted parts of a header say nothing of what separates it.
        bare = "".join(first.split('"')[::2])
        delimiter = max(_DELIMITERS, key=bare.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
        except csv.Error as error:
            raise BadInput(f"{place} has a header that can't be read: {error}") from None
        if not header:
            raise BadInput(f"{place} has no header in its first line")
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


class CsvWriter:
    """Writes tables of one schema as one file: every text as it is, nothing for null."""

    def __init__(self, file: IO[bytes], schema: Any, dialect: Dialect) -> None:
        if dialect.marked:
            file.write(codecs.BOM_UTF8)
        lines = _Lines(file, dialect.line_end)
        self._rows = csv.writer(lines, delimiter=dialect.delimiter, lineterminator="\r\n")
        self._rows.writerow(schema.names)

    def write(self, table: Any) -> None:
        """The next rows."""
        for batch in table.to_batches(max_chunksize=1 << 16):
            self._rows.writerows(zip(*map(_cells, batch.columns), strict=True))

    def close(self) -> None:
        """Nothing stands at the end of a CSV."""


def _cells(column: Any) -> list[Any]:
    # Python's times have no nanoseconds.
    is_time = pa.types.is_temporal(column.type)
    cells: list[Any] = (column.cast(pa.string()) if is_time else column).to_pylist()
    return cells
