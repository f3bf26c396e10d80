"""What raw phone texts become: every rule of `reading` by example, and what always holds."""

from __future__ import annotations

import re

import numpy as np
import phonenumbers
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from carrier_enrich.errors import BadInput
from carrier_enrich.phones import Normalised, Reason, normalise

REASONS = tuple(Reason)
LONDON = 442079460000
SAN_FRANCISCO = 14155550123
FORMATS = [
    PhoneNumberFormat.E164,
    PhoneNumberFormat.INTERNATIONAL,
    PhoneNumberFormat.NATIONAL,
    PhoneNumberFormat.RFC3966,
]
ARABIC_DIGITS = {ord(str(digit)): 0x0660 + digit for digit in range(10)}
DEVANAGARI_DIGITS = {ord(str(digit)): 0x0966 + digit for digit in range(10)}
REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


def outcome(text: str | None, country: str | None = None) -> int | Reason:
    """The number, or the reason why there is none."""
    done = normalise([text], country)
    reason = REASONS[done.reasons[0]]
    assert (reason is Reason.OK) == (done.numbers[0] != 0)
    return int(done.numbers[0]) or reason


def region(text: str, country: str | None = None) -> str | None:
    """The region of a text's number."""
    done = normalise([text], country)
    return done.region_names[done.regions[0]] if done.regions[0] >= 0 else None


def examples(name: str) -> list[phonenumbers.PhoneNumber]:
    """An example number of each type that a region has."""
    found = (phonenumbers.example_number_for_type(name, kind) for kind in PhoneNumberType.values())
    return [number for number in found if number is not None]


def e164(number: phonenumbers.PhoneNumber) -> int:
    """The E.164 integer of a parsed number."""
    return int(phonenumbers.format_number(number, PhoneNumberFormat.E164)[1:])


@pytest.mark.parametrize(
    "text",
    [
        "+14155550123", "+1 415 555 0123", "+1 (415) 555-0123", "+1.415.555.0123",
        "+1/415/555/0123", "+1 [415] 555 0123", " +1 415 555 0123 ",
        "+1\u00a0415\u202f555\u20090123", "+1\t415\n555 0123", "+1 415\u2011555\u20130123",
        "\u202a+1 415 555 0123\u202c", "\ufeff+14155550123", "+1 415 555\u200b 0123",
        "'+14155550123", '="+14155550123"', "(+1) 415 555 0123", "+(1) 415 555 0123",
        "++1 415 555 0123", "+1 1 415 555 0123", "Tel: +1 415 555 0123", "☎ +1 415 555 0123",
        "tel:+1-415-555-0123", "TEL:+14155550123", "tel:+1-415-555-0123;ext=12",
        "tel:+1-415-555-0123;isub=12345678;npdi", "tel:555-0123;phone-context=+1-415",
        "\uff0b\uff11 \uff14\uff11\uff15\uff0d\uff15\uff15\uff15\uff0d\uff10\uff11\uff12\uff13",
        "+1 415 555 0123".translate(ARABIC_DIGITS), "+1 415 555 0123".translate(DEVANAGARI_DIGITS),
        "0014155550123", "00 1 415 555 0123", "011 1 415 555 0123", "0011 1 415 555 0123",
        "+00 1 415 555 0123", "+011 1 415 555 0123", "14155550123", "1 (415) 555-0123",
        "14155550123.0", "+14155550123.0", "'14155550123.0",
    ],
)  # fmt: skip
def test_ways_to_write_one_international_number(text):
    """However an international number is written, it is one number, with or without a country."""
    assert outcome(text) == SAN_FRANCISCO
    assert outcome(text, "US") == SAN_FRANCISCO
    assert region(text) == "US"


@pytest.mark.parametrize(
    "ending",
    [
        " x123", "x123", " ext 5", " ext. 5", ", ext: 5", " extension 17", " extensión 17",
        " #12", " poste 12", " (ext. 5)", " x302/x2303", " xtn 4", " доб. 4", " ramal 4", "~7",
        " - 503#", ",5", " mobile", " (mobile)", " - home", " (w)", " tel.",
    ],
)  # fmt: skip
def test_extensions_and_labels_are_dropped(ending):
    """An extension or a word after a number is no part of it."""
    assert outcome(f"+1 415 555 0123{ending}") == SAN_FRANCISCO
    assert outcome(f"(415) 555-0123{ending}", "US") == SAN_FRANCISCO


