"""Countries as people write them."""

from __future__ import annotations

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich.phones import country_code, normalise

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("US", ["US", "us", " usa ", "U.S.A.", "United States", "the united states of America"]),
        ("GB", ["GB", "UK", "U.K.", "GBR", "Great Britain", "England", "United Kingdom"]),
        ("NL", ["Netherlands", "The Netherlands", "Holland", "nederland", "NLD"]),
        ("DE", ["Germany", "Deutschland", "DEU", "ALLEMAGNE"]),
        ("AD", ["AND", "and", "Andorra"]),
        ("NA", ["NA", "Namibia"]),
        ("CI", ["Ivory Coast", "Cote d'Ivoire", "C\u00f4te d\u2019Ivoire", "COTE D IVOIRE"]),
        ("CZ", ["Czech Republic", "Czechia"]),
        ("KR", ["South Korea", "Republic of Korea", "Korea, Republic of", "Korea (Republic of)"]),
        ("KP", ["North Korea", "Korea, Democratic People's Republic of", "DPRK"]),
        ("CD", ["DR Congo", "Congo, The Democratic Republic of the", "Congo (Kinshasa)", "COD"]),
        ("CG", ["Republic of the Congo", "Congo-Brazzaville", "COG"]),
        ("TR", ["Turkey", "T\u00fcrkiye", "T\u00dcRK\u0130YE"]),
        ("TT", ["Trinidad & Tobago", "Trinidad and Tobago"]),
        ("LC", ["St. Lucia", "Saint Lucia", "st lucia"]),
        ("BS", ["Bahamas", "The Bahamas", "Bahamas, The"]),
        ("GW", ["Guinea Bissau", "Guinea-Bissau"]),
        ("GN", ["Guinea"]),
        ("SZ", ["Eswatini", "Swaziland"]),
        ("MK", ["North Macedonia", "Macedonia"]),
        ("XK", ["XK", "XKX", "Kosovo"]),
        ("MD", ["Moldova", "Moldova, Republic of", "Moldova (Republic of)"]),
        ("AX", ["Aland Islands", "\u00c5land Islands"]),
        ("BR", ["Brazil", "Brasil"]),
        ("VI", ["US Virgin Islands", "U.S. Virgin Islands", "Virgin Islands, U.S."]),
    ],
)
def test_one_country_has_many_names(code, names):
    """Codes, English names, common aliases and names of large European languages are known."""
    assert {name: country_code(name) for name in names} == dict.fromkeys(names, code)


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", "the", "n/a", "XX", "ZZZ", "Atlantis", "EU", "(", ",", "US or CA", "Antarctica"],
)
def test_what_names_no_country_is_unknown(text):
    """Text that names no country with phone numbers is unknown, not an error."""
    assert country_code(text) is None


@pytest.mark.parametrize("text", ["Congo", "Korea", "Virgin Islands", "America"])
def test_ambiguous_names_are_not_guessed(text):
    """A name of several countries is unknown."""
    assert country_code(text) is None


@pytest.mark.parametrize("region", REGIONS)
def test_every_region_with_numbers_is_known_by_its_code(region):
    """Each region that has a numbering plan is known by its code, whatever the case."""
    assert country_code(region) == country_code(region.lower()) == region


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_gives_a_usable_country_or_none(text):
    """Whatever is found completes a number; whatever is not found raises nothing."""
    code = country_code(text)
    assert code is None or len(normalise(["123"], code)) == 1
