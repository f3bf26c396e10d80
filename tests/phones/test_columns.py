"""Reading whole columns at once gives what reading one by one gives."""

from __future__ import annotations

import random

import numpy as np
import phonenumbers
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from carrier_enrich.phones import Reason, normalise
from carrier_enrich.phones.columns import settle
from carrier_enrich.phones.plans import region_names
from carrier_enrich.phones.reading import Reading, read

phonenumbers.enable_pattern_cache()
REGIONS = region_names()
FORMATS = [
    PhoneNumberFormat.E164,
    PhoneNumberFormat.INTERNATIONAL,
    PhoneNumberFormat.NATIONAL,
]
#: Calling codes, trunk prefixes and rewriting of every sort that the plans have.
COUNTRIES = [
    "US", "CA", "BS", "GB", "GG", "DE", "AT", "IT", "SM", "FR", "RE", "AR", "BR", "MX", "CO", "CL",
    "RU", "KZ", "BY", "LT", "HU", "IN", "CN", "JP", "KR", "ID", "TH", "AU", "CX", "NZ", "NG", "ZA",
    "GA", "MG", "FI", "UZ", "CR", "LI", "TA", "SE", "XK", "HK", "TW",
]  # fmt: skip


def settled(texts: list[str | None], country: str | None) -> dict[int, Reading]:
    """What is read at once, by position."""
    place = -1 if country is None else REGIONS.index(country)
    done = settle(pa.array(texts, pa.large_string()), np.full(len(texts), place, np.int16))
    return {
        row: Reading(tuple(Reason)[reason], number, REGIONS[region] if region >= 0 else None)
        for row, number, reason, region in zip(
            done.rows.tolist(),
            done.numbers.tolist(),
            done.reasons.tolist(),
            done.regions.tolist(),
            strict=True,
        )
    }


def disagreements(texts: list[str | None], country: str | None) -> list[object]:
    """Texts that are read otherwise at once than one by one."""
    found = []
    for row, at_once in settled(texts, country).items():
        alone = read(texts[row], country)
        if (at_once.number, at_once.reason, at_once.region) != (
            alone.number,
            alone.reason,
            alone.region,
        ):
            found.append((texts[row], country, at_once, alone))
    return found


def examples() -> list[phonenumbers.PhoneNumber]:
    """An example number of every type in every region."""
    kinds = PhoneNumberType.values()
    found = (phonenumbers.example_number_for_type(name, k) for name in REGIONS for k in kinds)
    return [number for number in found if number is not None]


def varied(text: str, chance: random.Random, share: float = 0.3) -> str:
    """The same text with some digits replaced by others."""
    return "".join(
        chance.choice("0123456789") if c.isdigit() and chance.random() < share else c for c in text
    )


def test_every_type_in_every_region():
    """Every example number, in every format, with and without its plus, is read the same."""
    texts = [phonenumbers.format_number(n, form) for n in examples() for form in FORMATS]
    texts += [text.lstrip("+") for text in texts if text.startswith("+")]
    assert len(texts) > 5_000
    assert disagreements(texts, None) == []


def test_most_of_what_columns_hold_is_read_at_once():
    """Numbers of up to thirteen digits as E.164 are settled without asking one by one."""
    texts = [phonenumbers.format_number(n, PhoneNumberFormat.E164) for n in examples()]
    texts = [text for text in texts if 8 <= len(text) <= 14]
    assert len(settled(texts, None)) > 0.99 * len(texts)


@pytest.mark.parametrize("country", COUNTRIES)
def test_national_forms_of_a_country(country):
    """National forms, trunk prefixes and prefixes before them are read the same."""
    chance = random.Random(country)
    numbers = [
        phonenumbers.example_number_for_type(country, kind) for kind in PhoneNumberType.values()
    ]
    national = [phonenumbers.format_number(n, FORMATS[2]) for n in numbers if n]
    texts = [varied(text, chance) for text in national for _ in range(4)]
    digits = ["".join(filter(str.isdigit, text)) for text in texts]
    prefixes = ["", "0", "00", "011", "0011", "1", "8", "+", "(0)"]
    code = str(phonenumbers.country_code_for_region(country))
    prefixes += [code, f"{code}{code}", f"{code}0", f"00{code}", f"011{code}", f"{code} (0)"]
    texts += [f"{prefix}{text}" for prefix in prefixes for text in digits]
    abroad = chance.sample(examples(), 40)
    foreign = [phonenumbers.format_number(n, FORMATS[0])[1:] for n in abroad]
    texts += [f"{prefix}{text}" for prefix in ("", "00", "011", "0011") for text in foreign]
    assert disagreements(texts, country) == []
    assert disagreements(texts, None) == []