@pytest.mark.parametrize(
    ("text", "country", "number"),
    [
        ("(415) 555-0123", "US", SAN_FRANCISCO),
        ("1-415-555-0123", "us", SAN_FRANCISCO),
        ("4155550123.0", "US", SAN_FRANCISCO),
        ("020 7946 0000", "GB", LONDON),
        ("+020 7946 0000", "GB", LONDON),
        ("011 44 20 7946 0000", "US", LONDON),
        ("0044 20 7946 0000", "DE", LONDON),
        ("030/123456", "DE", 4930123456),
        ("030 1234567 - 12", "DE", 4930123456712),
        ("0151/12345678", "DE", 4915112345678),
        ("0049 151/12345678", None, 4915112345678),
        ("8 (912) 345-67-89", "RU", 79123456789),
        ("8~10 44 20 7946 0000", "RU", LONDON),
        ("011 15 2345-6789", "AR", 5491123456789),
        ("+54 9 11 2345-6789", None, 5491123456789),
        ("+52 222 123 4567", None, 522221234567),
        ("(0xx11) 91234-5678", "BR", 5511912345678),
        ("0 15 11 91234-5678", "BR", 5511912345678),
        ("tel:03-331-6005;phone-context=example.com", "NZ", 6433316005),
    ],
)
def test_national_forms(text, country, number):
    """A national form is completed by its country as `phonenumbers` says."""
    assert outcome(text, country) == number


def test_country_beside_each_value():
    """Countries may stand beside the values, one each, none for some."""
    done = normalise(["020 7946 0000", "(415) 555-0123", "030 123456"], ["GB", "us", None])
    assert done.numbers.tolist() == [LONDON, SAN_FRANCISCO, 0]
    assert [REASONS[reason] for reason in done.reasons] == ["ok", "ok", "no_country"]


def test_italian_zero_is_kept():
    """The zero of an Italian landline is part of the number, in every way to write it."""
    forms = ["+39 06 6988 1234", "0039 06 69881234", "+39 (0)6 69881234", "390669881234"]
    assert {outcome(form) for form in forms} == {390669881234}
    assert outcome("06 69881234", "IT") == 390669881234
    assert outcome("+39 6 69881234") != 390669881234


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+44 (0)20 7946 0000", LONDON),
        ("+34 (0)91 123 4567", 34911234567),
        ("+1 (0)415 555 0123", SAN_FRANCISCO),
        ("0034 (0)911234567", 34911234567),
    ],
)
def test_trunk_zero_in_brackets(text, number):
    """A zero in brackets is dropped, also where the country has no trunk prefix."""
    assert outcome(text) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, Reason.MISSING),
        ("", Reason.MISSING),
        (" \t\n\u00a0\u200b", Reason.MISSING),
        ("n/a", Reason.NOT_A_NUMBER),
        ("unknown", Reason.NOT_A_NUMBER),
        ("-", Reason.NOT_A_NUMBER),
        ("#######", Reason.NOT_A_NUMBER),
        ("#12", Reason.NOT_A_NUMBER),
        ("ext. 1234567", Reason.NOT_A_NUMBER),
        ("0000000", Reason.NOT_A_NUMBER),
        ("+49 0000000", Reason.NOT_A_NUMBER),
        ("+49 30 12**56", Reason.NOT_A_NUMBER),
        ("+49 30 1234??", Reason.NOT_A_NUMBER),
        ("+49 30 1234__", Reason.NOT_A_NUMBER),
        ("+1 415 xxx 0123", Reason.NOT_A_NUMBER),
        ("+1 415 555 O123", Reason.NOT_A_NUMBER),
        ("+1 415 555 012O", Reason.NOT_A_NUMBER),
        ("1-800-FLOWERS", Reason.NOT_A_NUMBER),
        ("+49 30 123456 (Frau Meier)", Reason.NOT_A_NUMBER),
        ("4155550123@example.com", Reason.NOT_A_NUMBER),
        ("9" * 300, Reason.NOT_A_NUMBER),
        ("1.41556E+10", Reason.PRECISION_LOST),
        ("1,41556e10", Reason.PRECISION_LOST),
        ("'1.41556E+10", Reason.PRECISION_LOST),
        ("1E10", Reason.PRECISION_LOST),
        ("1.4155550123E+10", Reason.PRECISION_LOST),
        ("415 555 0123", Reason.NO_COUNTRY),
        ("020 7946 0000", Reason.NO_COUNTRY),
        ("+1 555 0123", Reason.NO_AREA_CODE),
        ("+999 123456", Reason.UNKNOWN_CALLING_CODE),
        ("+44 20 7946 00", Reason.NO_AREA_CODE),
        ("+1 415 555 01234", Reason.TOO_LONG),
        ("+49 30 12345678901234", Reason.TOO_LONG),
        ("+33 1 23", Reason.TOO_SHORT),
        ("+378 0549 12345", Reason.NOT_POSSIBLE),
    ],
)
def test_what_is_no_number_says_why(text, reason):
    """A value that is no number has the reason that tells people what to correct."""
    assert outcome(text) is reason


