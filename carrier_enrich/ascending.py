"""Sets of numbers as ascending arrays of distinct integers.

What numpy finds by sorting two sets together, a search in one of them finds many times sooner,
over all cores, and without copies of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.blocks import by_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int64s


def distinct(values: Int64s) -> Int64s:
    """The set of some values, which may repeat and come in any order."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def are_in(values: Int64s, numbers: Int64s) -> NDArray[np.bool_]:
    """Which of the values, whatever their order, are in the set `numbers`."""
    if not len(numbers):
        return np.zeros(len(values), np.bool_)

    def found(rows: slice) -> NDArray[np.bool_]:
        at = np.minimum(np.searchsorted(numbers, values[rows]), len(numbers) - 1)
        same: NDArray[np.bool_] = numbers[at] == values[rows]
        return same

    return np.concatenate(by_block(found, len(values)))


def common(one: Int64s, other: Int64s) -> Int64s:
    """The numbers of one set that are in the other as well."""
    return one[are_in(one, other)]


def without(one: Int64s, other: Int64s) -> Int64s:
    """The numbers of one set that are not in the other."""
    return one[~are_in(one, other)]
