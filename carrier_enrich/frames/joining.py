"""Answers back to the rows: by the value of each number, never by the order of the answers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich.blocks import by_block
from carrier_enrich.errors import BadInput
from carrier_enrich.frames.kinds import NewColumn, frame_of
from carrier_enrich.frames.names import DEFAULT_COLUMNS, Label, fields_of, new_names
from carrier_enrich.frames.walk import Crosswalk, Demand
from carrier_enrich.model import Answers, Lookup, LookupStatus

if TYPE_CHECKING:
    from carrier_enrich.model import Int32s, Int64s


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
    phones = [column.name for column in walk.columns]
    join = Join.of(walk, answers, frame.labels, phones, columns=columns, prefix=prefix)
    return join.beside(data, [column.index for column in walk.columns])


def status_counts(walk: Crosswalk, answers: Answers) -> Mapping[LookupStatus, int]:
    """Cells by status; every status is there, and they add up to rows times phone columns."""
    lookups, of_number = _lookups_of_numbers(walk, answers)
    cells = np.zeros(len(lookups), np.int64)
    for column in walk.columns:
        cells += np.bincount(of_number[column.index], minlength=len(lookups))
    return by_status(lookups, cells)


def by_status(lookups: Sequence[Lookup], cells: Int64s) -> Mapping[LookupStatus, int]:
    """Cells by status from the cells of each lookup; every status is there."""
    counts = Counter(dict.fromkeys(LookupStatus, 0))
    for lookup, count in zip(lookups, cells.tolist(), strict=True):
        counts[lookup.status] += count
    return dict(counts)


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Answers ready to be put beside the rows of any part of what was read.

    Attributes:
        names: of the new columns, phone column by phone column.
        texts: for each new column of a phone column, what each of the lookups puts there.
        lookups: what may stand beside a cell; `of_number` is each number's position among
            them, those of INVALID and MISSING last.
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]
    lookups: tuple[Lookup, ...]
    of_number: Int32s

    @classmethod
    def of(
        cls,
        demand: Demand,
        answers: Answers,
        labels: Sequence[Label],
        phones: Sequence[str],
        *,
        columns: str | Sequence[str] = DEFAULT_COLUMNS,
        prefix: str = "",
    ) -> Join:
        """The join of a demand with its answers, for rows with these column labels.

        Raises:
            BadInput: a name that can't be used.
        """
        names = new_names(labels, phones, columns, prefix)
        lookups, of_number = _lookups_of_numbers(demand, answers)
        texts = [
            tuple(getattr(lookup, field) or None for lookup in lookups)
            for field in fields_of(columns)
        ]
        texts.append(tuple(lookup.status.value for lookup in lookups))
        return cls(names, tuple(texts), lookups, of_number)

    def beside(self, data: Any, indexes: Sequence[Int64s]) -> Any:
        """A frame with the new columns, by the position of each cell's number, a phone column
        after the other.
        """
        cells = itertools.product(map(self._codes, indexes), self.texts)
        return frame_of(data).with_columns(
            [
                NewColumn(name, texts, codes)
                for name, (codes, texts) in zip(self.names, cells, strict=True)
            ]
        )

    def _codes(self, index: Int64s) -> Int32s:
        return np.concatenate(by_block(lambda rows: self.of_number[index[rows]], len(index)))

    def cells(self, indexes: Sequence[Int64s]) -> Int64s:
        """How many of these cells each of the lookups stands beside."""
        total = np.zeros(len(self.lookups), np.int64)
        for index in indexes:
            total += np.bincount(self.of_number[index], minlength=len(self.lookups))
        return total


def _lookups_of_numbers(demand: Demand, answers: Answers) -> tuple[tuple[Lookup, ...], Int32s]:
    """The lookups there are, and per number which is its own.

    Two more stand at the end, invalid and missing, where INVALID and MISSING find them.
    """
    not_checked, invalid, missing = range(len(answers.lookups), len(answers.lookups) + 3)
    of_number = np.empty(len(demand.numbers) + 2, np.int32)
    of_number[-2:] = invalid, missing
    if np.array_equal(answers.numbers, demand.numbers):
        of_number[:-2] = answers.codes
    else:
        order = np.argsort(answers.numbers, kind="stable")
        # Zero is no number: it stands first so that every number finds one that is not larger.
        numbers = np.concatenate([[0], answers.numbers[order]])
        codes = np.concatenate([[not_checked], answers.codes[order]])

        def fill(rows: slice) -> None:
            asked = demand.numbers[rows]
            at = np.searchsorted(numbers, asked, side="right") - 1
            of_number[rows] = np.where(numbers[at] == asked, codes[at], not_checked)

        by_block(fill, len(demand.numbers))
    ends = (LookupStatus.NOT_CHECKED, LookupStatus.INVALID, LookupStatus.MISSING)
    return (*answers.lookups, *map(Lookup, ends)), of_number
