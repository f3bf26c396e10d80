"""One phone number as people write it: the canonical number, or the reason why not.

What a text says is decided in this order:

1. Blank text is *missing*. Text without a digit, all zeros, or with letters, masks or stars
   among its digits is *not a number*. Words before it, an extension or a word such as "mobile"
   after it, and ``tel:`` parameters are dropped. Letters are never turned into digits.
2. ``14155550123.0`` is a whole number that passed through a float; any text with an exponent
   (``1.41556E+10``) has *lost its precision*, even where it seems to hold every digit.
3. Two numbers in one cell are *several numbers*; none of them is chosen.
4. With a plus, `phonenumbers` reads it. A plus before a zero says nothing and is ignored.
5. Without a plus and with a default country there are two readings: the national one by
   `phonenumbers`, and the international one, as if the plus had been left out. The first of
   these counts:

   a. the national reading where it is valid, or the international one where that is valid and
      has the default country's own calling code. Where both are, the one that is a mobile
      number: plans describe mobiles closely and fixed lines loosely, so that a German mobile
      behind 49 passes for a fixed line in the area of 04915. Where that does not tell, the
      text is *ambiguous*;
   b. the national reading where it is possible;
   c. the international reading where it is valid and the national one is too long.

6. Without a plus and without a default country, the international reading counts, if it is
   valid.
7. Behind ``00``, ``011`` or ``0011`` the international reading starts. Where it is valid, it
   comes before a national one that is not, and behind ``00``, which begins no national number,
   before any. Where its calling code is not the default country's, two things make the text
   *ambiguous*: behind ``00``, a longer prefix of the default country (``009`` in Nigeria) that
   leads to a valid number of a third country; behind ``011``, a national reading that is
   possible. Behind ``00``, a possible international reading is enough where there is no
   national one.

*Possible* is what the lengths of the numbering plan allow, because plans change faster than
their description. A local number without its area code names many lines and is refused.
`phonenumbers` decides on trunk prefixes, mobile prefixes and Italian zeros.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import phonenumbers
from phonenumbers import (
    REGION_CODE_FOR_NON_GEO_ENTITY,
    NumberParseException,
    PhoneNumber,
    PhoneNumberFormat,
    PhoneNumberType,
    ValidationResult,
)

from carrier_enrich.phones.plans import E164_DIGITS
from carrier_enrich.phones.reasons import Reason
from carrier_enrich.phones.text import plain_text


@dataclass(frozen=True, slots=True)
class Reading:
    """What one text says.

    Attributes:
        reason: OK where there is a number.
        number: the E.164 digits as an integer, 0 where there is none.
        region: ISO 3166-1 alpha-2, None where unknown or not geographic.
        is_valid: whether the number fits the description of its numbering plan.
    """

    reason: Reason
    number: int = 0
    region: str | None = None
    is_valid: bool = False


# How often one trunk prefix may stand before another.
_READINGS_MAX = 8

# 0011 is dialled in Australia; no number behind 00 begins with 11.
_PREFIX = re.compile("0011|011|00")
_PLUS_BEFORE_ZERO = re.compile(r"\++(?=[\s()\[\]./-]*0)")
_NOT_DIGITS = re.compile(r"\D+")
_TRUNK_IN_BRACKETS = re.compile(r"(?<=\d)[\s./-]*\(0\)")

# National readings that leave room for an international one.
_OPEN_REASONS = (Reason.TOO_LONG, Reason.NO_COUNTRY)
_PARSE_REASONS = {
    NumberParseException.INVALID_COUNTRY_CODE: Reason.UNKNOWN_CALLING_CODE,
    NumberParseException.NOT_A_NUMBER: Reason.NOT_A_NUMBER,
    NumberParseException.TOO_SHORT_AFTER_IDD: Reason.TOO_SHORT,
    NumberParseException.TOO_SHORT_NSN: Reason.TOO_SHORT,
    NumberParseException.TOO_LONG: Reason.TOO_LONG,
}
_LENGTH_REASONS = {
    ValidationResult.IS_POSSIBLE_LOCAL_ONLY: Reason.NO_AREA_CODE,
    ValidationResult.INVALID_COUNTRY_CODE: Reason.UNKNOWN_CALLING_CODE,
    ValidationResult.TOO_SHORT: Reason.TOO_SHORT,
    ValidationResult.TOO_LONG: Reason.TOO_LONG,
    ValidationResult.INVALID_LENGTH: Reason.NOT_POSSIBLE,
}


def read(raw: str | None, country: str | None = None) -> Reading:
    """Read one text, completed by a default country (ISO 3166-1 alpha-2 in capitals)."""
    text = Reason.MISSING if raw is None else plain_text(raw)
    if isinstance(text, Reason):
        return Reading(text)
    reading = _read_plain(text, country)
    if reading.reason is not Reason.OK and (bare := _TRUNK_IN_BRACKETS.sub("", text, 1)) != text:
        # In +34 (0)91 123 4567 the bracket is habit: Spain has no trunk prefix.
        second = _read_plain(bare, country)
        return second if second.reason is Reason.OK else reading
    return reading


def _read_plain(text: str, country: str | None) -> Reading:
    text = _PLUS_BEFORE_ZERO.sub("", text, 1)
    if text.startswith("+"):
        return _ask(text, country)
    digits = _NOT_DIGITS.sub("", text)
    code = str(phonenumbers.country_code_for_region(country)) if country else None
    prefix = match[0] if (match := _PREFIX.match(digits)) else ""
    national = _ask_nationally(text, digits, country)
    has_code = code is not None and digits.startswith(code)
    if national.is_valid and prefix != "00" and not has_code:
        return national
    foreign = _ask(f"+{digits.removeprefix(prefix)}")
    if foreign.is_valid:
        return _decided(national, foreign, prefix, code)
    is_national = prefix in ("", "011") or national.reason is Reason.OK
    return national if is_national else foreign


def _decided(national: Reading, foreign: Reading, prefix: str, code: str | None) -> Reading:
    """Which reading counts where the international one is valid, with the default's own code."""
    if _has_code(foreign, code):
        is_open = national.is_valid and not prefix and national != foreign
        return _the_mobile(national, foreign) if is_open else foreign
    if prefix == "00":
        is_third = national.is_valid and not _has_code(national, code)
        return Reading(Reason.AMBIGUOUS) if is_third and national != foreign else foreign
    if prefix == "011" and national.reason is Reason.OK:
        return Reading(Reason.AMBIGUOUS)
    return foreign if prefix or national.reason in _OPEN_REASONS else national


