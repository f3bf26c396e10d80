"""Numbering plans: to which country and line type a number belongs.

The same verdicts as the public functions of `phonenumbers`, read once from its metadata into
compiled patterns, because half a million numbers of a bulk task are judged in one go.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
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
_LINE_TYPES = ("fixed_line", "mobile")
_EITHER = "fixed_line_or_mobile"
_ALL_TYPES = (*_SPECIAL_TYPES, *_LINE_TYPES, _EITHER)

#: A pattern that nothing matches.
_NOTHING = r"(?!)"

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
class _Region:
    """One country's patterns, joined to one per length of the national number.

    The alternatives of `types` stand in the order in which `phonenumbers` tries them, so the
    group that matched is the line type.
    """

    code: str
    leading: re.Pattern[str] | None
    lengths: frozenset[int]
    general: re.Pattern[str]
    types: Mapping[int, re.Pattern[str]]
    mobile: Mapping[int, re.Pattern[str]]
    plans: Mapping[str, Plan]

    @classmethod
    def of(cls, metadata: Any) -> _Region:
        general = metadata.general_desc
        lengths = [length for length in general.possible_length if length > 0]
        country = "" if metadata.id == _NO_COUNTRY else metadata.id
        return cls(
            code=metadata.id,
            leading=re.compile(metadata.leading_digits) if metadata.leading_digits else None,
            lengths=frozenset((*lengths, *general.possible_length_local_only)),
            general=re.compile(general.national_number_pattern or ""),
            types={n: _joined(metadata, (*_SPECIAL_TYPES, *_LINE_TYPES), n) for n in lengths},
            mobile={n: _joined(metadata, ("mobile",), n) for n in lengths},
            plans={name: Plan(country, name) for name in _ALL_TYPES},
        )

    def plan(self, national: str) -> Plan | None:
        """The verdict on a national number, None where it is not valid in this region."""
        types = self.types.get(len(national))
        if types is None or not self.general.fullmatch(national):
            return None
        found = types.fullmatch(national)
        if found is None:
            return None
        name = found.lastgroup or ""
        if name == "fixed_line" and self.mobile[len(national)].fullmatch(national):
            name = _EITHER
        return self.plans[name]


def _joined(metadata: Any, names: Iterable[str], length: int) -> re.Pattern[str]:
    """One pattern for all line types that a national number of this length can have."""
    descs = ((name, getattr(metadata, name)) for name in names)
    fitting = (
        f"(?P<{name}>{desc.national_number_pattern})"
        for name, desc in descs
        if desc is not None
        and desc.national_number_pattern
        and (not desc.possible_length or length in desc.possible_length)
    )
    return re.compile("|".join(fitting) or _NOTHING)


@functools.cache
def _regions(calling_code: int) -> tuple[_Region, ...]:
    codes = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(calling_code, ())
    if codes == (_NO_COUNTRY,):
        return (_Region.of(PhoneMetadata.metadata_for_nongeo_region(calling_code)),)
    found = (PhoneMetadata.metadata_for_region(code, None) for code in codes)
    return tuple(_Region.of(metadata) for metadata in found if metadata)


_CALLING_CODES = {str(code): code for code in phonenumbers.COUNTRY_CODE_TO_REGION_CODE}


def split(digits: str) -> tuple[int, str] | None:
    """Calling code and national number of E.164 digits, None where no calling code fits."""
    for length in range(1, _CALLING_CODE_DIGITS + 1):
        calling_code = _CALLING_CODES.get(digits[:length])
        if calling_code is not None:
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
    if len(regions) == 1:
        return regions[0].plan(national)
    for region in regions:
        if region.leading is None:
            plan = region.plan(national)
            if plan is not None:
                return plan
        elif region.leading.match(national):
            return region.plan(national)
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
