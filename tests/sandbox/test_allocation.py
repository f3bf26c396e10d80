"""The sandbox's answers agree with the tables they come from."""

from __future__ import annotations

import phonenumbers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType, carrier, geocoder

from carrier_enrich.sandbox import allocation_of, is_undetermined
from carrier_enrich.sandbox.numbering import is_possible, plan_of

_TYPE_NAMES = {
    value: name.lower() for name, value in vars(PhoneNumberType).items() if name.isupper()
}
#: The plus sign and the longest calling code; what follows may change.
_PREFIX = 4
_REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


@st.composite
def e164(draw):
    """Numbers of all countries: real examples with some of their last digits changed."""
    region = draw(st.sampled_from(_REGIONS))
    kind = draw(st.sampled_from(sorted(_TYPE_NAMES)))
    example = phonenumbers.example_number_for_type(region, kind)
    assume(example is not None)
    digits = phonenumbers.format_number(example, PhoneNumberFormat.E164)
    tail = draw(st.text("0123456789", max_size=6))
    number = digits[: max(len(digits) - len(tail), _PREFIX)] + tail
    parsed = phonenumbers.parse(number)
    # the national prefix of some countries is stripped by parsing, which is not E.164 then
    assume(phonenumbers.format_number(parsed, PhoneNumberFormat.E164) == number)
    return number, parsed


@settings(max_examples=300, deadline=None)
@given(e164())
def test_validity_country_and_type_are_those_of_phonenumbers(number_and_parsed):
    """Whatever the number, the verdict on it is the one of the public functions."""
    number, parsed = number_and_parsed
    plan = plan_of(number[1:])
    assert is_possible(number[1:]) == phonenumbers.is_possible_number(parsed)
    assert (plan is not None) == phonenumbers.is_valid_number(parsed)
    if plan is not None:
        assert plan.country == phonenumbers.region_code_for_number(parsed)
        assert plan.number_type == _TYPE_NAMES[phonenumbers.number_type(parsed)]


@settings(max_examples=300, deadline=None)
@given(e164())
def test_carrier_and_place_are_the_real_ones_where_the_tables_know_them(number_and_parsed):
    """A carrier or place of the tables is passed on; only an unknown carrier is made up."""
    number, parsed = number_and_parsed
    found = allocation_of(number)
    assert found.registered == phonenumbers.is_valid_number(parsed)
    known = carrier.name_for_number(parsed, "en")
    if known:
        assert found.carrier == known
    elif found.registered:
        assert found.carrier.startswith("Sandbox ")
    place = geocoder.description_for_number(parsed, "en")
    if place and found.number_type in ("mobile", "fixed_line"):
        assert place == (f"{found.city}, {found.region}" if found.city else found.region)


def test_numbers_of_one_block_have_one_carrier():
    """A block of ten thousand numbers is allocated as a whole."""
    assert len({allocation_of(f"+1212555{n:04d}") for n in range(0, 10_000, 7)}) == 1


def test_a_plus_sign_makes_no_difference():
    """The digits decide."""
    assert allocation_of("+447400123456") == allocation_of("447400123456")


def test_a_possible_number_that_is_not_valid_is_not_registered():
    """Nothing is known of it: every text is empty."""
    found = allocation_of("+19995550123")
    assert is_possible("19995550123")
    assert not found.registered
    assert not any((found.carrier, found.number_type, found.country_code, found.region, found.city))


def test_made_up_carriers_are_several_and_some_have_another_network_underneath():
    """Among many blocks there is some of everything that a client must cope with."""
    found = [allocation_of(f"+1212{n:03d}0000") for n in range(200, 1000)]
    assert len({one.carrier for one in found if one.registered}) > 15
    assert {"mobile", "fixed_line", "voip"} <= {one.number_type for one in found}
    share = sum(bool(one.underlying_carrier) for one in found) / len(found)
    assert 0.02 < share < 0.25


@given(st.floats(0, 1))
@settings(max_examples=20)
def test_the_undetermined_share_is_kept_and_always_the_same_numbers(share):
    """A larger share holds the numbers of a smaller one, and about as many as asked for."""
    numbers = [f"1212{2_000_000 + n}" for n in range(2_000)]
    found = [number for number in numbers if is_undetermined(number, share)]
    assert abs(len(found) / len(numbers) - share) < 0.06
    assert all(is_undetermined(f"+{number}", min(1.0, share * 1.5)) for number in found)
