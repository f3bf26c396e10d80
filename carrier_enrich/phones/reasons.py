"""Why a value is not a phone number."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """What became of one raw value.

    Attributes:
        explanation: the same for people, in a few words.
    """

    explanation: str

    OK = "ok", "a phone number"
    MISSING = "missing", "no value"
    NOT_A_NUMBER = "not_a_number", "not written as a phone number"
    SEVERAL_NUMBERS = "several_numbers", "more than one number in one cell"
    PRECISION_LOST = "precision_lost", "digits were lost when it was stored as a decimal number"
    NO_COUNTRY = "no_country", "no country code, and no default country given"
    NO_AREA_CODE = "no_area_code", "a local number without its area code"
    UNKNOWN_CALLING_CODE = "unknown_calling_code", "no country has this calling code"
    AMBIGUOUS = "ambiguous", "can be read as different numbers"
    TOO_SHORT = "too_short", "fewer digits than any number of its country has"
    TOO_LONG = "too_long", "more digits than any number of its country has"
    NOT_POSSIBLE = "not_possible", "a count of digits that no number of its country has"

    def __new__(cls, value: str, explanation: str) -> Reason:
        """A member is its text; the explanation goes beside it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.explanation = explanation
        return member