@pytest.mark.parametrize("country", [None, "US", "DE", "GB", "AR", "JP"])
def test_digits_of_any_length(country):
    """Digits without any sense are read the same, whatever their length and beginning."""
    chance = random.Random(1)
    texts = [
        f"{chance.choice(['', '', '+', '0', '00', '011'])}{chance.randrange(10**length)}"
        for length in range(4, 18)
        for _ in range(50)
    ]
    assert disagreements(texts, country) == []


@pytest.mark.parametrize("country", [None, "US", "IT", "AU"])
def test_numbers_of_shared_calling_codes(country):
    """Numbers that several regions share find the same region and validity."""
    chance = random.Random(2)
    codes = [c for c, names in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items() if len(names) > 1]
    numbers = [n for n in examples() if n.country_code in codes]
    texts = [varied(phonenumbers.format_number(n, FORMATS[0]), chance, 0.2) for n in numbers * 2]
    assert disagreements(texts + [text[1:] for text in texts], country) == []


#: Inputs of the kinds that libphonenumber's own tests are made of.
KNOWN_TRAPS = [
    "033316005", "33316005", "03-331 6005", "03 331 6005", "+64 3 331 6005", "0064 3 331 6005",
    "01164 3 331 6005", "+0064 3 331 6005", "+ 00 64 3 331 6005", "64(0)64123456", "+49 40 123456",
    "1-650-253-0000", "(650) 253-0000", "+1 (650) 253-0000", "0~0 1 650 253 0000", "1 22 3456 78",
    "+54 9 343 555 1212", "0343 15 555 1212", "+54 9 3715 65 0000", "03715 15 65 0000",
    "+54 11 3797 0000", "011 3797 0000", "+54 3715 65 4321", "03715 65 4321", "+52 (449)978-0001",
    "01 (449)978-0001", "(449)978-0001", "+52 1 33 1234-5678", "044 (33) 1234-5678",
    "045 33 1234-5678", "+39 02-36618 300", "02-36618 300", "312 345 678", "+65 9477 7892",
    "+16505551234", "6505551234", "16505551234", "011 54 9 11 8765 4321", "0011 54 9 11 8765 4321",
    "+800 1234 5678", "011 800 1234 5678", "+979 123 456 789", "+81 2345 6789", "+81 3332 2567",
    "0080 1234 5678", "+290 8", "+2901", "+210 3456 56789", "0123456", "00210 3456 56789",
    "+1 242 365 1234", "2423651234", "365-1234", "+86 10086", "17951 130 1234 5678", "8 10 44 1223",
    "810 44 20 7946 0000", "+370 8 612 34567", "8 612 34567", "06 1 234 5678", "+36 06 1 234 5678",
    "0 15 (21) 96123-4567", "0031 (0)20 123 4567", "+44 (0) 20 7946 0000", "(0)20 7946 0000",
    "+1 1 650 253 0000", "0000000000", "+0000000", "1234567", "14155550123.0", " 14155550123.0 ",
    "(14155550123.0)", "14155550123.00", "4155.0", "'14155550123", "''14155550123", "+1+4155550123",
    "030/123456", "030/1234567/8", "0301234567/8", "030 / 12 34 56", "030 1234567 - 1234568",
    "+49 30/1234567", "+49 30 1234567/8", "/030 1234567", "01/23/45/67/89", "[030] 1234567",
    "tel:14155550123", "TEL:+1-415-555-0123", "'tel: 14155550123.0", "tel:tel:14155550123",
    "+tel:14155550123", "tel:", "(tel:)0301234567", "tel:(030) 1234567\u00a0", "tel:030/1234567/8",
    "..030.123.4567..", "- 030 1234567 -", "030 1234567.0", "0301234567.0", "301234567.0", "30/0.0",
]  # fmt: skip


@pytest.mark.parametrize("country", [None, *COUNTRIES])
def test_known_traps(country):
    """Texts that are easily read wrongly are read the same with every default country."""
    assert disagreements(KNOWN_TRAPS, country) == []


PLAIN = st.text("0123456789+()[]-./ '\u00a0", min_size=5, max_size=24)
NUMBERS = st.from_regex(r"\A['(]?([Tt]el: ?)?(\+|00|011|0011|0)?[0-9]{6,14}(\.0)?\Z")
GROUPED = st.lists(st.from_regex(r"\A[0-9]{1,5}\Z"), min_size=2, max_size=6).flatmap(
    lambda groups: st.sampled_from(
        [" ", "-", ".", "/", " - ", ") ", " (0)", "\u00a0", "\u00a0-\u00a0"]
    ).map(lambda gap: gap.join(groups))
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.none(), PLAIN, NUMBERS, GROUPED, st.text(max_size=20)), max_size=20),
    st.one_of(st.none(), st.sampled_from(REGIONS)),
)
def test_any_column(texts, country):
    """Any texts, with any default country, are read the same at once and one by one."""
    texts = [text if text is None or text.isprintable() else "+1" for text in texts]
    assert disagreements(texts, country) == []


