"""Arrow columns of digits: the few operations that reading phone numbers takes.

Arrow is loaded by whoever made the column; nothing here loads it on import.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

#: Every whole number of so many digits fits 64 bits.
_INT64_DIGITS = 18

Bools = NDArray[np.bool_]
#: An Arrow array of large strings; Arrow has no types to check against.
Texts = Any


def matches(texts: Texts, pattern: str) -> Bools:
    """Which texts hold a match; a null holds none."""
    import pyarrow.compute as pc

    found: Any = pc.match_substring_regex(texts, pattern)
    return np.asarray(found.fill_null(False), np.bool_)


def begins(texts: Texts, pattern: str) -> Bools:
    """Which texts begin with a match; none where there is no pattern."""
    if not pattern:
        return np.zeros(len(texts), np.bool_)
    return matches(texts, f"^(?:{pattern})")


def fits(texts: Texts, pattern: str) -> Bools:
    """Which texts are a match as a whole."""
    return matches(texts, f"^(?:{pattern})$")


def replaced(texts: Texts, pattern: str, by: str) -> Texts:
    r"""Texts with the match at their beginning replaced; ``\1`` stands for a group."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(texts, f"^(?:{pattern})", by, max_replacements=1)


def replaced_all(texts: Texts, pattern: str, by: str) -> Texts:
    """Texts with every match replaced."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(texts, pattern, by)


def composed(texts: Texts, where: Bools) -> Texts:
    """Texts with wide characters as ASCII has them, where chosen."""
    import pyarrow as pa
    import pyarrow.compute as pc

    usual: Any = pc.utf8_normalize(texts.filter(pa.array(where)), form="NFKC")
    return pc.replace_with_mask(texts, pa.array(where), usual)


def only_digits(texts: Texts) -> Texts:
    """Texts without anything but ASCII digits."""
    return replaced_all(texts, "[^0-9]+", "")


def chosen(where: Bools, texts: Texts, others: Texts) -> Texts:
    """Texts where chosen, the others elsewhere."""
    import pyarrow.compute as pc

    return pc.if_else(where, texts, others)


def put(texts: Texts, rows: Int64s, others: Texts) -> Texts:
    """Texts with others in some rows, which ascend."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = np.zeros(len(texts), np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(texts, pa.array(mask), others)


def sliced(texts: Texts, start: int) -> Texts:
    """Texts without their first characters."""
    import pyarrow.compute as pc

    return pc.utf8_slice_codeunits(texts, start)


def lengths(texts: Texts) -> Int64s:
    """Bytes of each text; a null has none."""
    import pyarrow.compute as pc

    counts: Any = pc.binary_length(texts)
    return np.asarray(counts.fill_null(0), np.int64)


def integers(digits: Texts, prefix: str = "0") -> Int64s:
    """Whole numbers from a prefix and digits, of which there may be none; 0 beyond 64 bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, between = (pa.scalar(text, pa.large_string()) for text in (prefix, ""))
    is_long = lengths(digits) + len(prefix) > _INT64_DIGITS
    if is_long.any():
        digits = put(digits, np.flatnonzero(is_long), pa.repeat(between, int(is_long.sum())))
    numbers = np.array(pc.binary_join_element_wise(first, digits, between).cast("int64"), np.int64)
    return np.where(is_long, 0, numbers)


def texts_of(numbers: Int64s) -> Texts:
    """Whole numbers as digits."""
    import pyarrow as pa

    return pa.array(numbers).cast(pa.large_string())


def groups(keys: NDArray[Any]) -> Iterator[tuple[int, Int64s]]:
    """Each distinct key with its rows, ascending."""
    order = np.argsort(keys, kind="stable")
    ends = np.flatnonzero(np.diff(keys[order])) + 1
    for rows in np.split(order, ends) if len(keys) else ():
        yield int(keys[rows[0]]), rows