@pytest.mark.parametrize(
    "text",
    [
        "+1 415 555 0123 / +1 415 555 0199",
        "+1 415 555 0123/0199",
        "+1 415 555 0123\n+1 415 555 0199",
        "+1 415 555 0123 +1 415 555 0199",
        "+14155550123;+14155550199",
        "+14155550123;4155550199",
        "415-555-0123, 415-555-0199",
        "415-555-0123 or 415-555-0199",
        "415 555 0123 | 415 555 0199",
        "415 555 0123 & 0199",
        "030 1234567 - 030 1234568",
        "030/1234567/8",
    ],
)
def test_several_numbers_are_not_guessed(text):
    """Of two numbers in one cell, none is chosen."""
    assert {outcome(text, country) for country in (None, "US", "DE")} == {Reason.SEVERAL_NUMBERS}


def test_possible_national_reading_comes_before_another_country():
    """Digits are another country's number only where they are too long for their own."""
    assert outcome("442079460000", "US") == LONDON
    assert outcome("4512345678", "US") == 14512345678
    assert outcome("493-0123", "US") is Reason.NO_AREA_CODE
    assert outcome("49301234", "FR") is Reason.TOO_SHORT


@pytest.mark.parametrize(
    ("text", "country", "number"),
    [
        ("4915111208995", "DE", 4915111208995),
        ("4915111208995.0", "DE", 4915111208995),
        ("49 (0)151 11208995", "DE", 4915111208995),
        ("49 30 123456", "DE", 4930123456),
        ("447911123456", "GB", 447911123456),
        ("44 20 7946 0000", "GB", LONDON),
        ("62 816 290 016", "ID", 62816290016),
        ("0055 51 99652 9406", "BR", 5551996529406),
        ("011 49 30 123456", "DE", 4930123456),
        ("0011 49 30 123456", "DE", 4930123456),
        ("390 2095963", "IT", 393902095963),
    ],
)
def test_own_calling_code_without_its_plus(text, country, number):
    """The default country's own calling code need not have a plus to be seen as one."""
    assert outcome(text, country) == number


@pytest.mark.parametrize("name", REGIONS)
def test_bare_digits_at_home_never_become_another_number(name):
    """A region's mobiles as bare E.164 digits are themselves; its fixed lines may be ambiguous."""
    for kind in (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE):
        number = phonenumbers.example_number_for_type(name, kind)
        if number is not None:
            read = outcome(str(e164(number)), name)
            may_be_ambiguous = kind == PhoneNumberType.FIXED_LINE
            assert read == e164(number) or (may_be_ambiguous and read is Reason.AMBIGUOUS)


def test_two_zeros_begin_an_international_number():
    """Behind 00 a valid international reading comes before zeros that may be trunk prefixes."""
    assert outcome("00 64 3 237 7835", "BR") == 6432377835
    assert outcome("00 298 213743", "AU") == 298213743


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("468005397", "SE"),
        ("62 21 835 0123", "ID"),
        ("0022399887059", "TW"),
        ("00992 912 484 593", "NG"),
        ("011 48 88 123 12 12", "DE"),
    ],
)
def test_what_has_two_readings_is_ambiguous(text, country):
    """Where two readings are as likely, none is chosen."""
    assert outcome(text, country) is Reason.AMBIGUOUS


def test_area_code_that_looks_like_a_prefix():
    """A valid national number that begins with 011 is no international one."""
    assert outcome("011 562 1234", "IT") == 390115621234


