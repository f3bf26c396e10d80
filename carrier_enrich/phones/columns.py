"""Whole columns of phone texts, read with a few passes over all of them.

This is `reading` for the texts that most columns consist of (see `plain`). Whatever else there
is, and whatever is not certain, is left open for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from carrier_enrich.blocks import by_block
from carrier_enrich.phones.digits import (
    Bools,
    Texts,
    begins,
    chosen,
    fits,
    groups,
    integers,
    lengths,
    matches,
    only_digits,
    replaced,
    sliced,
)
from carrier_enrich.phones.judging import (
    OPEN,
    REASONS,
    Places,
    Reasons,
    are_mobile,
    judge,
    without_optional_trunk,
    without_trunk,
)
from carrier_enrich.phones.plain import plain_texts
from carrier_enrich.phones.plans import E164_DIGITS, Plan, plan_of_region, region_names
from carrier_enrich.phones.reasons import Reason

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

_OK, _AMBIGUOUS, _NO_COUNTRY, _TOO_LONG = map(
    REASONS.index, (Reason.OK, Reason.AMBIGUOUS, Reason.NO_COUNTRY, Reason.TOO_LONG)
)

# Fewer digits are rare; more than a prefix and the longest number are no number.
_DIGITS_MIN, _DIGITS_MAX = 7, 18
# Among more digits, a spaced dash may part two numbers.
_UNPARTED_MAX = 13
_ZERO_IN_BRACKETS = r"\(0\)"
_PREFIX = "0011|011|00"


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What could be read at once.

    Attributes:
        rows: positions of the texts that are settled, ascending.
        numbers: their E.164 integers, 0 where there is none.
        reasons: positions in `REASONS`.
        regions: their regions as positions in `region_names`, -1 where there is none.
    """

    rows: Int64s
    numbers: Int64s
    reasons: Reasons
    regions: Places

    def left(self, count: int) -> Int64s:
        """The other positions among so many texts."""
        is_left = np.ones(count, np.bool_)
        is_left[self.rows] = False
        return np.flatnonzero(is_left)


def settle(texts: Texts, countries: Places) -> Settled:
    """Read what can be read at once, a block a core: Arrow's expressions run beside each other.

    Args:
        texts: an Arrow array of large strings; nulls are left open.
        countries: the default country beside each as a position in `region_names`, or -1.
    """
    return _in_blocks(_settle, texts, countries)


def settle_e164(numbers: Int64s) -> Settled:
    """The same of E.164 integers, as if each was written with a plus."""
    return _in_blocks(_settle_e164, numbers)


def _in_blocks(work: Callable[..., Settled], *columns: Any) -> Settled:
    def settled(block: slice) -> tuple[int, Settled]:
        return block.start, work(*(column[block] for column in columns))

    parts = by_block(settled, len(columns[0]))
    return Settled(
        np.concatenate([part.rows + start for start, part in parts]),
        np.concatenate([part.numbers for _, part in parts]),
        np.concatenate([part.reasons for _, part in parts]),
        np.concatenate([part.regions for _, part in parts]),
    )


def _settle_e164(numbers: Int64s) -> Settled:
    judged = judge(numbers, np.zeros(len(numbers), np.bool_))
    is_read = judged.reasons == _OK
    rows = np.flatnonzero(judged.reasons != OPEN)
    return Settled(
        rows,
        np.where(is_read, judged.numbers, 0)[rows],
        judged.reasons[rows],
        np.where(is_read, judged.regions, -1).astype(np.int16)[rows],
    )


def _settle(texts: Texts, countries: Places) -> Settled:
    rows, plain = plain_texts(texts)
    digits = only_digits(plain)
    counts = lengths(digits)
    is_whole = (counts <= _UNPARTED_MAX) | ~matches(plain, " - ")
    usual = np.flatnonzero((counts >= _DIGITS_MIN) & (counts <= _DIGITS_MAX) & is_whole)
    rows, plain, digits = rows[usual], plain.take(usual), digits.take(usual)
    has_plus = matches(plain, r"\+")
    numbers, reasons, regions = _read(digits, has_plus, countries[rows])
    # Where this was no number, a zero in brackets is yet to be left out.
    reasons[(reasons != _OK) & matches(plain, _ZERO_IN_BRACKETS)] = OPEN
    done = reasons != OPEN
    return Settled(rows[done], numbers[done], reasons[done], regions[done])


def _read(digits: Texts, has_plus: Bools, countries: Places) -> tuple[Int64s, Reasons, Places]:
    """Numbers, reasons (open where not certain) and regions of digits."""
    is_home = ~has_plus & (countries >= 0)
    home, other = np.flatnonzero(is_home), np.flatnonzero(~is_home)
    numbers = np.zeros(len(digits), np.int64)
    reasons = np.zeros(len(digits), np.uint8)
    regions = np.zeros(len(digits), np.int16)
    for rows, parts in (
        (home, _read_at_home(digits.take(home), countries[home])),
        (other, _read_anywhere(digits.take(other), has_plus[other])),
    ):
        numbers[rows], reasons[rows], regions[rows] = parts
    is_read = reasons == _OK
    return np.where(is_read, numbers, 0), reasons, np.where(is_read, regions, -1).astype(np.int16)


