"""The distinct numbers of a stream, each with its country."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.ascending import are_in

if TYPE_CHECKING:
    from carrier_enrich.model import Int16s, Int64s


@dataclass(slots=True)
class Register:
    """Numbers that were met, in sorted runs of which each is at least twice as long as the next.

    So every number is moved only a few times, however many batches come, and found by a search
    in a few runs.
    """

    _runs: list[tuple[Int64s, Int16s]] = field(default_factory=list)

    def add(self, numbers: Int64s, countries: Int16s) -> None:
        """Take up numbers, ascending and distinct, that may have been met before."""
        is_new = ~self.knows(numbers)
        run = numbers[is_new], countries[is_new]
        while self._runs and len(self._runs[-1][0]) < 2 * len(run[0]):
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)

    def knows(self, numbers: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these numbers, ascending, were met."""
        met = np.zeros(len(numbers), np.bool_)
        for run, _ in self._runs:
            met |= are_in(numbers, run)
        return met

    def all(self) -> tuple[Int64s, Int16s]:
        """Every number met, ascending, and the country of each."""
        whole: tuple[Int64s, Int16s] = np.empty(0, np.int64), np.empty(0, np.int16)
        while self._runs:
            whole = _merged(self._runs.pop(), whole)
        self._runs.append(whole)
        return whole


def _merged(one: tuple[Int64s, Int16s], other: tuple[Int64s, Int16s]) -> tuple[Int64s, Int16s]:
    at = np.searchsorted(one[0], other[0])
    return np.insert(one[0], at, other[0]), np.insert(one[1], at, other[1])