def test_trunk_prefixes_end_where_the_e164_text_reads_as_itself():
    """A number is the one that its E.164 text is read as, however many zeros stood before."""
    assert outcome("+49 0030 123456") == 4930123456
    assert outcome("+44 00 20 7946 0000") == LONDON


def test_possible_numbers_are_enough_with_a_plus_and_valid_ones_without():
    """A possible number that no plan describes is sent if its country is written or given."""
    new = "9995550123"
    assert not phonenumbers.is_valid_number(phonenumbers.parse(new, "US"))
    assert outcome(f"+1{new}") == outcome(new, "US") == int(f"1{new}")
    assert outcome(f"1{new}") is Reason.NO_COUNTRY
    assert outcome(f"001{new}") == int(f"1{new}")


def test_regions():
    """The region is that of the number, not of the default country; none where none is known."""
    assert region("+1 506 234 5678", "US") == "CA"
    assert region("+44 7624 123456") == "IM"
    assert region("+800 1234 5678") is None
    assert region("+1 999 555 0123") is None


def test_shapes_and_names():
    """Results are aligned with the values and typed as promised, for no values too."""
    for done in (
        normalise([]),
        normalise(["+14155550123", None]),
        normalise(pa.array(["x"])),
    ):
        assert isinstance(done, Normalised)
        assert (done.numbers.dtype, done.reasons.dtype, done.regions.dtype) == (
            np.int64,
            np.uint8,
            np.int16,
        )
        assert done.region_names == tuple(REGIONS)
    assert REASONS[0] is Reason.OK
    assert all(reason.explanation for reason in Reason)


@pytest.mark.parametrize("country", ["XX", "", "USA", "AQ", ["US"], ["US", "XX"]])
def test_a_country_without_phone_numbers_is_an_error(country):
    """A default country that can't complete a number, or is not beside each, is bad input."""
    with pytest.raises(BadInput):
        normalise(["020 7946 0000", "030 123456"], country)


@pytest.mark.parametrize("name", REGIONS)
def test_every_format_of_every_kind_of_number_is_that_number(name):
    """Each format of each example number of a region reads as that number; digits do too."""
    numbers = examples(name)
    texts = [phonenumbers.format_number(n, form) for n in numbers for form in FORMATS]
    wanted = [e164(number) for number in numbers]
    assert normalise(texts, name).numbers.tolist() == [n for n in wanted for _ in FORMATS]
    assert normalise([str(number) for number in wanted]).numbers.tolist() == wanted
    assert len(set(wanted)) == len({phonenumbers.format_number(n, FORMATS[0]) for n in numbers})


ALPHABET = "0123456789+()-./ ,;#x*'~\u00a0\n\u0661\uff11Eeét"
PHONE_LIKE = st.one_of(
    st.text(ALPHABET, max_size=40),
    st.from_regex(r"\A\+?[0-9][0-9 ()./-]{5,18}\Z"),
    st.text(max_size=30),
)
COUNTRIES = st.sampled_from([None, *REGIONS])


@settings(max_examples=300, deadline=None)
@given(PHONE_LIKE, COUNTRIES)
def test_any_text_becomes_a_number_that_reads_as_itself(text, country):
    """Any text has an outcome, and a number's E.164 text is that number in every country."""
    number = outcome(text, country)
    if isinstance(number, int):
        assert re.fullmatch(r"[1-9][0-9]{4,14}", str(number))
        for other in (None, country, "US"):
            assert outcome(f"+{number}", other) == number
    else:
        assert number in Reason


@settings(deadline=None)
@given(st.integers(10**6, 10**15 - 1), st.integers(10**6, 10**15 - 1), COUNTRIES)
def test_distinct_numbers_stay_distinct(one, other, country):
    """Different numbers as `phonenumbers` reads them are never the same number here."""
    texts = [f"+{one}", f"+{other}"]
    read = []
    for text in texts:
        try:
            parsed = phonenumbers.parse(text)
        except phonenumbers.NumberParseException:
            continue
        # One that reads on as another is a way to write that other.
        again = phonenumbers.format_number(parsed, PhoneNumberFormat.E164)
        if again == text:
            read.append(again)
    numbers = [outcome(text, country) for text in read]
    found = [number for number in numbers if isinstance(number, int)]
    assert found == [int(text) for text, n in zip(read, numbers, strict=True) if n in found]
