"""Tables whose CSV people will open in a spreadsheet.

A spreadsheet runs a cell that begins like a formula, and makes a number of everything that looks
like one: ``+14155550123`` loses its plus, ``0791`` its zero, a long one its last digits. A leading
apostrophe keeps a cell text in all of them; it can be removed again by search and replace, and
numbers are read with it just the same. The mark of UTF-8 in front of the file, by which a
spreadsheet knows its encoding, is `files.write_table`'s to write.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from carrier_enrich.errors import BadInput
from carrier_enrich.files import CSV_SUFFIXES

#: What makes a spreadsheet take a cell for a formula, also in the wide forms of East Asia.
_FORMULA = r"^([=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001  the wide forms are meant

#: Any cell with something to see in it that is not marked as text already.
_FILLED = r"^(\s*[^'\s])"


def check_is_csv(target: Path) -> None:
    """Raise BadInput unless the target is a CSV: a Parquet file has types, and needs no marks."""
    if target.suffix.lower() not in CSV_SUFFIXES:
        raise BadInput(f"--excel-safe is for CSV; {target} is not one")


def spreadsheet_safe(table: Any, *, phones: Collection[str], texts: Collection[str]) -> Any:
    """The table with marked texts.

    Args:
        table: a pyarrow Table.
        phones: columns of phone numbers: every cell with something in it is marked.
        texts: columns of text from elsewhere: what begins like a formula is marked.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, name in enumerate(table.column_names):
        if name not in phones and name not in texts:
            continue
        pattern = _FILLED if name in phones else _FORMULA
        column = table.column(at).cast(pa.large_string())
        marked = pc.replace_substring_regex(column, pattern=pattern, replacement=r"'\1")
        table = table.set_column(at, name, marked)
    return table
