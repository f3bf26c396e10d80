"""The sample CRM export: made by its script, and as hard to read as a real one."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import phonenumbers
import pytest

from carrier_enrich.files import read_table
from carrier_enrich.frames import crosswalk
from carrier_enrich.phones import Reason, country_code
from carrier_enrich.sandbox import crm_export as module
from carrier_enrich.sandbox.crm_export import COUNTRIES, JUNK, contacts, crm_export

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_data"
PHONES = ("mobile", "office_phone")


@pytest.fixture(scope="module")
def people():
    return contacts()


@pytest.fixture(scope="module")
def walk():
    return crosswalk(crm_export(), PHONES, country_column="country")


def test_the_committed_samples_are_what_the_script_makes(tmp_path):
    """Running the script into an empty folder gives tables equal to the committed ones."""
    subprocess.run(
        [sys.executable, SAMPLES / "make_crm_export.py", tmp_path],
        check=True,
        capture_output=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["crm_export.parquet", "crm_export_small.csv"]
    for name in made:
        assert read_table(tmp_path / name).equals(read_table(SAMPLES / name))
    assert read_table(SAMPLES / "crm_export.parquet").num_rows == 6_000
    assert read_table(SAMPLES / "crm_export_small.csv").num_rows == 200


def test_a_seed_decides_everything():
    """The same seed gives the same table, another one another."""
    assert crm_export(300, seed=1).equals(crm_export(300, seed=1))
    assert not crm_export(300, seed=1).equals(crm_export(300, seed=2))


def test_the_generator_stands_apart_from_the_package():
    """Like all of the sandbox it imports nothing of the package outside of the sandbox."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if name
    }
    outside = {name for name in imported if name.startswith("carrier_enrich")}
    assert all(name.startswith("carrier_enrich.sandbox") for name in outside)


def test_every_number_that_was_meant_is_valid(people):
    """`phonenumbers` finds each number valid, and each of the country that it was made for."""
    cells = [cell for person in people for cell in (person.mobile, person.office_phone)]
    meant = {cell.number for cell in cells if cell.number is not None}
    parsed = [phonenumbers.parse(f"+{number}") for number in meant]
    assert all(map(phonenumbers.is_valid_number, parsed))
    regions = Counter(map(phonenumbers.region_code_for_number, parsed))
    assert set(regions) == {country.code for country in COUNTRIES}
    assert {code for code, count in regions.items() if count >= 1_000} == {"GB", "US"}


def test_north_american_numbers_are_fictitious(people):
    """They end in 555-01xx, which no subscriber has."""
    cells = [cell for person in people for cell in (person.mobile, person.office_phone)]
    american = {str(cell.number) for cell in cells if str(cell.number).startswith("1")}
    assert american
    assert all(digits[4:9] == "55501" for digits in american)


def may_be_at_home(person, cell) -> bool:
    """Whether bare digits of another country are a possible number of the row's country too."""
    bare = cell.text.strip().removesuffix(".0")
    country = country_code(person.country or "")
    if not (bare.isascii() and bare.isdigit() and bare[0] != "0" and country):
        return False
    at_home = phonenumbers.parse(bare, country)
    is_of_home = str(cell.number).startswith(str(at_home.country_code))
    return not is_of_home and phonenumbers.is_possible_number(at_home)


def test_cells_are_read_as_they_were_meant(people, walk):
    """With a plus or beside a known country no cell is misread, few are refused; junk is."""
    read, refused, unclear = 0, 0, 0
    for name, column in zip(PHONES, walk.columns, strict=True):
        for person, at in zip(people, column.index.tolist(), strict=True):
            cell = getattr(person, name)
            if cell.number is None:
                assert at < 0
            elif may_be_at_home(person, cell):
                unclear += 1
            elif "+" in cell.text or country_code(person.country or "") is not None:
                assert at < 0 or walk.numbers[at] == cell.number
                read, refused = (read + 1, refused) if at >= 0 else (read, refused + 1)
    assert read > 9_000
    assert refused < 0.005 * read
    assert unclear < 0.001 * read


def test_the_export_is_as_messy_as_a_real_one(people, walk):
    """Blanks, junk, shared switchboards, doubled people and odd countries are all in it."""
    table = crm_export()
    assert table.num_rows == len(people) == walk.rows
    assert walk.missing > 1_500
    assert {Reason.NOT_A_NUMBER, Reason.PRECISION_LOST, Reason.NO_COUNTRY} <= set(walk.invalid)
    assert walk.unknown_countries > 50
    texts = set(table["mobile"].to_pylist()) | set(table["office_phone"].to_pylist())
    assert set(JUNK) | {None, "", "   "} <= texts
    for mark in ("tel:", "'+", "00", "011 ", "(0)", ".0", " ext. ", "\N{FULLWIDTH PLUS SIGN}"):
        assert any(mark in text for text in texts if text)
    assert len(set(table["email"].to_pylist())) < table.num_rows - 100
    assert len(walk.numbers) < 0.8 * (2 * walk.rows - walk.missing)
    spelled = set(table["country"].to_pylist())
    assert {"United Kingdom", "UK", "GB", "Great Britain", None, ""} <= spelled
