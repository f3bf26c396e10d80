"""Result files of bulk tasks: rows as the service lists them, in the form that is configured."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from carrier_enrich.sandbox.allocation import allocation_of
from carrier_enrich.sandbox.config import RESULT_COLUMNS, SandboxConfig

Row = tuple[str, ...]

_MEDIA = {"carrier_batch": "text/csv", "global_carrier_batch": "application/zip"}
_SUFFIX = {"carrier_batch": ".csv", "global_carrier_batch": ".zip"}


def media_of(product: str) -> str:
    """The media type of a product's result file (spec, Bulk task)."""
    return _MEDIA[product]


def suffix_of(product: str) -> str:
    """The ending of a product's result file name."""
    return _SUFFIX[product]


def rows_of(numbers: Iterable[int]) -> Iterator[Row]:
    """One row per number, in the documented order of the columns."""
    for number in numbers:
        digits = str(number)
        found = allocation_of(digits)
        yield (
            digits,
            found.carrier,
            found.underlying_carrier,
            found.number_type,
            found.country_code,
            found.region,
            found.city,
        )


def save_rows(path: Path, rows: Iterable[Row]) -> None:
    """Keep rows for `load_rows`; the file appears whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(rows)
    part.replace(path)


def load_rows(path: Path) -> Iterator[Row]:
    """The rows that `save_rows` kept."""
    with path.open(encoding="utf-8", newline="") as source:
        yield from map(tuple, csv.reader(source))


def write_result(path: Path, rows: Iterable[Row], product: str, form: SandboxConfig) -> None:
    """Write rows as the product's result file: CSV, or a ZIP of one or several of them."""
    if product == "carrier_batch":
        with path.open("wb") as target:
            write_table(target, rows, form)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in _parts(list(rows), form):
            with archive.open(name, "w") as member:
                write_table(member, part, form)


def write_table(
    target: IO[bytes],
    rows: Iterable[Row],
    form: SandboxConfig,
    header: Sequence[str] | None = None,
) -> None:
    """Write rows as CSV in the configured form.

    Args:
        target: is left open.
        rows: in the documented order of the columns.
        form: what the file looks like.
        header: instead of the right one; empty for no header line.
    """
    text = io.TextIOWrapper(target, "utf-8-sig" if form.result_bom else "utf-8", newline="")
    ending = "\r\n" if form.result_crlf else "\n"
    writer = csv.writer(text, delimiter=form.result_delimiter, lineterminator=ending)
    first = header_of(form) if header is None else header
    if first:
        writer.writerow(first)
    writer.writerows(formed(rows, form))
    text.detach()


def header_of(form: SandboxConfig) -> list[str]:
    """The header line in the configured order and case."""
    return [getattr(name, form.result_header)() for name in form.result_columns]


def formed(rows: Iterable[Row], form: SandboxConfig) -> Iterable[Row]:
    """Rows in the configured order of columns, identifiers with a plus sign where asked for."""
    if form.result_plus:
        rows = ((f"+{row[0]}", *row[1:]) for row in rows)
    if form.result_columns == RESULT_COLUMNS:
        return rows
    places = [RESULT_COLUMNS.index(name) for name in form.result_columns]
    return (tuple(row[place] for place in places) for row in rows)


def _parts(rows: Sequence[Row], form: SandboxConfig) -> Iterator[tuple[str, Sequence[Row]]]:
    size = max(1, -(-len(rows) // form.zip_members))
    for part in range(form.zip_members):
        yield f"result_{part + 1}{form.zip_member_suffix}", rows[part * size : (part + 1) * size]
