"""What `phonenumbers` knows of numbering plans, in the form that whole columns are read with.

Nothing is written down here: every figure and expression comes from the installed release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import phonenumbers
from numpy.typing import NDArray
from phonenumbers import (
    COUNTRY_CODE_TO_REGION_CODE,
    REGION_CODE_FOR_NON_GEO_ENTITY,
    PhoneMetadata,
    PhoneNumberDesc,
)

from carrier_enrich.phones.reasons import Reason

#: Digits of an E.164 number, at most; some plans describe longer ones, for use at home.
E164_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of numbers: an expression for all digits, and their possible counts (any if none)."""

    pattern: str
    lengths: frozenset[int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbering plan of one region. Expressions are for national digits.

    Attributes:
        region: ISO 3166-1 alpha-2, or 001.
        general: what every valid number is; of these kinds beside `mobile`, None where mobiles
            can't be told from fixed lines.
        local_lengths: counts of digits of numbers without their area code.
        leading: how numbers of this region begin among those that share its calling code.
        international_prefix: what is dialled before a calling code.
        trunk: what may be dialled before national digits.
        rewriting: what stands for a trunk prefix where its last group took part.
    """

    calling_code: int
    region: str
    general: Kind
    local_lengths: frozenset[int]
    kinds: tuple[Kind, ...]
    mobile: Kind | None
    leading: str
    international_prefix: str
    trunk: str
    rewriting: str

    @property
    def deciding_group(self) -> str:
        """A reference to the last group of `trunk`."""
        return rf"\{re.compile(self.trunk).groups}"

    def reason_of(self, length: int) -> Reason:
        """Whether numbers of so many national digits are possible, or why not."""
        if len(str(self.calling_code)) + length > E164_DIGITS:
            return Reason.TOO_LONG
        if length in self.local_lengths:
            return Reason.NO_AREA_CODE
        if length in self.general.lengths:
            return Reason.OK
        if length > max(self.general.lengths):
            return Reason.TOO_LONG
        return Reason.TOO_SHORT if length < min(self.general.lengths) else Reason.NOT_POSSIBLE

    def valid(self, length: int) -> str:
        """An expression for the valid numbers of so many digits, empty where there are none."""
        either = (self.valid_mobile(length), self.valid_other(length))
        return "|".join(filter(None, either))

    def valid_mobile(self, length: int) -> str:
        """The same for mobile numbers; some of them may be other numbers as well."""
        return self._valid((self.mobile,) if self.mobile else (), length)

    def valid_other(self, length: int) -> str:
        """The same for numbers of all other kinds."""
        return self._valid(self.kinds, length)

    def _valid(self, kinds: tuple[Kind, ...], length: int) -> str:
        if not _allows(self.general, length):
            return ""
        return "|".join(f"(?:{kind.pattern})" for kind in kinds if _allows(kind, length))


def _allows(kind: Kind, length: int) -> bool:
    return not kind.lengths or length in kind.lengths


@cache
def plan_of_region(region: str) -> Plan:
    """The plan of a region (ISO 3166-1 alpha-2)."""
    return _plan(PhoneMetadata.metadata_for_region(region))


@cache
def plans_of(calling_code: int) -> tuple[Plan, ...]:
    """The plans that share a calling code; the first says which numbers are possible."""
    regions = COUNTRY_CODE_TO_REGION_CODE[calling_code]
    if regions == (REGION_CODE_FOR_NON_GEO_ENTITY,):
        return (_plan(PhoneMetadata.metadata_for_nongeo_region(calling_code)),)
    return tuple(map(plan_of_region, regions))


@cache
def calling_codes() -> NDArray[np.int16]:
    """The calling code of each three leading digits, 0 where there is none."""
    codes = np.zeros(1000, np.int16)
    for code in COUNTRY_CODE_TO_REGION_CODE:
        span = 10 ** (3 - len(str(code)))
        codes[code * span : (code + 1) * span] = code
    codes.flags.writeable = False
    return codes


@cache
def region_names() -> tuple[str, ...]:
    """Every region that has a numbering plan, in alphabetical order."""
    return tuple(sorted(phonenumbers.SUPPORTED_REGIONS))


def _plan(metadata: PhoneMetadata | None) -> Plan:
    assert metadata is not None, "phonenumbers describes every region that it names"
    descriptions = [
        metadata.premium_rate,
        metadata.toll_free,
        metadata.shared_cost,
        metadata.voip,
        metadata.personal_number,
        metadata.pager,
        metadata.uan,
        metadata.voicemail,
        metadata.fixed_line,
    ]
    has_mobiles = not metadata.same_mobile_and_fixed_line_pattern
    general_desc = metadata.general_desc
    general = _kind(general_desc)
    assert general_desc is not None, "every plan has a general description"
    assert general is not None, "every general description has an expression"
    assert metadata.country_code is not None, "every plan has a calling code"
    return Plan(
        calling_code=metadata.country_code,
        region=metadata.id,
        general=general,
        local_lengths=frozenset(general_desc.possible_length_local_only),
        kinds=tuple(kind for kind in map(_kind, descriptions) if kind),
        mobile=_kind(metadata.mobile) if has_mobiles else None,
        leading=metadata.leading_digits or "",
        international_prefix=metadata.international_prefix or "",
        trunk=metadata.national_prefix_for_parsing or "",
        rewriting=metadata.national_prefix_transform_rule or "",
    )


def _kind(description: PhoneNumberDesc | None) -> Kind | None:
    if description is None or not description.national_number_pattern:
        return None
    return Kind(description.national_number_pattern, frozenset(description.possible_length))
