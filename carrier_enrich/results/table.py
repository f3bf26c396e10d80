"""One text of a result file → an Arrow table of the documented columns, all of them text.

The specification documents columns and order for one product and the same fields for the other
(spec, Bulk task); so columns are found by name, in any order and case, and what is not known is
left out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from carrier_enrich.errors import BadResultFile
from carrier_enrich.model import FIELDS
from carrier_enrich.results.archive import Member
from carrier_enrich.wire.envelope import redacted

IDENTIFIER = "identifier"
FLAGS = ("registered", "exists")

_DOCUMENTED = (IDENTIFIER, *FIELDS)
_ALIASES = ("identifier", "number", "phone", "phonenumber", "msisdn", "e164", "telephone", "mobile")
_BY_HEADER = {name.replace("_", ""): name for name in (*FIELDS, *FLAGS)}
_DELIMITERS = (",", ";", "\t", "|")
_HEAD_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 22
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NUMBER = re.compile(r"\s*\+?[0-9]{5,15}\s*", re.ASCII)
_COUNTRY = re.compile(r"\s*([A-Za-z]{2})?\s*", re.ASCII)
_TEXT: Any = pa.string()
_REPEATED: Any = pa.dictionary(pa.int32(), _TEXT)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the known columns are in a text."""

    columns: Mapping[str, int]
    width: int
    delimiter: str
    has_header: bool


def table_of(member: Member) -> pa.Table | None:
    """The known columns of a text: the identifier as it stands, the others dictionary-encoded.

    None where it is no table of results: it needs an identifier, and beside it at least one
    column that says something. A text without a header is one where its first row looks like
    the documented columns in the documented order.

    Raises:
        BadResultFile: a table, but not one that can be read to its end.
    """
    with member.open() as raw:
        head = raw.read(_HEAD_BYTES) or b""
    encoding = "utf-16" if head.startswith(_UTF16) else "utf8"
    layout = _layout(head.decode(encoding, "replace").removeprefix("\ufeff"))
    if layout is None:
        return None
    try:
        table = _read(member, layout, encoding, quotes=b'"' in head)
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise BadResultFile(f"it is no whole table: {_reason(error)}") from None
    # Arrow can't skip the only line of a file, so a header is read as a row and dropped here.
    return table.slice(1) if layout.has_header else table


def _read(member: Member, layout: _Layout, encoding: str, *, quotes: bool) -> Any:
    """The known columns. Without quotes no value has a line end, which is read sooner; a text
    whose first quote comes late is read again.
    """
    with member.open() as raw:
        watched = _Watched(raw)
        try:
            table = _parsed(watched, layout, encoding, line_ends_in_values=quotes)
        except pa.ArrowInvalid:
            if quotes or not watched.quotes:
                raise
    if watched.quotes and not quotes:
        return _read(member, layout, encoding, quotes=True)
    return table


class _Watched(io.RawIOBase):
    """A binary reader that sees whether there are quotes."""

    def __init__(self, inner: io.RawIOBase) -> None:
        super().__init__()
        self._inner = inner
        self.quotes = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes | None:
        chunk = self._inner.read(size)
        self.quotes = self.quotes or b'"' in (chunk or b"")
        return chunk


def _parsed(raw: io.IOBase, layout: _Layout, encoding: str, *, line_ends_in_values: bool) -> Any:
    # Columns are named by their place, since a header may name several alike.
    types = {str(place): _type_of(name) for name, place in layout.columns.items()}
    file: Any = pa.PythonFile(raw, "r")
    table = pacsv.read_csv(
        file,
        read_options=pacsv.ReadOptions(
            column_names=[str(place) for place in range(layout.width)],
            block_size=_BLOCK_BYTES,
            encoding=encoding,
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=line_ends_in_values
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            # "NA" is Namibia, "null" may be a carrier: no text is taken for a null.
            strings_can_be_null=False,
        ),
    )
    return table.rename_columns(list(layout.columns)).unify_dictionaries()


def _type_of(name: str) -> Any:
    return _TEXT if name == IDENTIFIER else _REPEATED


def _reason(error: Exception) -> str:
    """What is wrong, without the row in which it is wrong."""
    return redacted(re.sub(r"(got \d+):.*", r"\1", str(error), flags=re.DOTALL))


def _layout(head: str) -> _Layout | None:
    lines = re.split(r"\r\n|\r|\n", head)
    first = next((line for line in lines if line.strip()), "")
    for delimiter in _DELIMITERS:
        cells = _cells(first, delimiter)
        columns = _named(cells)
        if columns is not None:
            return _Layout(columns, len(cells), delimiter, has_header=True)
        if _is_documented_row(cells):
            documented = {name: place for place, name in enumerate(_DOCUMENTED)}
            return _Layout(documented, len(cells), delimiter, has_header=False)
    return None


def _cells(line: str, delimiter: str) -> Sequence[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), ())
    except csv.Error:
        return ()


def _named(cells: Iterable[str]) -> Mapping[str, int] | None:
    names = [re.sub("[^a-z0-9]", "", cell.lower()).removeprefix("extra") for cell in cells]
    columns: dict[str, int] = {}
    identifier = next((alias for alias in _ALIASES if alias in names), None)
    for place, name in enumerate(names):
        known = IDENTIFIER if name == identifier else _BY_HEADER.get(name)
        if known is None:
            continue
        if known in columns:
            raise BadResultFile(f"it has two columns for {known}")
        columns[known] = place
    says_something = columns.keys() - {IDENTIFIER, "country_code"}
    return columns if IDENTIFIER in columns and says_something else None


def _is_documented_row(cells: Sequence[str]) -> bool:
    return (
        len(cells) == len(_DOCUMENTED)
        and _NUMBER.fullmatch(cells[0]) is not None
        and _COUNTRY.fullmatch(cells[_DOCUMENTED.index("country_code")]) is not None
    )
