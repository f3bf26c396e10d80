"""One phone number as people write it: the canonical number, or the reason why not.

What a text says is decided in this order:

1. Blank text is *missing*. Text without a digit, all zeros, or with letters, masks or stars
   among its digits is *not a number*. Words before it, an extension or a word such as "mobile"
   after it, and ``tel:`` parameters are dropped. Letters are never turned into digits.
2. ``14155550123.0`` is a whole number that passed through a float; any text with an exponent
   (``1.41556E+10``) has *lost its precision*, even where it seems to hold every digit.
3. Two numbers in one cell are *several numbers*; none of them is chosen.
4. With a plus, `phonenumbers` reads it. A plus before a zero says nothing and is ignored.
5. Without a plus and with a default country, the national reading by `phonenumbers` counts
   where it is possible. Where it is too long, which a number with its calling code mostly is,
   the international reading counts, if it is valid.
6. Without a plus and without a default country, the international reading counts, if it is
   valid.
7. Behind ``00``, ``011`` or ``0011`` the international reading starts, and comes before a
   national one that is not valid. Behind ``00``, which begins no national number, possible is
   enough where there is no national reading. Behind ``011``, a national reading that is
   possible makes the text *ambiguous*.

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
    ValidationResult,
)

from carrier_enrich.numbering_plans import E164_DIGITS
from carrier_enrich.phone_reasons import Reason
from carrier_enrich.phone_text import plain_text


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
    national = _ask_nationally(text, digits, country)
    prefix = _PREFIX.match(digits)
    is_certain = national.is_valid if prefix else national.reason not in _OPEN_REASONS
    if is_certain:
        return national
    foreign = _ask(f"+{digits[prefix.end() :] if prefix else digits}")
    is_national = national.reason is Reason.OK
    if is_national and foreign.is_valid and digits.startswith("011"):
        return Reading(Reason.AMBIGUOUS)
    is_foreign = foreign.is_valid or (digits.startswith("00") and not is_national)
    return foreign if is_foreign else national


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
