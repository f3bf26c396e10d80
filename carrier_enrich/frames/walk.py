"""The crosswalk between rows and distinct numbers: down when read, back when answered.

A frame is read once into a `Crosswalk`: per row and phone column the position of its number
among the distinct ones. Everything between works on the distinct numbers; `join_back` takes the
answers back to the rows through the same positions. Answers find their number by its value,
never by the order in which they came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich.frames.kinds import (
    Cells,
    Frame,
    frame_of,
    joined,
    taken,
    texts_of,
)
from carrier_enrich.frames.names import (
    Label,
    Phone,
    default_country,
    name_of,
    phone_positions,
    position,
)
from carrier_enrich.model import Countries
from carrier_enrich.phones import Normalised, Reason, country_code, normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int64s

#: Positions in `PhoneColumn.index` that stand for no number.
MISSING, INVALID = -1, -2

_REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True, eq=False)
class PhoneColumn:
    """One phone column: per row the position in `Crosswalk.numbers`, or MISSING, or INVALID."""

    name: str
    index: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What was read of phone columns: their distinct numbers, and what holds none.

    Attributes:
        rows: rows that were read.
        numbers: E.164 integers, distinct over all columns, ascending.
        countries: per number a position in `country_names`, -1 where it belongs to none.
        country_names: ISO 3166-1 alpha-2.
        invalid: cells that can't be a number, by reason.
        missing: cells without a value.
        digest: names the content read (rows, columns, numbers), however it was stored.
    """

    rows: int
    numbers: Int64s
    countries: NDArray[np.int16]
    country_names: tuple[str, ...]
    invalid: Mapping[Reason, int]
    missing: int
    digest: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Crosswalk(Demand):
    """The demand of a frame, and which row holds which number.

    Attributes:
        columns: its phone columns, in the order asked for.
        unknown_countries: rows whose country cell names no known country; their numbers were
            read as if no country was given.
    """

    columns: tuple[PhoneColumn, ...]
    unknown_countries: int


def digest_of(rows: int, names: Sequence[str], numbers: Int64s) -> str:
    """Names a content by its rows, phone columns and distinct numbers, ascending."""
    digest = hashlib.sha256(repr((rows, *names)).encode())
    digest.update(np.ascontiguousarray(numbers, "<i8").data)
    return digest.hexdigest()


def crosswalk(
    data: Any,
    phone: Phone,
    *,
    country: str | None = None,
    country_column: Label | None = None,
) -> Crosswalk:
    """Read the phone columns of a frame, distinct values first.

    `country` completes numbers written without a country code; `country_column` does so row by
    row and stands before `country` wherever it has a value.

    Raises:
        BadInput: as `check_request`; or a column whose type holds no numbers, such as dates.
    """
    frame = frame_of(data)
    labels = frame.labels
    positions = phone_positions(labels, phone)
    default = default_country(country)
    asked = [frame.cells(at) for at in positions]
    unknown_countries = 0
    if country_column is None:
        normalised = normalise(joined([cells.texts for cells in asked]), default)
    else:
        homes, unknown_countries = _homes(frame.cells(position(labels, country_column)), default)
        pairs = [_paired(cells, homes) for cells in asked]
        asked = [cells for cells, _ in pairs]
        normalised = normalise(
            joined([cells.texts for cells in asked]),
            Countries(np.concatenate([of_texts for _, of_texts in pairs]), homes[1]),
        )
    names = [name_of(labels[at]) for at in positions]
    return _walk(frame, names, asked, normalised, unknown_countries)


def _homes(cells: Cells, default: str | None) -> tuple[tuple[Int64s, tuple[str, ...]], int]:
    """Per row a position among country names, -1 for none, and the rows with an unknown one."""
    countries = {} if default is None else {default: 0}
    of_default = -1 if default is None else 0
    of_text, unknown = [], []
    for text in texts_of(cells):
        if text is None or not text.strip():
            of_text.append(of_default)
            unknown.append(False)
            continue
        country = country_code(text)
        of_text.append(-1 if country is None else countries.setdefault(country, len(countries)))
        unknown.append(country is None)
    # The default stands last too, where code -1, a null, finds it.
    codes = np.array([*of_text, of_default], np.int64)[cells.codes]
    missed = np.array([*unknown, False], np.bool_)[cells.codes]
    return (codes, tuple(countries)), int(missed.sum())


def _paired(cells: Cells, homes: tuple[Int64s, tuple[str, ...]]) -> tuple[Cells, NDArray[np.int16]]:
    """The distinct (text, country) pairs in place of the distinct texts."""
    home_of_row, countries = homes
    width = len(countries) + 1
    keys = np.where(cells.codes < 0, -1, cells.codes * width + home_of_row + 1)
    distinct, ranks, _ = _ranked(keys)
    nulls = int(len(distinct) > 0 and distinct[0] < 0)
    texts, home = np.divmod(distinct[nulls:], width)
    return Cells(ranks - nulls, taken(cells.texts, texts)), (home - 1).astype(np.int16)


def _walk(
    frame: Frame,
    names: Sequence[str],
    asked: Sequence[Cells],
    normalised: Normalised,
    unknown_countries: int,
) -> Crosswalk:
    good = normalised.reasons == _REASONS.index(Reason.OK)
    numbers, ranks, first = _ranked(normalised.numbers[good])
    missing = _REASONS.index(Reason.MISSING)
    index_of_text = np.where(normalised.reasons == missing, MISSING, INVALID)
    index_of_text[good] = ranks
    columns, reasons, at = [], np.zeros(len(_REASONS), np.int64), 0
    for name, cells in zip(names, asked, strict=True):
        own = slice(at, at := at + len(cells.texts))
        # One more at the end, where code -1, a null, finds it.
        columns.append(PhoneColumn(name, np.append(index_of_text[own], MISSING)[cells.codes]))
        of_row = np.append(normalised.reasons[own], missing)[cells.codes]
        reasons += np.bincount(of_row, minlength=len(_REASONS))
    by_reason = dict(zip(_REASONS, reasons.tolist(), strict=True))
    return Crosswalk(
        rows=frame.rows,
        columns=tuple(columns),
        numbers=numbers,
        countries=normalised.regions[good][first],
        country_names=normalised.region_names,
        invalid={
            reason: count
            for reason, count in by_reason.items()
            if count and reason not in (Reason.OK, Reason.MISSING)
        },
        missing=by_reason[Reason.MISSING],
        unknown_countries=unknown_countries,
        digest=digest_of(frame.rows, names, numbers),
    )


def _ranked(values: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The distinct values ascending, each value's rank among them, and where each first stands.

    By sorting, which at millions of integers is many times quicker than hashing.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_new = np.ones(len(values), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.cumsum(is_new) - 1
    return ordered[is_new], ranks, order[is_new]
