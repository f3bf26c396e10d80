"""Parquet files: read in pieces, written in pieces, with their schema and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet

from carrier_enrich.errors import BadInput
from carrier_enrich.files.parts import BATCH_BYTES
from carrier_enrich.files.places import Place

PARQUET_SUFFIXES = (".parquet", ".pq")
PARQUET_MAGIC = b"PAR1"

#: What a hive-style folder is named where the value is null.
_NULL = "__HIVE_DEFAULT_PARTITION__"
#: Bytes a value, before compression, that places in a dictionary take at most.
_PLACE_BYTES = 4
#: Bytes of a column read at once.
_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A Parquet file. Its schema is read at once, its rows when asked for."""

    place: Place
    name: str
    batch_rows: int
    schema: Any
    rows: int
    parquet_options: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, place: Place, name: str, batch_rows: int) -> ParquetPart:
        """The file of a place. BadInput where it is no whole Parquet file."""
        with _opened(place) as file:
            about = file.metadata
            wide = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
            bare = file.schema_arrow.remove_metadata()
            rows = max(1, BATCH_BYTES * about.num_rows // max(wide, 1))
            return cls(
                place=place,
                name=name,
                batch_rows=min(batch_rows, rows),
                schema=file.schema_arrow if file.schema_arrow.metadata else bare,
                rows=about.num_rows,
                parquet_options=_options(about),
            )

    @property
    def around(self) -> Mapping[str, str | None]:
        """What its folders are named for."""
        folders = (folder.split("=", 1) for folder in self.name.split("/")[:-1] if "=" in folder)
        return {unquote(k): None if v == _NULL else unquote(v) for k, v in folders}

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in pieces. BadInput where the file can't be read to its end."""
        with _opened(self.place) as file:
            for batch in file.iter_batches(self.batch_rows, columns=columns):
                if columns is None:
                    yield pa.Table.from_arrays(batch.columns, schema=self.schema)
                else:
                    yield pa.Table.from_batches([batch]).select(columns)


@contextmanager
def _opened(place: Place) -> Iterator[Any]:
    try:
        # Not read_table, which adds columns for folders that are named like year=2026.
        with (
            place.open() as opened,
            pyarrow.parquet.ParquetFile(opened, buffer_size=_BUFFER, pre_buffer=False) as file,
        ):
            yield file
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].split(": ", maxsplit=1)[0][:200]
        raise BadInput(f"{place} is not a whole Parquet file: {reason}") from None


def _options(about: Any) -> dict[str, Any]:
    """Compression and dictionaries as the file has them."""
    if not about.num_row_groups:
        return {}
    group = about.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    return {
        "compression": {c.path_in_schema: c.compression.lower() for c in columns},
        "use_dictionary": [c.path_in_schema for c in columns if _gained(c)],
    }


def _gained(column: Any) -> bool:
    """Whether its dictionary held all of its values: a full one is given up half-way."""
    is_small = column.total_uncompressed_size < _PLACE_BYTES * max(column.num_values, 256)
    return bool(column.has_dictionary_page and is_small)


def options_for(options: Mapping[str, Any], added: Sequence[str]) -> dict[str, Any]:
    """The same for a file with more columns, whose texts are few."""
    if not options:
        return {}
    codecs = options["compression"]
    usual = next(iter(codecs.values()), "snappy")
    return {
        "compression": {**codecs, **dict.fromkeys(added, usual)},
        "use_dictionary": [*options["use_dictionary"], *added],
    }


class ParquetWriter:
    """Writes tables of one schema as one file."""

    def __init__(self, file: IO[bytes], schema: Any, options: Mapping[str, Any]) -> None:
        self._writer = pyarrow.parquet.ParquetWriter(file, schema, **options)

    def write(self, table: Any) -> None:
        """The next rows."""
        self._writer.write_table(table)

    def close(self) -> None:
        """The end of the file."""
        self._writer.close()
