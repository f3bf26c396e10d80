"""Whole columns of numbers held against the numbering plans.

Each step does to many numbers what `phonenumbers` does to one, with its own expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from carrier_enrich.phones.digits import (
    Bools,
    Texts,
    begins,
    chosen,
    fits,
    groups,
    integers,
    lengths,
    put,
    replaced,
    sliced,
    texts_of,
)
from carrier_enrich.phones.plans import (
    Plan,
    calling_codes,
    plan_of_region,
    plans_of,
    region_names,
)
from carrier_enrich.phones.reasons import Reason

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

Places = NDArray[np.int16]
Reasons = NDArray[np.uint8]

REASONS = tuple(Reason)
#: Not a position in `REASONS`: only `reading` can say.
OPEN = 255
_OK = REASONS.index(Reason.OK)

# More digits than any number that fits 64 bits.
_LENGTH_MAX = 20


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What is known of numbers.

    Attributes:
        numbers: what they read as when they are written with a plus: +44 0 20 is +44 20.
        reasons: positions in `REASONS` by their counts of digits; open where not certain.
        is_valid, is_not_valid: of the possible numbers asked for, and of all asked for; both
            False where that is not certain.
    """

    numbers: Int64s
    reasons: Reasons
    is_valid: Bools
    is_not_valid: Bools
    regions: Places

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All of them."""
        return (self.numbers, self.reasons, self.is_valid, self.is_not_valid, self.regions)


def judge(numbers: Int64s, asks_validity: Bools) -> Judged:
    """What the numbering plans say of E.164 integers; of 0 nothing."""
    judged, shorter = _judge(numbers, asks_validity)
    rows = np.flatnonzero(shorter)
    if len(rows):
        again, still = _judge(shorter[rows], asks_validity[rows])
        again.reasons[still > 0] = OPEN
        again.is_valid[still > 0] = again.is_not_valid[still > 0] = False
        for one, other in zip(judged.columns, again.columns, strict=True):
            one[rows] = other
    return judged


def _judge(numbers: Int64s, asks_validity: Bools) -> tuple[Judged, Int64s]:
    """The same where a number reads as itself; elsewhere what it reads as, otherwise 0."""
    numbers, shorter = numbers.copy(), np.zeros(len(numbers), np.int64)
    reasons = np.full(len(numbers), OPEN, np.uint8)
    is_valid, is_not_valid = np.zeros((2, len(numbers)), np.bool_)
    regions = np.full(len(numbers), -1, np.int16)
    texts = texts_of(numbers)
    codes = calling_codes()[numbers // 10 ** np.maximum(lengths(texts) - 3, 0)]
    is_not_valid[(codes == 0) & (numbers > 0)] = True
    for code, group in groups(codes):
        if not code:
            continue
        plans = plans_of(code)
        national = sliced(texts.take(group), len(str(code)))
        counts = lengths(national)
        bare = without_optional_trunk(national, plans[0])
        is_stable = lengths(bare) == counts
        is_zero = numbers[group] % 10**counts == 0
        reasons[group] = np.where(is_stable & ~is_zero, _reasons_of_lengths(plans)[counts], OPEN)
        asked = asks_validity[group]
        regions[group], valid = _regions(national, plans, asked)
        is_valid[group] = valid & (reasons[group] == _OK)
        is_not_valid[group] = is_stable & asked & ~valid
        changed = np.flatnonzero(~is_stable)
        shorter[group[changed]] = integers(bare.take(changed), str(code))
    return Judged(numbers, reasons, is_valid, is_not_valid, regions), shorter


@cache
def _reasons_of_lengths(plans: tuple[Plan, ...]) -> Reasons:
    # Canada's +1 310 1234 is valid, and not possible by the first plan of its calling code.
    elsewhere = frozenset().union(*(plan.general.lengths for plan in plans[1:]))
    reasons = [plans[0].reason_of(length) for length in range(_LENGTH_MAX)]
    places = np.array(
        [
            OPEN if length in elsewhere and reason is not Reason.OK else REASONS.index(reason)
            for length, reason in enumerate(reasons)
        ],
        np.uint8,
    )
    places.flags.writeable = False
    return places


def _regions(national: Texts, plans: tuple[Plan, ...], asks: Bools) -> tuple[Places, Bools]:
    """The region of each number of one calling code, and which are valid of those asked for."""
    places = {name: place for place, name in enumerate(region_names())}
    regions = np.full(len(national), -1, np.int16)
    valid = np.zeros(len(national), np.bool_)
    left = np.arange(len(national))
    for plan in plans:
        if plan.leading:
            is_here = begins(national.take(left), plan.leading)
        elif len(plans) > 1:
            is_here = _is_valid(national.take(left), plan)
        else:
            is_here = np.ones(len(left), np.bool_)
        here = left[is_here]
        asked = here[asks[here]]
        valid[asked] = _is_valid(national.take(asked), plan)
        regions[here] = places.get(plan.region, -1)
        left = left[~is_here]
    return regions, valid


def _is_valid(national: Texts, plan: Plan) -> Bools:
    valid = np.zeros(len(national), np.bool_)
    for length, group in groups(lengths(national)):
        if kinds := plan.valid(length):
            same = national.take(group)
            valid[group] = fits(same, plan.general.pattern) & fits(same, kinds)
    return valid


def are_mobile(numbers: Int64s, regions: Places) -> Bools:
    """Which valid numbers, each of its region, are mobile numbers and nothing else."""
    found = np.zeros(len(numbers), np.bool_)
    for place, group in groups(regions):
        if place < 0:
            continue
        plan = plan_of_region(region_names()[place])
        national = sliced(texts_of(numbers[group]), len(str(plan.calling_code)))
        for length, same in groups(lengths(national)):
            some = national.take(same)
            is_other = fits(some, plan.valid_other(length))
            found[group[same]] = fits(some, plan.valid_mobile(length)) & ~is_other
    return found


def without_optional_trunk(digits: Texts, plan: Plan) -> Texts:
    """Digits without a trunk prefix, unless they look like a number with it and not without."""
    rows = np.flatnonzero(begins(digits, plan.trunk))
    if not len(rows):
        return digits
    written = digits.take(rows)
    bare = without_trunk(written, plan)
    counts = lengths(bare)
    is_enough = _in(counts, plan.general.lengths) | (counts > max(plan.general.lengths))
    spoils = fits(written, plan.general.pattern) & ~fits(bare, plan.general.pattern)
    drops = np.flatnonzero(is_enough & ~spoils)
    return put(digits, rows[drops], bare.take(drops))


def without_trunk(digits: Texts, plan: Plan) -> Texts:
    """Digits without the trunk prefix that they begin with, rewritten where the plan says so."""
    if not plan.trunk:
        return digits
    bare = replaced(digits, plan.trunk, "")
    if not plan.rewriting:
        return bare
    took_part = lengths(replaced(digits, plan.trunk, plan.deciding_group)) > lengths(bare)
    return chosen(took_part, replaced(digits, plan.trunk, plan.rewriting), bare)


def _in(counts: Int64s, allowed: frozenset[int]) -> Bools:
    return np.isin(counts, list(allowed))
