"""The crosswalk between rows and distinct numbers: down when read, back when answered.

A frame is read once into a `Crosswalk`: per row and phone column the position of its number
among the distinct ones. Everything between works on the distinct numbers; `join_back` takes the
answers back to the rows through the same positions. Answers find their number by its value,
never by the order in which they came.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich.errors import BadInput
from carrier_enrich.frames.kinds import Cells, Frame, NewColumn, frame_of
from carrier_enrich.frames.names import (
    DEFAULT_COLUMNS,
    Label,
    Phone,
    default_country,
    fields_of,
    name_of,
    new_names,
    phone_positions,
    position,
)
from carrier_enrich.model import Answers, Lookup, LookupStatus
from carrier_enrich.phones import Normalised, Reason, country_code, normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int32s, Int64s

#: Positions in `PhoneColumn.index` that stand for no number.
MISSING, INVALID = -1, -2

_REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True, eq=False)
class PhoneColumn:
    """One phone column: per row the position in `Crosswalk.numbers`, or MISSING, or INVALID."""

    name: str
    index: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Crosswalk:
    """What was read of a frame: which row holds which number.

    Attributes:
        rows: rows of the frame.
        columns: its phone columns, in the order asked for.
        numbers: E.164 integers, distinct over all columns, ascending.
        countries: per number a position in `country_names`, -1 where it belongs to none.
        country_names: ISO 3166-1 alpha-2.
        invalid: cells that can't be a number, by reason.
        missing: cells without a value.
        unknown_countries: rows whose country cell names no known country; their numbers were
            read as if no country was given.
        digest: names the content read (rows, columns, numbers), however it was stored.
    """

    rows: int
    columns: tuple[PhoneColumn, ...]
    numbers: Int64s
    countries: NDArray[np.int16]
    country_names: tuple[str, ...]
    invalid: Mapping[Reason, int]
    missing: int
    unknown_countries: int
    digest: str


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
        normalised = normalise([text for cells in asked for text in cells.texts], default)
    else:
        homes, unknown_countries = _homes(frame.cells(position(labels, country_column)), default)
        pairs = [_paired(cells, homes) for cells in asked]
        asked = [cells for cells, _ in pairs]
        normalised = normalise(
            [text for cells in asked for text in cells.texts],
            [home for _, homes_of_texts in pairs for home in homes_of_texts],
        )
    names = [name_of(labels[at]) for at in positions]
    return _walk(frame, names, asked, normalised, unknown_countries)


def join_back(
    data: Any,
    walk: Crosswalk,
    answers: Answers,
    *,
    columns: str | Sequence[str] = DEFAULT_COLUMNS,
    prefix: str = "",
) -> Any:
    """A new frame of the same kind: `data` untouched, then the asked columns.

    The answers may come in any order and may lack numbers, whose rows are then `not_checked`.
    Of a number that stands twice the last answer counts. Null where the service gave nothing.

    Raises:
        BadInput: `data` is not what `walk` was read from, or a name can't be used.
    """
    frame = frame_of(data)
    if frame.rows != walk.rows:
        raise BadInput(f"the frame has {frame.rows} rows, but {walk.rows} were read from it before")
    fields = fields_of(columns)
    names = new_names(frame.labels, [column.name for column in walk.columns], columns, prefix)
    lookups, of_number = _lookups_of_numbers(walk, answers)
    values = [tuple(getattr(lookup, field) or None for lookup in lookups) for field in fields]
    values.append(tuple(lookup.status.value for lookup in lookups))
    rows = [of_number[column.index] for column in walk.columns]
    cells = itertools.product(rows, values)
    return frame.with_columns(
        [NewColumn(name, texts, codes) for name, (codes, texts) in zip(names, cells, strict=True)]
    )


def status_counts(walk: Crosswalk, answers: Answers) -> Mapping[LookupStatus, int]:
    """Cells by status; every status is there, and they add up to rows times phone columns."""
    lookups, of_number = _lookups_of_numbers(walk, answers)
    counts = Counter(dict.fromkeys(LookupStatus, 0))
    for column in walk.columns:
        cells = np.bincount(of_number[column.index], minlength=len(lookups))
        for at in np.flatnonzero(cells):
            counts[lookups[at].status] += int(cells[at])
    return dict(counts)


def _homes(cells: Cells, default: str | None) -> tuple[tuple[Int64s, list[str | None]], int]:
    """Per row a position in a list of distinct countries, and the rows with an unknown one."""
    countries: dict[str | None, int] = {default: 0}
    of_text, unknown = [], []
    for text in cells.texts:
        blank = text is None or not text.strip()
        country = default if text is None or blank else country_code(text)
        of_text.append(countries.setdefault(country, len(countries)))
        unknown.append(not blank and country is None)
    # The default stands last too, where code -1, a null, finds it.
    codes = np.array([*of_text, 0], np.int64)[cells.codes]
    missed = np.array([*unknown, False], np.bool_)[cells.codes]
    return (codes, list(countries)), int(missed.sum())


def _paired(cells: Cells, homes: tuple[Int64s, list[str | None]]) -> tuple[Cells, list[str | None]]:
    """The distinct (text, country) pairs in place of the distinct texts."""
    home_of_row, countries = homes
    width = len(countries)
    keys = np.where(cells.codes < 0, -1, cells.codes * width + home_of_row)
    distinct, ranks, _ = _ranked(keys)
    nulls = int(len(distinct) > 0 and distinct[0] < 0)
    pairs = [divmod(key, width) for key in distinct[nulls:].tolist()]
    texts = tuple(cells.texts[text] for text, _ in pairs)
    return Cells(ranks - nulls, texts), [countries[home] for _, home in pairs]


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
    digest = hashlib.sha256(repr((frame.rows, *names)).encode())
    digest.update(numbers.astype("<i8", copy=False).tobytes())
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
        digest=digest.hexdigest(),
    )


def _lookups_of_numbers(walk: Crosswalk, answers: Answers) -> tuple[tuple[Lookup, ...], Int32s]:
    """The lookups there are, and per number which is its own.

    Two more stand at the end, invalid and missing, where INVALID and MISSING find them.
    """
    not_checked, invalid, missing = range(len(answers.lookups), len(answers.lookups) + 3)
    order = np.argsort(answers.numbers, kind="stable")
    # Zero is no number: it stands first so that every number finds one that is not larger.
    numbers = np.concatenate([[0], answers.numbers[order]])
    codes = np.concatenate([[not_checked], answers.codes[order]])
    at = np.searchsorted(numbers, walk.numbers, side="right") - 1
    own = np.where(numbers[at] == walk.numbers, codes[at], not_checked)
    ends = (LookupStatus.NOT_CHECKED, LookupStatus.INVALID, LookupStatus.MISSING)
    lookups = (*answers.lookups, *map(Lookup, ends))
    return lookups, np.concatenate([own, [invalid, missing]]).astype(np.int32)


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
