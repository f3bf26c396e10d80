"""To whom a number was allocated: what the sandbox answers for it.

Country, line type, place and, where the tables of `phonenumbers` know it, the carrier are
real. Where they know none, the carrier is made up from the number's block and says so by its
name ("Sandbox Wireless 3"). A function of the number and nothing else, so that a test can
compare what arrived with what must have been answered.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import phonenumbers

from carrier_enrich.sandbox.numbering import Plan, plan_of, split

#: A block is handed to one carrier: ten thousand numbers that differ in the last four digits.
_BLOCK_DIGITS = 4

_FAMILIES = {
    "mobile": "Wireless",
    "fixed_line": "Telecom",
    "voip": "Voice",
    "toll_free": "Freephone",
    "pager": "Paging",
}
_CARRIERS_PER_FAMILY = 9
_NETWORKS = 5
#: One block in twelve has another carrier's network underneath.
_UNDERLYING_EVERY = 12

_MOBILE_TYPES = frozenset({"mobile", "fixed_line_or_mobile", "pager"})
_PLACED_TYPES = frozenset({"mobile", "fixed_line", "fixed_line_or_mobile"})


@dataclass(frozen=True, slots=True)
class Allocation:
    """What is known of one number; empty texts where the service would leave them empty."""

    registered: bool
    carrier: str = ""
    underlying_carrier: str = ""
    number_type: str = ""
    country_code: str = ""
    region: str = ""
    city: str = ""


@dataclass(frozen=True, slots=True)
class _Table:
    """English names by the leading digits of a number; the longest prefix decides.

    Attributes:
        names: by prefix and language.
        lengths: of the prefixes that begin with these two digits, longest first.
    """

    names: Mapping[str, Mapping[str, str]]
    lengths: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, names: Mapping[str, Mapping[str, str]]) -> _Table:
        found: dict[str, set[int]] = {}
        for prefix in names:
            found.setdefault(prefix[:2], set()).add(len(prefix))
        return cls(names, {start: sorted(n, reverse=True) for start, n in found.items()})

    def name(self, digits: str) -> str:
        for length in self.lengths.get(digits[:2], ()):
            names = self.names.get(digits[:length])
            if names and names.get("en"):
                return names["en"]
        return ""


@dataclass(frozen=True, slots=True)
class _Tables:
    carriers: _Table
    places: _Table
    countries: Mapping[str, Mapping[str, str]]


UNREGISTERED = Allocation(registered=False)


@functools.cache
def load_tables() -> _Tables:
    """The tables of `phonenumbers`; most of what a sandbox loads, so not before they are used."""
    from phonenumbers.carrierdata import CARRIER_DATA
    from phonenumbers.geodata import GEOCODE_DATA
    from phonenumbers.geodata.locale import LOCALE_DATA

    return _Tables(_Table.of(CARRIER_DATA), _Table.of(GEOCODE_DATA), LOCALE_DATA)


def allocation_of(number: str) -> Allocation:
    """The allocation of an E.164 number, with or without its plus sign.

    A number that is possible but not valid is not registered. Where the tables leave open
    whether a number is fixed or mobile (as in the US), the made-up carrier decides.
    """
    digits = number.removeprefix("+")
    plan = plan_of(digits)
    if plan is None:
        return UNREGISTERED
    block = zlib.crc32(digits[:-_BLOCK_DIGITS].encode())
    known = _known_carrier(digits, plan)
    number_type = _settled_type(plan.number_type, block, has_carrier=bool(known))
    region, city = _place(digits, plan)
    return Allocation(
        registered=True,
        carrier=known or _invented_carrier(number_type, block),
        underlying_carrier=_underlying(block),
        number_type=number_type,
        country_code=plan.country,
        region=region,
        city=city,
    )


def is_undetermined(number: str, share: float) -> bool:
    """Whether a number is among the share (0 to 1) of which the sandbox can't tell anything."""
    digits = number.removeprefix("+")
    return zlib.crc32(b"undetermined" + digits.encode()) < share * 2**32


def _known_carrier(digits: str, plan: Plan) -> str:
    if plan.number_type not in _MOBILE_TYPES:
        return ""
    return load_tables().carriers.name(digits)


def _settled_type(number_type: str, block: int, *, has_carrier: bool) -> str:
    if number_type != "fixed_line_or_mobile":
        return number_type
    if has_carrier:
        return "mobile"  # the carrier table is one of mobile networks
    twentieth = (block >> 8) % 20
    if twentieth < 11:  # noqa: PLR2004 - eleven, seven and two in twenty
        return "mobile"
    return "fixed_line" if twentieth < 18 else "voip"  # noqa: PLR2004 - as above


def _invented_carrier(number_type: str, block: int) -> str:
    family = _FAMILIES.get(number_type, "Services")
    return f"Sandbox {family} {1 + block % _CARRIERS_PER_FAMILY}"


def _underlying(block: int) -> str:
    if (block >> 12) % _UNDERLYING_EVERY:
        return ""
    return f"Sandbox Network {1 + (block >> 20) % _NETWORKS}"


def _place(digits: str, plan: Plan) -> tuple[str, str]:
    """Region and city: of "Boston, MA" they are "MA" and "Boston"."""
    if plan.number_type not in _PLACED_TYPES:
        return "", ""
    place = load_tables().places.name(_without_mobile_token(digits))
    if not place:
        return _country_name(plan.country), ""
    city, comma, region = place.rpartition(", ")
    return (region, city) if comma else (place, "")


def _without_mobile_token(digits: str) -> str:
    """The digits as the place table has them: Argentina's mobile numbers carry a 9 first."""
    parts = split(digits)
    if parts is None:
        return digits
    calling_code, national = parts
    token = str(phonenumbers.country_mobile_token(calling_code))
    if token and national.startswith(token):
        return f"{calling_code}{national.removeprefix(token)}"
    return digits


def _country_name(country: str) -> str:
    names = load_tables().countries.get(country, {})
    name = str(names.get("en", ""))
    return str(names.get(name[1:], "")) if name.startswith("*") else name
