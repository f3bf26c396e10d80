"""Raw phone values to canonical numbers, or the reason why not.

The rules are those of `reading`. Many values are read at once by `columns`, with the same
result; what that leaves open is read one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import phonenumbers

from carrier_enrich.errors import BadInput
from carrier_enrich.model import Countries, e164
from carrier_enrich.phones.columns import Settled, settle, settle_e164
from carrier_enrich.phones.countries import country_code
from carrier_enrich.phones.digits import integers, matches, sliced
from carrier_enrich.phones.judging import REASONS, Places
from carrier_enrich.phones.plans import region_names
from carrier_enrich.phones.reading import read
from carrier_enrich.phones.reasons import Reason
from carrier_enrich.phones.text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int64s

__all__ = [
    "NUMBERING",
    "Normalised",
    "Reason",
    "country_code",
    "e164_of",
    "normalise",
    "normalise_e164",
    "text_of",
]

#: The numbering plans by which numbers are read.
NUMBERING = f"phonenumbers {phonenumbers.__version__}"

# Fewer values are read one by one sooner than Arrow is loaded.
_MANY = 500


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
    values: Any, country: str | Countries | Sequence[str | None] | None = None
) -> Normalised:
    """Canonical numbers of raw texts; the caller keeps them distinct, and which row holds which.

    Args:
        values: the raw texts (see `text_of` for other cells): a sequence with None where there
            is none, or an Arrow array, plain or chunked, of any type of text.
        country: completes numbers written without a calling code; ISO 3166-1 alpha-2, one for
            all values or one beside each.

    Raises:
        BadInput: a country that has no numbering plan, or not one country beside each value.
    """
    countries = _places(country, len(values))
    is_sequence = isinstance(values, Sequence)
    if len(values) < _MANY:
        texts = values if is_sequence else values.to_pylist()
        return _completed(None, countries, np.arange(len(values)), texts)
    column = _of_sequence(values) if is_sequence else _of_arrow(values)
    settled = settle(column, countries)
    left = settled.left(len(values))
    rest = [values[at] for at in left.tolist()] if is_sequence else column.take(left).to_pylist()
    return _completed(settled, countries, left, rest)


def e164_of(texts: Any) -> tuple[NDArray[np.bool_], Int64s]:
    """Which texts are a plus and 7 to 15 digits and nothing else, and the integers of these.

    Args:
        texts: an Arrow array, plain or chunked, of any type of text.
    """
    column = _of_arrow(texts)
    is_e164 = matches(column, r"^\+[1-9][0-9]{6,14}$")
    return is_e164, integers(sliced(column.filter(is_e164), 1))


def normalise_e164(numbers: Int64s) -> Normalised:
    """The same of integers whose digits were written behind a plus."""
    settled = settle_e164(numbers)
    left = settled.left(len(numbers))
    texts = [e164(number) for number in numbers[left].tolist()]
    return _completed(settled, _places(None, len(numbers)), left, texts)


def _completed(
    settled: Settled | None, countries: Places, left: Int64s, texts: Sequence[str | None]
) -> Normalised:
    """What is settled, and the texts that are left, read one by one."""
    # Otherwise expressions are compiled again and again where many countries take turns.
    phonenumbers.enable_pattern_cache()
    numbers = np.zeros(len(countries), np.int64)
    reasons = np.zeros(len(countries), np.uint8)
    regions = np.full(len(countries), -1, np.int16)
    reason_places = {reason: place for place, reason in enumerate(REASONS)}
    if settled is not None:
        numbers[settled.rows] = settled.numbers
        reasons[settled.rows] = settled.reasons
        regions[settled.rows] = settled.regions

    names = region_names()
    region_places = _numbered((*names, None)) | {None: -1}
    defaults = countries[left].tolist()
    for row, text, default in zip(left.tolist(), texts, defaults, strict=True):
        reading = read(text, names[default] if default >= 0 else None)
        numbers[row] = reading.number
        reasons[row] = reason_places[reading.reason]
        regions[row] = region_places[reading.region]
    return Normalised(numbers, reasons, regions, names)


def _numbered(names: Iterable[str | None]) -> dict[str | None, int]:
    return {name: place for place, name in enumerate(names)}


def _places(country: str | Countries | Sequence[str | None] | None, count: int) -> Places:
    """The default country of each value as a position in `region_names`, -1 for none."""
    if country is None or isinstance(country, str):
        return np.full(count, _place(country), np.int16)
    given = len(country.codes if isinstance(country, Countries) else country)
    if given != count:
        raise BadInput(f"{given} countries beside {count} values")
    if isinstance(country, Countries):
        # Code -1, no country, finds the last.
        return np.array([*map(_place, country.names), -1], np.int16)[country.codes]
    places = {name: _place(name) for name in set(country)}
    return np.fromiter((places[name] for name in country), np.int16, count)


def _place(country: str | None) -> int:
    if country is None:
        return -1
    place = _numbered(region_names()).get(country.upper())
    if place is None:
        raise BadInput(f"not an ISO 3166-1 alpha-2 country that has phone numbers: {country!r}")
    return place


def _of_arrow(values: Any) -> Any:
    import pyarrow as pa

    texts: Any = pa.chunked_array(values if isinstance(values, pa.ChunkedArray) else [values])
    return texts.cast(pa.large_string()).combine_chunks()


def _of_sequence(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair: no text that Arrow can hold
        return pa.array([v if v and v.isascii() else None for v in values], pa.large_string())
