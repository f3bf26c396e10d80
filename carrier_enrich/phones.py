"""Raw phone values to canonical numbers, or the reason why not.

The rules are those of `phone_reading`; what a raw cell becomes as text is in `phone_text`.
Values are distinct ones: the caller keeps which row holds which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import phonenumbers

from carrier_enrich.errors import BadInput
from carrier_enrich.phone_reading import read
from carrier_enrich.phone_reasons import Reason
from carrier_enrich.phone_text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int64s

__all__ = ["Normalised", "Reason", "normalise", "text_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Normalised:
    """What each raw value became, in the order of the values.

    Attributes:
        numbers: the E.164 digits as integers, 0 where there is no number.
        reasons: positions in ``tuple(Reason)``; 0 is OK.
        regions: positions in `region_names`, -1 where unknown or not geographic.
        region_names: ISO 3166-1 alpha-2, the same in every result.
    """

    numbers: Int64s
    reasons: NDArray[np.uint8]
    regions: NDArray[np.int16]
    region_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.numbers)


def normalise(
    values: Sequence[str | None], country: str | Sequence[str | None] | None = None
) -> Normalised:
    """Canonical numbers of distinct raw texts.

    Args:
        values: the raw texts (see `text_of` for other cells).
        country: completes numbers written without a calling code; ISO 3166-1 alpha-2, one for
            all values or one beside each.

    Raises:
        BadInput: a country that has no numbering plan, or not one country beside each value.
    """
    countries = _countries(len(values), country)
    names = _region_names()
    places = {name: place for place, name in enumerate(names)}
    reason_places = {reason: place for place, reason in enumerate(Reason)}
    numbers = np.zeros(len(values), np.int64)
    reasons = np.zeros(len(values), np.uint8)
    regions = np.full(len(values), -1, np.int16)
    for i, (value, default) in enumerate(zip(values, countries, strict=True)):
        reading = read(value, default)
        numbers[i] = reading.number
        reasons[i] = reason_places[reading.reason]
        if reading.region is not None:
            regions[i] = places[reading.region]
    return Normalised(numbers, reasons, regions, names)


@cache
def _region_names() -> tuple[str, ...]:
    return tuple(sorted(phonenumbers.SUPPORTED_REGIONS))


def _countries(count: int, country: str | Sequence[str | None] | None) -> Sequence[str | None]:
    countries = [country] * count if country is None or isinstance(country, str) else country
    if len(countries) != count:
        raise BadInput(f"{len(countries)} countries beside {count} values")
    checked = {
        c: _checked(c) for c in {*countries, *([country] if isinstance(country, str) else [])}
    }
    return [checked[c] for c in countries]


def _checked(country: str | None) -> str | None:
    if country is None:
        return None
    code = country.upper()
    if code not in phonenumbers.SUPPORTED_REGIONS:
        raise BadInput(f"not an ISO 3166-1 alpha-2 country with phone numbers: {country!r}")
    return code