def _read_anywhere(digits: Texts, has_plus: Bools) -> tuple[Int64s, Reasons, Places]:
    """The same of digits with a plus, or without a default country."""
    numbers = _international(digits, has_plus)
    judged = judge(numbers, ~has_plus)
    reasons = np.where(has_plus | judged.is_valid, judged.reasons, OPEN).astype(np.uint8)
    has_prefix = begins(digits, _PREFIX)
    reasons[~has_plus & begins(digits, "0") & ~has_prefix] = _NO_COUNTRY
    is_refused = ~has_plus & judged.is_not_valid
    reasons[is_refused & (~begins(digits, "0") | begins(digits, "011"))] = _NO_COUNTRY
    is_dialled = is_refused & begins(digits, "00")
    reasons[is_dialled] = judged.reasons[is_dialled]
    reasons[(reasons == _NO_COUNTRY) & (lengths(digits) > E164_DIGITS)] = _TOO_LONG
    return judged.numbers, reasons, judged.regions


def _read_at_home(digits: Texts, countries: Places) -> tuple[Int64s, Reasons, Places]:
    """The same of digits without a plus, beside default countries."""
    national = np.zeros(len(digits), np.int64)
    has_code = np.zeros(len(digits), np.bool_)
    for country, group in groups(countries):
        plan = plan_of_region(region_names()[country])
        some = digits.take(group)
        national[group] = _national(some, plan)
        has_code[group] = begins(some, f"(?:011)?{plan.calling_code}")
    has_prefix = begins(digits, _PREFIX)
    home = judge(national, has_code | has_prefix)
    national = home.numbers
    is_refused = home.is_not_valid | (home.reasons == _TOO_LONG)

    foreign = _international(digits, np.zeros(len(digits), np.bool_))
    is_twofold = (has_code | has_prefix) & (national != foreign)
    is_twofold |= (home.reasons == _TOO_LONG) & (foreign > 0)
    rows = np.flatnonzero(is_twofold)
    abroad = judge(foreign[rows], np.ones(len(rows), np.bool_))
    foreign[rows] = abroad.numbers
    is_twofold &= national != foreign
    is_valid, is_not_valid = np.zeros((2, len(digits)), np.bool_)
    is_valid[rows], is_not_valid[rows] = abroad.is_valid, abroad.is_not_valid
    regions = np.full(len(digits), -1, np.int16)
    regions[rows] = abroad.regions

    # The national reading stands where it may, and the international one does not matter.
    is_dialled_first = has_prefix & ~begins(digits, "00(?:[^1]|1[^1])")
    stands = home.is_valid | (~has_prefix & (is_refused | ~is_twofold))
    stands &= ~is_twofold | is_not_valid | is_dialled_first
    is_foreign = is_valid & is_refused & (has_code | ~begins(digits, "011"))
    reasons = np.where(is_foreign, _OK, np.where(stands, home.reasons, OPEN)).astype(np.uint8)

    both = np.flatnonzero(is_twofold & home.is_valid & is_valid & ~has_prefix)
    is_mobile = are_mobile(foreign[both], regions[both])
    is_foreign[both] = is_mobile
    is_clear = is_mobile != are_mobile(national[both], home.regions[both])
    reasons[both] = np.where(is_clear, _OK, _AMBIGUOUS)
    regions = np.where(is_foreign, regions, home.regions)
    return np.where(is_foreign, foreign, national), reasons, regions


def _international(digits: Texts, has_plus: Bools) -> Int64s:
    """E.164 integers of digits that begin with a calling code or a prefix before it, or 0."""
    digits = chosen(has_plus, digits, replaced(digits, _PREFIX, ""))
    return np.where(begins(digits, "0"), 0, integers(digits))


def _national(digits: Texts, plan: Plan) -> Int64s:
    """E.164 integers of digits as dialled within a country, 0 where that is not certain."""
    code = str(plan.calling_code)
    is_too_long = lengths(digits) > max(plan.general.lengths)
    is_whole = fits(digits, plan.general.pattern)
    has_code = begins(digits, code)
    rest = sliced(digits, len(code))
    is_stable = lengths(without_trunk(rest, plan)) == lengths(rest)
    is_better = ~is_whole & fits(rest, plan.general.pattern)
    is_coded = has_code & is_stable & (is_too_long | is_better)
    is_uncoded = ~has_code | (~is_too_long & (is_whole | (is_stable & ~is_better)))
    national = chosen(is_coded, rest, without_optional_trunk(digits, plan))
    numbers = np.where(is_coded | is_uncoded, integers(national, code), 0)

    abroad = np.flatnonzero(begins(digits, plan.international_prefix))
    after = replaced(digits.take(abroad), plan.international_prefix, "")
    numbers[abroad] = np.where(begins(after, "0"), 0, integers(after))
    return numbers
