"""A result file → answers, joined by number alone.

Fast because nothing is done row by row in Python: texts arrive dictionary-encoded, their codes
are combined into one code per distinct lookup, and only those few become objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from carrier_enrich.ascending import are_in
from carrier_enrich.errors import BadResultFile
from carrier_enrich.model import FIELDS, Answers, Lookup, Product, masked
from carrier_enrich.results.archive import is_open_ended, members_of
from carrier_enrich.results.table import FLAGS, IDENTIFIER, table_of
from carrier_enrich.wire import lookup_of
from carrier_enrich.wire.envelope import storable

if TYPE_CHECKING:
    from carrier_enrich.model import Int32s, Int64s

_BYTES_PER_NUMBER = 1_024
_BYTES_BESIDE = 1 << 20

#: Combined codes of a row stay below this, and with that within an int64.
_PACKED_MAX = 2**62

_TRUE = ("true", "1", "yes", "t", "y")
_FALSE = ("false", "0", "no", "f", "n")


@dataclass(frozen=True, slots=True, eq=False)
class ResultFile:
    """What a result file says of the numbers that were asked for.

    Attributes:
        answers: each asked number that the file names, once, ascending.
        rows: data rows in the file.
        doubled: rows that repeat another one.
        foreign: rows about what was not asked for, or about no number at all.
    """

    answers: Answers
    rows: int
    doubled: int
    foreign: int


def max_bytes_of(numbers: int) -> int:
    """Bytes that the results of so many numbers can fill, generously."""
    return _BYTES_BESIDE + numbers * _BYTES_PER_NUMBER


def read_result(
    path: Path, asked: Int64s, *, product: Product, expected: int | None = None
) -> ResultFile:
    """The answers in the result file of a bulk task (spec, Bulk task).

    A CSV or a ZIP of them, decided by content. `wire.lookup_of` tells found from unallocated.

    Args:
        asked: the distinct numbers of the task, ascending.
        product: whose task it was, for messages: the content decides how it is read.
        expected: how many numbers the task checked successfully, where that is known. A CSV
            with fewer, whose last row has no line end, was cut in that row: it is left out.

    Raises:
        BadResultFile: it can't be read as the answers that were bought, or says two things of
            one number. The file stays as it is.
    """
    try:
        return _read(path, asked, expected)
    except BadResultFile as error:
        raise BadResultFile(f"the {product} result file {path.name}: {error}") from None


def _read(path: Path, asked: Int64s, expected: int | None) -> ResultFile:
    numbers, codes, lookups = _rows(path, max_bytes_of(len(asked)))
    result = _result(numbers, codes, lookups, asked)
    if expected is not None and len(result.answers) < expected and is_open_ended(path):
        return _result(numbers[:-1], codes[:-1], lookups, asked)
    return result


def _rows(path: Path, max_bytes: int) -> tuple[Int64s, Int32s, tuple[Lookup, ...]]:
    """Every data row: its number (0 for none), its lookup's code, and the lookups."""
    lookups: dict[Lookup, int] = {}
    numbers: list[Int64s] = []
    codes: list[Int32s] = []
    with members_of(path, max_bytes) as members, ThreadPoolExecutor(1) as beside:
        for member in members:
            table = table_of(member)
            if table is not None:
                read = beside.submit(_numbers, table.column(IDENTIFIER))
                codes.append(_codes(table, lookups))
                numbers.append(read.result())
    if not numbers:
        raise BadResultFile("there is no table with an identifier and lookup columns in it")
    return np.concatenate(numbers), np.concatenate(codes), tuple(lookups)


