"""The values that pass between the layers: frozen, typed, without behaviour of their own.

A phone number inside the package is an ``int``: the digits of its E.164 form. It has at most
15 digits, never a leading zero, so the integer and the text stand for each other exactly.
Money is an ``int`` of micros of USD (spec, Balance). Neither is ever a float.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from carrier_enrich.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As text, so that this module alone does not load numpy.
Int64s: TypeAlias = "NDArray[np.int64]"
Int32s: TypeAlias = "NDArray[np.int32]"
Int16s: TypeAlias = "NDArray[np.int16]"

#: What the service says of a number beyond its status (spec, Single check result).
FIELDS = ("carrier", "underlying_carrier", "number_type", "country_code", "region", "city")

#: Numbers per multi check (spec, Limits).
MULTI_CHECK_MAX = 100

#: Numbers per bulk task, at least (spec, Limits).
BULK_MIN = 1_000

#: Bytes per uploaded file (spec, Limits: max_file_bytes, default 20MB).
BULK_MAX_BYTES = 20_000_000


class LookupStatus(StrEnum):
    """What became of a row's phone number; every row has exactly one."""

    FOUND = "found"
    UNALLOCATED = "unallocated"
    UNDETERMINED = "undetermined"
    INVALID = "invalid"
    MISSING = "missing"
    NOT_CHECKED = "not_checked"
    CHARGE_UNKNOWN = "charge_unknown"


class Product(StrEnum):
    """Bulk product codes (spec, POST /api/v1/bulk-tasks)."""

    GLOBAL_CARRIER_BATCH = "global_carrier_batch"
    CARRIER_BATCH = "carrier_batch"

    @property
    def max_numbers(self) -> int:
        """Numbers per task, at most (spec, Limits)."""
        return 100_000 if self is Product.GLOBAL_CARRIER_BATCH else 500_000


class CallKind(StrEnum):
    """The three ways to buy answers."""

    SINGLE_CHECK = "single_check"
    MULTI_CHECK = "multi_check"
    BULK_TASK = "bulk_task"


class TaskStatus(StrEnum):
    """Bulk task status values (spec, States and transitions)."""

    PROCESSING = "processing"
    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Lookup:
    """What is known of one number; a text that the service left empty is None.

    `status` is found, unallocated, undetermined, invalid (the service refused the number
    itself) or charge_unknown.
    """

    status: LookupStatus
    carrier: str | None = None
    underlying_carrier: str | None = None
    number_type: str | None = None
    country_code: str | None = None
    region: str | None = None
    city: str | None = None


UNDETERMINED = Lookup(LookupStatus.UNDETERMINED)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Many numbers with what is known of each: ``lookups[codes[i]]`` belongs to ``numbers[i]``.

    The distinct lookups are few where the numbers are many, so this is how answers are
    read from files, stored, and joined.
    """

    numbers: Int64s
    codes: Int32s
    lookups: tuple[Lookup, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, Lookup]]) -> Answers:
        """The same from (number, lookup) pairs."""
        import numpy as np

        index: dict[Lookup, int] = {}
        numbers: list[int] = []
        codes: list[int] = []
        for number, lookup in pairs:
            numbers.append(number)
            codes.append(index.setdefault(lookup, len(index)))
        return cls(np.array(numbers, np.int64), np.array(codes, np.int32), tuple(index))

    def pairs(self) -> Iterable[tuple[int, Lookup]]:
        """Each number with its lookup, in order."""
        lookups = self.lookups
        return (
            (n, lookups[c]) for n, c in zip(self.numbers.tolist(), self.codes.tolist(), strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Countries:
    """The country of each of many numbers: ``names[codes[i]]``, ISO 3166-1 alpha-2.

    A code of -1 is no country: a number without one, or of a shared calling code.
    """

    codes: Int16s
    names: tuple[str, ...]

    def of(self, positions: NDArray[np.bool_] | Int64s) -> Countries:
        """The countries at these positions."""
        return Countries(self.codes[positions], self.names)


@dataclass(frozen=True, slots=True)
class BulkTask:
    """A bulk task as the service describes it (spec, Bulk task).

    A count that the answer does not carry is None. The link is left out of the repr: whoever
    holds it can read the file.
    """

    id: str
    product: str
    status: TaskStatus
    country: str
    total: int
    created_at: str
    success_cnt: int | None = None
    failure_cnt: int | None = None
    result_url: str | None = field(default=None, repr=False)
    submitted_lines: int | None = None
    invalid_cnt: int | None = None
    no_code_cnt: int | None = None
    other_country_cnt: int | None = None
    duplicate_cnt: int | None = None
    preparing: bool | None = None

    @property
    def excluded(self) -> int:
        """Numbers that the task left out without charge."""
        counts = (self.invalid_cnt, self.no_code_cnt, self.other_country_cnt, self.duplicate_cnt)
        return sum(count or 0 for count in counts)


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One purchase to make.

    Attributes:
        numbers: distinct E.164 integers, ascending.
        product: the bulk product, None for checks.
        country: ISO 3166-1 alpha-2 of a bulk task, None for checks.
        highest_cost: micros of USD, None where the price is not known.
    """

    kind: CallKind
    numbers: Int64s
    product: Product | None = None
    country: str | None = None
    highest_cost: int | None = None


def e164(number: int) -> str:
    """The E.164 text of a number: ``14155550123`` is ``+14155550123``."""
    return f"+{number}"


def masked(number: int | str) -> str:
    """A number that may stand in a log or an error: the first three and last two digits."""
    text = str(number).lstrip("+")
    return f"+{text[:3]}{'*' * max(0, len(text) - 5)}{text[-2:]}"


def micros_of_usd(amount: str | int | Decimal) -> int:
    """Micros of USD from an amount of USD, exactly.

    Raises:
        BadInput: not a number, negative, finer than a micro, or a float (which can't hold
            most amounts exactly: write ``"0.1"``).
    """
    if isinstance(amount, (bool, float)):
        raise BadInput(f"an amount of USD is text or a whole number, not {amount!r}: write '0.5'")
    try:
        micros = Decimal(amount) * 1_000_000
        whole = int(micros)
    except (InvalidOperation, ValueError, OverflowError):
        raise BadInput(f"not an amount of USD: {amount!r}") from None
    if whole != micros or whole < 0:
        raise BadInput(f"an amount of USD has at most six decimals and is not negative: {amount!r}")
    return whole


def usd(micros: int) -> str:
    """An amount as people read it: ``usd(1_500_000)`` is ``'$1.50'``, never rounded."""
    sign = "-" if micros < 0 else ""
    whole, rest = divmod(abs(micros), 1_000_000)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}${whole:,}.{decimals}"
