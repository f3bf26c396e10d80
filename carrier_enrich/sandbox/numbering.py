"""Numbering plans: to which country and line type a number belongs.

The same verdicts as the public functions of `phonenumbers`, read once from its metadata into
compiled patterns, because half a million numbers of a bulk task are judged in one go.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import phonenumbers
from phonenumbers import PhoneMetadata

#: Line types in the order in which `phonenumbers` decides between them.
_SPECIAL_TYPES = (
    "premium_rate",
    "toll_free",
    "shared_cost",
    "voip",
    "personal_number",
    "pager",
    "uan",
    "voicemail",
)

#: A calling code has at most three digits, an E.164 number at most fifteen.
_CALLING_CODE_DIGITS = 3
_E164_DIGITS = 15

#: The region of numbers that belong to no country (ISO 3166-1 has no code for it).
_NO_COUNTRY = "001"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a valid number belongs.

    Attributes:
        country: ISO 3166-1 alpha-2 code; empty for numbers of no country, such as +800.
        number_type: ``"fixed_line"``, ``"mobile"``, ``"fixed_line_or_mobile"``, ``"toll_free"``...
    """

    country: str
    number_type: str


@dataclass(frozen=True, slots=True)
class _Pattern:
    lengths: frozenset[int]
    national: re.Pattern[str]

    @classmethod
    def of(cls, desc: Any) -> _Pattern | None:
        if desc is None or not desc.national_number_pattern:
            return None
        return cls(frozenset(desc.possible_length), re.compile(desc.national_number_pattern))

    def fits(self, national: str) -> bool:
        if self.lengths and len(national) not in self.lengths:
            return False
        return self.national.fullmatch(national) is not None


@dataclass(frozen=True, slots=True)
class _Region:
    code: str
    leading: re.Pattern[str] | None
    lengths: frozenset[int]
    general: _Pattern | None
    special: tuple[tuple[str, _Pattern], ...]
    fixed: _Pattern | None
    mobile: _Pattern | None
    one_pattern: bool

    @classmethod
    def of(cls, metadata: Any) -> _Region:
        special = ((name, _Pattern.of(getattr(metadata, name))) for name in _SPECIAL_TYPES)
        general = metadata.general_desc
        leading = metadata.leading_digits
        return cls(
            code=metadata.id,
            leading=re.compile(leading) if leading else None,
            lengths=frozenset((*general.possible_length, *general.possible_length_local_only)),
            general=_Pattern.of(general),
            special=tuple((name, pattern) for name, pattern in special if pattern),
            fixed=_Pattern.of(metadata.fixed_line),
            mobile=_Pattern.of(metadata.mobile),
            one_pattern=bool(metadata.same_mobile_and_fixed_line_pattern),
        )

    def number_type(self, national: str) -> str | None:
        """The line type, None where the number is not valid in this region."""
        if self.general is None or not self.general.fits(national):
            return None
        for name, pattern in self.special:
            if pattern.fits(national):
                return name
        is_fixed = self.fixed is not None and self.fixed.fits(national)
        if is_fixed and self.one_pattern:
            return "fixed_line_or_mobile"
        is_mobile = self.mobile is not None and self.mobile.fits(national)
        if is_fixed:
            return "fixed_line_or_mobile" if is_mobile else "fixed_line"
        return "mobile" if is_mobile else None


@functools.cache
def _regions(calling_code: int) -> tuple[_Region, ...]:
    codes = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(calling_code, ())
    if codes == (_NO_COUNTRY,):
        return (_Region.of(PhoneMetadata.metadata_for_nongeo_region(calling_code)),)
    found = (PhoneMetadata.metadata_for_region(code, None) for code in codes)
    return tuple(_Region.of(metadata) for metadata in found if metadata)


def split(digits: str) -> tuple[int, str] | None:
    """Calling code and national number of E.164 digits, None where no calling code fits."""
    if digits.startswith("0"):
        return None
    for length in range(1, _CALLING_CODE_DIGITS + 1):
        calling_code = int(digits[:length] or 0)
        if calling_code in phonenumbers.COUNTRY_CODE_TO_REGION_CODE:
            return calling_code, digits[length:]
    return None


def is_possible(digits: str) -> bool:
    """Whether E.164 digits (no plus sign) have a calling code and a length that goes with it."""
    parts = split(digits)
    if parts is None or len(digits) > _E164_DIGITS:
        return False
    calling_code, national = parts
    regions = _regions(calling_code)
    return bool(regions) and len(national) in regions[0].lengths


def plan_of(digits: str) -> Plan | None:
    """Country and line type of E.164 digits (no plus sign), None where the number is not valid."""
    parts = split(digits)
    if parts is None:
        return None
    calling_code, national = parts
    regions = _regions(calling_code)
    for region in regions:
        if len(regions) > 1 and region.leading is not None:
            if not region.leading.match(national):
                continue
            number_type = region.number_type(national)
        else:
            number_type = region.number_type(national)
            if number_type is None:
                continue
        if number_type is None:
            return None
        return Plan("" if region.code == _NO_COUNTRY else region.code, number_type)
    return None


def is_country(code: str) -> bool:
    """Whether a text is an ISO 3166-1 alpha-2 code that has a numbering plan."""
    return code in phonenumbers.SUPPORTED_REGIONS


def calling_code_of(country: str) -> int:
    """The calling code of a country (ISO 3166-1 alpha-2)."""
    return int(phonenumbers.country_code_for_region(country))


def completed(text: str, country: str) -> str | None:
    """E.164 digits of a number written without its country code, None where that is impossible."""
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    digits = str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))[1:]
    return digits if is_possible(digits) else None