def _result(
    numbers: Int64s, codes: Int32s, lookups: tuple[Lookup, ...], asked: Int64s
) -> ResultFile:
    rows = len(numbers)
    numbers, codes = _ordered(numbers, codes, len(lookups))
    ours = are_in(numbers, asked)
    numbers, codes = numbers[ours], codes[ours]
    repeats = numbers[1:] == numbers[:-1]
    differing = numbers[1:][repeats & (codes[1:] != codes[:-1])]
    if len(differing):
        raise BadResultFile(
            f"it says two different things of a number, {len(differing)} times; "
            f"first of {masked(int(differing[0]))}"
        )
    once = np.concatenate([np.ones(min(1, len(numbers)), np.bool_), ~repeats])
    return ResultFile(
        answers=Answers(numbers[once], codes[once], lookups),
        rows=rows,
        doubled=int(np.count_nonzero(repeats)),
        foreign=rows - len(numbers),
    )


def _ordered(numbers: Int64s, codes: Int32s, lookups: int) -> tuple[Int64s, Int32s]:
    """Both in the order of the numbers."""
    bits = lookups.bit_length()
    if numbers.min(initial=0) >= 0 and numbers.max(initial=0) < _PACKED_MAX >> bits:
        # One integer each is sorted several times sooner.
        packed = np.sort((numbers << bits) + codes)
        return packed >> bits, (packed & ((1 << bits) - 1)).astype(np.int32)
    order = np.argsort(numbers)
    return numbers[order], codes[order]


def _numbers(identifiers: Any) -> Int64s:
    """The integers of a text column, with or without a plus; 0 where there is no number."""
    digits = pc.utf8_ltrim(pc.utf8_trim_whitespace(identifiers), "+")
    # A leading zero would vanish in the integer, and stand for another number.
    if not pc.any(pc.starts_with(digits, "0")).as_py():
        try:
            return _integers(digits)
        except pa.ArrowInvalid:
            pass  # not digits alone, so the slower way
    digits = pc.replace_substring_regex(digits, r"\.0+$|[\s()-]", "")
    is_number = pc.match_substring_regex(digits, "^[1-9][0-9]{0,14}$")
    return _integers(pc.if_else(is_number, digits, "0"))


def _integers(digits: Any) -> Int64s:
    numbers: Int64s = pc.cast(digits, pa.int64()).to_numpy()
    return numbers


def _codes(table: pa.Table, lookups: dict[Lookup, int]) -> Int32s:
    """For each row the code of its lookup; adds the lookups that are new."""
    names = [name for name in (*FIELDS, *FLAGS) if name in table.column_names]
    columns: list[Any] = [table.column(name).combine_chunks() for name in names]
    values = [[storable(text) for text in column.dictionary.to_pylist()] for column in columns]
    keys, of_row = _distinct([column.indices.to_numpy() for column in columns])
    codes = np.empty(len(keys), np.int32)
    for place, key in enumerate(keys):
        texts = dict(zip(names, map(getitem, values, key), strict=True))
        flags = {name: _flag(name, texts.pop(name, None)) for name in FLAGS}
        codes[place] = lookups.setdefault(lookup_of(texts, **flags), len(lookups))
    return codes[of_row]


def _distinct(columns: Sequence[Int32s]) -> tuple[list[tuple[int, ...]], Int32s]:
    """The distinct rows of columns of codes, and for each row which of them it is."""
    sizes = [1 + int(codes.max(initial=0)) for codes in columns]
    if math.prod(sizes) > _PACKED_MAX:
        half = len(columns) // 2
        (lefts, left), (rights, right) = _distinct(columns[:half]), _distinct(columns[half:])
        pairs, of_row = _distinct([left, right])
        return [(*lefts[one], *rights[other]) for one, other in pairs], of_row
    packed = np.zeros(len(columns[0]), np.int64)
    for codes, size in zip(columns, sizes, strict=True):
        packed *= size
        packed += codes
    encoded: Any = pa.array(packed).dictionary_encode()
    unpacked = np.unravel_index(encoded.dictionary.to_numpy(), sizes)
    keys = list(zip(*(codes.tolist() for codes in unpacked), strict=True))
    return keys, encoded.indices.to_numpy()


def _flag(name: str, text: str | None) -> bool | None:
    word = (text or "").strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if word:
        raise BadResultFile(f"its column {name} says neither true nor false")
    return None
