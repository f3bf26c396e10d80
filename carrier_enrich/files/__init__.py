"""Tables in files, here or behind a URL: read and written in pieces, or whole."""

from carrier_enrich.files.delimited import CSV_SUFFIXES
from carrier_enrich.files.parquet import PARQUET_SUFFIXES, options_for
from carrier_enrich.files.parts import BATCH_ROWS, Part, with_around
from carrier_enrich.files.places import place_of
from carrier_enrich.files.tables import (
    Source,
    Target,
    Writer,
    check_target,
    open_source,
    read_table,
    write_table,
    writing,
)

__all__ = [
    "BATCH_ROWS",
    "CSV_SUFFIXES",
    "PARQUET_SUFFIXES",
    "Part",
    "Source",
    "Target",
    "Writer",
    "check_target",
    "open_source",
    "options_for",
    "place_of",
    "read_table",
    "with_around",
    "write_table",
    "writing",
]
