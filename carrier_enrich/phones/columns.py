"""Whole columns of phone texts, read with a few passes over all of them.

This is `phone_reading` for the texts that most columns consist of: digits with spaces, dots,
dashes, brackets and a slash, with or without a plus. Whatever else there is, and whatever is
not certain, is left open for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.digit_columns import (
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
from carrier_enrich.number_columns import (
    OPEN,
    REASONS,
    Places,
    Reasons,
    judge,
    without_optional_trunk,
    without_trunk,
)
from carrier_enrich.numbering_plans import Plan, plan_of_region, region_names
from carrier_enrich.phone_reasons import Reason

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

_OK, _NO_COUNTRY, _TOO_LONG = map(REASONS.index, (Reason.OK, Reason.NO_COUNTRY, Reason.TOO_LONG))

# Fewer digits are rare; among more, a spaced dash may part two numbers.
_DIGITS_MIN, _DIGITS_MAX = 7, 13
# After seven digits, a slash would part two numbers.
_GAP = r"[ ().\[\]-]"
_PLAIN = rf"^'?{_GAP}*\+?(?:(?:{_GAP}*[0-9]){{1,6}}{_GAP}*/)?[0-9 ().\[\]-]{{1,40}}$"
# A whole number that passed through a float.
_FLOAT = r" *('?\+?[1-9][0-9]*)\.0 *$"
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
    """Read what can be read at once.

    Args:
        texts: an Arrow array of large strings; nulls are left open.
        countries: the default country beside each as a position in `region_names`, or -1.
    """
    rows = np.flatnonzero(matches(texts, _PLAIN))
    plain = replaced(texts.take(rows), _FLOAT, r"\1")
    digits = only_digits(plain)
    counts = lengths(digits)
    usual = np.flatnonzero((counts >= _DIGITS_MIN) & (counts <= _DIGITS_MAX))
    rows, plain, digits = rows[usual], plain.take(usual), digits.take(usual)
    has_plus = matches(plain, r"\+")
    numbers, reasons, regions = _read(digits, has_plus, countries[rows])
    # Where this was no number, a zero in brackets is yet to be left out.
    reasons[(reasons != _OK) & matches(plain, _ZERO_IN_BRACKETS)] = OPEN
    done = reasons != OPEN
    return Settled(rows[done], numbers[done], reasons[done], regions[done])


def _read(digits: Texts, has_plus: Bools, countries: Places) -> tuple[Int64s, Reasons, Places]:
    """Numbers, reasons (open where not certain) and regions of digits."""
    has_country = ~has_plus & (countries >= 0)
    has_prefix = begins(digits, _PREFIX)
    has_zero = begins(digits, "0")
    numbers = np.zeros(len(digits), np.int64)
    for country, group in groups(np.where(has_country, countries, -1)):
        some = digits.take(group)
        if country < 0:
            numbers[group] = _international(some, has_plus[group])
        else:
            numbers[group] = _national(some, plan_of_region(region_names()[country]))
    # These count where they are valid; anything else is read in more than one way.
    is_doubtful = ~has_plus & (~has_country | has_prefix)
    judged = judge(numbers, is_doubtful)
    regions = judged.regions
    reasons = np.where(is_doubtful & ~judged.is_valid, OPEN, judged.reasons).astype(np.uint8)
    is_local = np.where(has_zero, ~has_prefix, judged.is_not_valid)
    reasons[~has_plus & ~has_country & is_local] = _NO_COUNTRY

    # What is too long for its default country may be a number of another.
    again = np.flatnonzero((reasons == _TOO_LONG) & has_country & ~has_zero)
    foreign = integers(digits.take(again))
    abroad = judge(foreign, np.ones(len(again), np.bool_))
    numbers[again], regions[again] = foreign, abroad.regions
    reasons[again] = np.where(abroad.is_valid, _OK, np.where(abroad.is_not_valid, _TOO_LONG, OPEN))
    is_read = reasons == _OK
    return np.where(is_read, numbers, 0), reasons, np.where(is_read, regions, -1).astype(np.int16)


def _international(digits: Texts, has_plus: Bools) -> Int64s:
    """E.164 integers of digits that begin with a calling code or a prefix before it, or 0."""
    digits = chosen(has_plus, digits, replaced(digits, _PREFIX, ""))
    return np.where(begins(digits, "0"), 0, integers(digits))


def _national(digits: Texts, plan: Plan) -> Int64s:
    """E.164 integers of digits as dialled within a country, 0 where that is not certain."""
    code = str(plan.calling_code)
    is_too_long = lengths(digits) > max(plan.general.lengths)
    has_code = begins(digits, code)
    rest = sliced(digits, len(code))
    is_coded = has_code & is_too_long & (lengths(without_trunk(rest, plan)) == lengths(rest))
    is_uncoded = ~has_code | (fits(digits, plan.general.pattern) & ~is_too_long)
    national = chosen(is_coded, rest, without_optional_trunk(digits, plan))
    numbers = np.where(is_coded | is_uncoded, integers(national, code), 0)

    abroad = np.flatnonzero(begins(digits, plan.international_prefix))
    after = replaced(digits.take(abroad), plan.international_prefix, "")
    numbers[abroad] = np.where(begins(after, "0"), 0, integers(after))
    return numbers
