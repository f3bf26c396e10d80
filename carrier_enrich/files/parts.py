"""What every kind of file offers: its rows in pieces, in order, as often as asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

#: Rows in memory at once, unless they are wide.
BATCH_ROWS = 1 << 18
#: Bytes in memory at once, about, before compression.
BATCH_BYTES = 1 << 27


class Part(Protocol):
    """One file of a source."""

    @property
    def name(self) -> str:
        """Its relative name among the files of a folder; empty for a file of its own."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of what is in the file."""

    @property
    def around(self) -> Mapping[str, str | None]:
        """What the folders that it lies in say of all its rows, as in ``country=US/``."""

    @property
    def parquet_options(self) -> Mapping[str, Any]:
        """How a Parquet file like this one is written."""

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in pieces of at most so many at once, in order.

        Args:
            columns: those to read, by name; all unless given.

        Raises:
            BadInput: the file can't be read to its end.
        """


def with_around(table: Any, around: Mapping[str, str | None]) -> Any:
    """A table with what its folders say as columns of text, except for names that it has."""
    for name, value in around.items():
        if name not in table.column_names:
            column = pa.repeat(pa.scalar(value, pa.string()), len(table))
            table = table.append_column(name, column)
    return table
