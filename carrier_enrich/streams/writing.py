"""The second pass: the answers beside the rows, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich import files, frames
from carrier_enrich.blocks import ahead, behind
from carrier_enrich.frames import Join
from carrier_enrich.spreadsheets import spreadsheet_safe
from carrier_enrich.streams.reading import Reading, changed

if TYPE_CHECKING:
    from carrier_enrich.files import Part
    from carrier_enrich.model import Answers, Int64s, Lookup


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What stands beside the phone cells: ``cells[i]`` of them have ``lookups[i]``."""

    lookups: tuple[Lookup, ...]
    cells: Int64s


def write(
    reading: Reading,
    answers: Answers,
    target: str | Path,
    *,
    columns: str | Sequence[str] = frames.DEFAULT_COLUMNS,
    prefix: str = "",
    excel_safe: bool = False,
) -> Written:
    """Write the source that was read, with the answers beside its phone columns.

    Rows, their order, schema and metadata are the source's; a folder becomes a folder of files
    with the same names.

    Args:
        excel_safe: mark the phone numbers and the new texts in a CSV, and put the byte order
            mark before it, so that a spreadsheet takes them for text of its encoding.

    Raises:
        BadInput: as `files.writing`; or the source has changed since it was read.
        OSError: the disk refuses; what was there before is still there.
    """
    source = reading.source
    labels = source.parts[0].schema.names
    join = Join.of(reading.demand, answers, labels, reading.phones, columns=columns, prefix=prefix)

    def joined(table: Any, index: Sequence[Int64s]) -> Any:
        out = join.beside(table, index)
        if not excel_safe:
            return out
        return spreadsheet_safe(out, phones=reading.phones, texts=join.names)

    cells = np.zeros(len(join.lookups), np.int64)
    indexes = reading.indexes()
    with files.writing(target, is_folder=source.is_folder, marked=excel_safe) as beside:
        for part in source.parts:
            none = [np.empty(0, np.int64) for _ in reading.phones]
            schema = joined(part.schema.empty_table(), none).schema
            options = files.options_for(part.parquet_options, join.names)
            with beside.part(part.name, schema, options) as writer, behind(writer.write) as later:
                for table, index in ahead(_indexed(reading, part, indexes)):
                    later(joined(table, index))
                    cells += join.cells(index)
        if source.version() != reading.version:
            raise changed(source)
    return Written(join.lookups, cells)


def _indexed(
    reading: Reading, part: Part, indexes: Iterator[list[Int64s]]
) -> Iterator[tuple[Any, list[Int64s]]]:
    for table in part.tables():
        index = next(indexes, None)
        if index is None or any(len(own) != len(table) for own in index):
            raise changed(reading.source)
        yield table, index