#: What people and address books write behind a number, and signs of other keyboards.
ENDINGS = [
    " ext. 5", " ext 12", "x201", " x 201", " X201", "#7", " #43", " (ext 4)", " - x12", ", ext. 2",
    " extension 99", "/ext3", " xtn 5", " extn.5", " ext:12", " ext..-12", " (mobile)", " m",
    " [w]", " cell.", ", office", " (home)", " fax", "-tel", " d.", "ext", " x", "#", " #",
    " x12 x13", " ext 1234567890", " ext 5 ext 6", " x1 (mobile)", " (mobile) x1", ".0 x5",
    ".0 (m)", " ext. 5.0", "x5/6", " extra 5", " exit 5", " e5", "*5", "~5", " #5#", "  ", " -",
    ")", " mobil", " privat",
]  # fmt: skip
SIGNS = {ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789+()"} | {45: "\u2011", 32: "\u2009"}


def written(text: str, chance: random.Random) -> str:
    """The same number with an ending, wide or unseen signs, or several of these."""
    text += chance.choice(ENDINGS) * chance.randrange(2)
    if chance.random() < 0.2:
        text = "".join(c.translate(SIGNS) if chance.random() < 0.7 else c for c in text)
    if chance.random() < 0.2:
        unseen = chance.choice("\u200b\u202a\u202c\u200e\ufeff\u00ad\u2003\u2212\u30fc\u0660\u2800")
        at = chance.randrange(len(text) + 1)
        text = text[:at] + unseen + text[at:]
    return text


@pytest.mark.parametrize("country", [None, "US", "DE", "GB", "NG"])
def test_endings_and_foreign_signs(country):
    """Extensions, labels, wide digits and unseen signs are read the same at once."""
    chance = random.Random(4)
    texts: list[str | None] = [
        written(phonenumbers.format_number(number, form), chance)
        for number in chance.sample(examples(), 400)
        for form in FORMATS
    ]
    texts += [f"+44 20 7946 0000{ending}" for ending in ENDINGS]
    assert disagreements(texts, country) == []
    assert len(settled(texts, country)) > 0.6 * len(texts)


def mixed(count: int) -> tuple[list[str | None], list[str | None]]:
    """Texts as an export holds them, with the country that stands beside each."""
    chance = random.Random(3)
    numbers = examples()
    texts: list[str | None] = []
    countries: list[str | None] = []
    for _ in range(count):
        number = chance.choice(numbers)
        name = phonenumbers.region_code_for_number(number)
        text = varied(phonenumbers.format_number(number, chance.choice(FORMATS)), chance, 0.1)
        ending = chance.choice(["", "", "", "", " ext. 5", ".0", " (mobile)", "?"])
        texts.append(chance.choice([f"{text}{ending}", text, text, text, "n/a", None, ""]))
        countries.append(chance.choice([name if name in REGIONS else None, None, "US", "DE"]))
    return texts, countries


def test_a_long_column_is_the_sum_of_its_values():
    """A long column, read at once where possible, is what its values are one by one."""
    texts, countries = mixed(1_000)
    done = normalise(texts, countries)
    alone = [read(*pair) for pair in zip(texts, countries, strict=True)]
    assert done.numbers.tolist() == [reading.number for reading in alone]
    assert [tuple(Reason)[reason] for reason in done.reasons] == [r.reason for r in alone]
    names = (*done.region_names, None)
    assert [names[region] for region in done.regions] == [reading.region for reading in alone]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_arrow_columns_of_every_kind_of_text(kind):
    """An Arrow column gives what a list gives, plain, sliced or chunked, of any type of text."""
    texts, countries = mixed(600)
    array = pa.array(texts, pa.string()).cast(kind)
    wanted = normalise(texts, countries)
    for column in (array, pa.chunked_array([array[:100], array[100:], array[:0]])):
        done = normalise(column, countries)
        assert done.numbers.tolist() == wanted.numbers.tolist()
        assert done.reasons.tolist() == wanted.reasons.tolist()
        assert done.regions.tolist() == wanted.regions.tolist()
    part = normalise(array[100:], "US")
    assert part.numbers.tolist() == normalise(texts[100:], "US").numbers.tolist()


def test_half_a_surrogate_is_no_reason_to_fail():
    """Text that no encoding can hold is read like any other, alone and among many."""
    odd = ["\ud800+1 415 555 0123", "+1 415 555 \ud800 0123", "\ud800"]
    many = [*odd, *["+14155550123"] * 600]
    assert normalise(odd).numbers.tolist() == [14155550123, 14155550123, 0]
    assert normalise(many).numbers.tolist() == [14155550123, 14155550123, 0, *[14155550123] * 600]