def _has_code(reading: Reading, code: str | None) -> bool:
    return code is not None and str(reading.number).startswith(code)


def _the_mobile(one: Reading, other: Reading) -> Reading:
    """The one of two valid readings that is a mobile number, if only one of them is."""
    mobiles = [reading for reading in (one, other) if _is_mobile(reading)]
    return mobiles[0] if len(mobiles) == 1 else Reading(Reason.AMBIGUOUS)


def _is_mobile(reading: Reading) -> bool:
    parsed = phonenumbers.parse(f"+{reading.number}")
    return bool(phonenumbers.number_type(parsed) == PhoneNumberType.MOBILE)


def _ask_nationally(text: str, digits: str, country: str | None) -> Reading:
    if country is not None:
        return _ask(text, country)
    return Reading(Reason.TOO_LONG if len(digits) > E164_DIGITS else Reason.NO_COUNTRY)


def _ask(text: str, country: str | None = None) -> Reading:
    """What `phonenumbers` says, once the E.164 text reads as itself.

    +49 0030 123456 first reads as +49030123456, and that as +4930123456: whoever gets the
    E.164 text must not read another number from it.
    """
    try:
        parsed = phonenumbers.parse(text, country)
        for _ in range(_READINGS_MAX):
            e164 = phonenumbers.format_number(parsed, PhoneNumberFormat.E164)
            if e164 == text:
                return _judged(parsed, e164[1:])
            text, parsed = e164, phonenumbers.parse(e164)
    except NumberParseException as error:
        return Reading(_PARSE_REASONS[error.error_type])
    return Reading(Reason.AMBIGUOUS)


def _judged(parsed: PhoneNumber, digits: str) -> Reading:
    region = phonenumbers.region_code_for_number(parsed)
    is_valid = region is not None and phonenumbers.is_valid_number_for_region(parsed, region)
    if len(digits) > E164_DIGITS:
        return Reading(Reason.TOO_LONG)
    if not parsed.national_number:
        return Reading(Reason.NOT_A_NUMBER)
    if not is_valid:
        # Valid is asked first: Canada's +1 310 1234 is, and seems to lack its area code.
        length = phonenumbers.is_possible_number_with_reason(parsed)
        if length != ValidationResult.IS_POSSIBLE:
            return Reading(_LENGTH_REASONS[length])
    assert digits[0] != "0", "no calling code begins with a zero"
    region = None if region == REGION_CODE_FOR_NON_GEO_ENTITY else region
    return Reading(Reason.OK, int(digits), region, is_valid)
