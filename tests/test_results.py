"""Result files of every form, read as the answers that were bought or refused with a reason."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carrier_enrich.errors import BadResultFile
from carrier_enrich.model import FIELDS, Lookup, LookupStatus, Product
from carrier_enrich.results import ResultFile, max_bytes_of, read_result

HEADER = "identifier,carrier,underlying_carrier,number_type,country_code,region,city"
ROWS = (
    "14155550123,Verizon,,mobile,US,California,\n"
    "14155550124,,,,US,,\n"
    "264811234567,MTC,Other,mobile,NA,Khomas,Windhoek\n"
)
CSV = f"{HEADER}\n{ROWS}"
ANSWERS = {
    14155550123: Lookup(
        LookupStatus.FOUND,
        carrier="Verizon",
        number_type="mobile",
        country_code="US",
        region="California",
    ),
    14155550124: Lookup(LookupStatus.UNALLOCATED, country_code="US"),
    264811234567: Lookup(
        LookupStatus.FOUND,
        carrier="MTC",
        underlying_carrier="Other",
        number_type="mobile",
        country_code="NA",
        region="Khomas",
        city="Windhoek",
    ),
}
ASKED = sorted([*ANSWERS, 14155550199])


@pytest.fixture
def read(tmp_path):
    """Reads a text, bytes, or the members of a ZIP as a result file."""

    def reading(
        content: str | bytes | Mapping[str, str | bytes], asked: Sequence[int] = ASKED
    ) -> ResultFile:
        path = tmp_path / "result"
        path.write_bytes(zipped(content) if isinstance(content, Mapping) else raw(content))
        return read_result(path, np.array(asked, np.int64), product=Product.CARRIER_BATCH)

    return reading


def raw(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, raw(content))
    return packed.getvalue()


def known(result: ResultFile) -> dict[int, Lookup]:
    return dict(result.answers.pairs())


# Forms that are read


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.rstrip("\n"),
        f"\n\n{CSV}\n\n",
        f"\ufeff{CSV}",
        CSV.encode("utf-16"),
        CSV.replace("\n", "\r\n"),
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace(",", "|"),
        CSV.upper().replace("VERIZON", "Verizon").replace("MOBILE", "mobile")
        .replace("CALIFORNIA", "California").replace("OTHER", "Other")
        .replace("KHOMAS", "Khomas").replace("WINDHOEK", "Windhoek"),
        CSV.replace("number_type", " Number Type ").replace("country_code", '"countryCode"'),
        CSV.replace("14155550123", "+14155550123").replace("264811234567", '"+264811234567"'),
        CSV.replace("14155550123", " +1 (415) 555-0123 ").replace("264811234567", "264811234567.0"),
        CSV.replace("identifier", "MSISDN"),
        CSV.replace("identifier", "Phone Number"),
        CSV.replace(",carrier,", ",extra.carrier,").replace(",region", ",extra_region"),
        ROWS,
        f"note,{HEADER},note\n" + "".join(f"x,{row},y\n" for row in ROWS.splitlines()),
        {"result.csv": CSV},
        {"out/result.txt": CSV},
        {"README.txt": "Read me, please", "result.CSV": CSV, "data.json": "{}"},
        {"__MACOSX/._result.csv": b"\x00\x05", ".DS_Store": b"\x00", "a/": "", "a/r.csv": CSV},
        {"summary.txt": "3 numbers checked", "failed.csv": "identifier\n1\n", "r.csv": CSV},
        {
            "part-1.csv": f"{HEADER}\n{ROWS.splitlines()[0]}\n",
            "part-2.csv": "".join(f"{row}\n" for row in ROWS.splitlines()[1:]),
            "part-3.csv": f"{HEADER}\n",
            "part-4.csv": "",
        },
    ],
)  # fmt: skip
def test_forms(read, content):
    """Whatever the order, case, quoting, line ends or packing: the same answers are read."""
    result = read(content)
    assert known(result) == ANSWERS
    assert (result.rows, result.doubled, result.foreign) == (3, 0, 0)
    assert result.answers.numbers.dtype == np.int64
    assert result.answers.codes.dtype == np.int32


def test_any_column_order_and_missing_columns(read):
    """Columns are found by name; one that is missing is null."""
    result = read("city,carrier,identifier\nOakland,Verizon,14155550123\n")
    assert known(result) == {
        14155550123: Lookup(LookupStatus.FOUND, carrier="Verizon", city="Oakland")
    }


def test_quoted_fields(read):
    """Delimiters, quotes and line breaks inside quotes belong to the text."""
    result = read('identifier,carrier\n14155550123,"AT&T, ""Wireless""\nInc."\n')
    assert result.answers.lookups[0].carrier == 'AT&T, "Wireless"\nInc.'


def test_a_quoted_line_break_far_down_a_long_file(read):
    """However late the first quote comes: its line break belongs to the text."""
    asked = [*range(14155500000, 14155500000 + 400_000), 14155999999]
    plain = "".join(f"{number},Verizon\n" for number in asked[:-1])
    result = read(f'identifier,carrier\n{plain}{asked[-1]},"A\nB"\n', asked)
    assert len(result.answers) == len(asked)
    assert known(result)[14155999999].carrier == "A\nB"


@pytest.mark.parametrize("text", ["NA", "null", "NULL", "N/A", "nan", "None", "-", "0", "007"])
def test_text_stays_text(read, text):
    """No text is taken for a null or a number: NA is Namibia, and a carrier may be called None."""
    result = read(f"identifier,carrier,country_code\n14155550123,{text},{text}\n")
    assert known(result) == {
        14155550123: Lookup(LookupStatus.FOUND, carrier=text, country_code=text)
    }


def test_flags(read):
    """Columns `registered` and `exists`, where a file has them, decide as they do in a check."""
    result = read(
        "identifier,registered,exists,carrier,country_code\n"
        "14155550123,true,True,,US\n"
        "14155550124,FALSE,1,,US\n"
        "14155550199,,no,,\n"
        "264811234567,,,,NA\n"
    )
    assert {number: lookup.status for number, lookup in result.answers.pairs()} == {
        14155550123: LookupStatus.FOUND,
        14155550124: LookupStatus.UNALLOCATED,
        14155550199: LookupStatus.UNDETERMINED,
        264811234567: LookupStatus.UNALLOCATED,
    }


def test_no_rows(read):
    """A file with a header and no row holds no answer."""
    for content in (HEADER, f"{HEADER}\n", {"r.csv": f"{HEADER}\n"}):
        result = read(content)
        assert (len(result.answers), result.rows) == (0, 0)


def test_nothing_asked(read):
    """Where nothing was asked for, every row is foreign."""
    assert read(CSV, []).foreign == 3


# Rows that do not fit


def test_foreign_rows(read):
    """Rows about other numbers, or about none, are ignored and counted."""
    others = ["442071838750", "014155550199", "1.41556E+10", "", "-14155550199x", "9" * 30, "n/a"]
    result = read(CSV + "".join(f"{other},X,,,GB,,\n" for other in others))
    assert known(result) == ANSWERS
    assert (result.rows, result.foreign) == (3 + len(others), len(others))


def test_a_leading_zero_is_another_number(read):
    """An identifier with a leading zero never becomes the number without it."""
    result = read("identifier,carrier\n014155550123,X\n")
    assert (len(result.answers), result.foreign) == (0, 1)


def test_doubled_rows(read):
    """A row that is there twice counts once, also over several members."""
    result = read({"1.csv": CSV, "2.csv": f"{HEADER}\n" + ROWS.splitlines()[0]})
    assert known(result) == ANSWERS
    assert (result.rows, result.doubled) == (4, 1)


def test_two_answers_for_one_number(read):
    """A number with two different answers makes the file unusable; the error masks it."""
    with pytest.raises(BadResultFile, match="two different things") as caught:
        read(CSV + "14155550123,AT&T,,mobile,US,California,\n")
    assert "14155550123" not in str(caught.value)


def test_two_answers_for_a_foreign_number(read):
    """What a file says of numbers that were not asked for does not matter."""
    result = read(f"{CSV}442071838750,A,,,GB,,\n442071838750,B,,,GB,,\n")
    assert (known(result), result.foreign) == (ANSWERS, 2)


@pytest.mark.parametrize("kept", [-3, -1])
def test_a_cut_last_row(tmp_path, kept):
    """Where rows are missing, a last row without a line end was cut, and its text is no answer."""
    path = tmp_path / "result"
    path.write_text(CSV[:kept])
    asked = np.array(ASKED, np.int64)
    cut = read_result(path, asked, product=Product.CARRIER_BATCH, expected=4)
    assert known(cut) == {n: lookup for n, lookup in ANSWERS.items() if n != 264811234567}
    whole = read_result(path, asked, product=Product.CARRIER_BATCH, expected=3)
    assert known(whole).keys() == ANSWERS.keys()


@pytest.mark.parametrize("content", [CSV, CSV.replace("\n", "\r\n"), CSV.encode("utf-16")])
def test_an_ended_last_row(tmp_path, content):
    """Where rows are missing, a last row with its line end is an answer like the others."""
    path = tmp_path / "result"
    for written in (raw(content), zipped({"r.csv": raw(content).rstrip(b"\n")})):
        path.write_bytes(written)
        asked = np.array(ASKED, np.int64)
        result = read_result(path, asked, product=Product.CARRIER_BATCH, expected=4)
        assert known(result).keys() == ANSWERS.keys()


# What is refused


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no table"),
        (b"\n\n", "no table"),
        ("<html><body>Sign in</body></html>", "no table"),
        ('{"code": 0}', "no table"),
        (bytes(range(256)), "no table"),
        ("carrier,city\nVerizon,Oakland\n", "no table"),
        ("identifier\n14155550123\n", "no table"),
        ("identifier,country_code\n14155550123,US\n", "no table"),
        ("14155550123\n14155550124\n", "no table"),
        ("14155550123,a,b,c,not a country,e,f\n", "no table"),
        ({"result.xml": CSV}, "no table"),
        ({"README.csv": CSV}, "no table"),
        ({"inner.zip": zipped({"r.csv": CSV})}, "no table"),
        ({}, "no table"),
        (f"{CSV}14155550199,X\n", "no whole table"),
        (CSV.replace("Verizon", "T\xe9l").encode("latin-1"), "no whole table"),
        (f"{HEADER},carrier\n", "two columns for carrier"),
        ("identifier,registered\n14155550123,perhaps\n", "neither true nor false"),
        (b"PK\x03\x04 and nothing more", "no whole ZIP"),
        (zipped({"r.csv": CSV})[:-30], "no whole ZIP"),
        ({"../r.csv": CSV}, "leads out"),
        ({"a/../../r.csv": CSV}, "leads out"),
        ({"/etc/r.csv": CSV}, "leads out"),
        ({"C:\\r.csv": CSV}, "leads out"),
        ({"..\\r.csv": CSV, "r.csv": CSV}, "leads out"),
        ({"r.csv": HEADER + "\n" + ROWS * 200_000}, "could fill"),
        ({f"{n}.csv": HEADER + "\n" + ROWS * 2_000 for n in range(10)}, "could fill"),
        ({"r.csv": HEADER + "\n" + "0" * 30_000_000}, "could fill"),
        (HEADER + "\n" + ROWS * 20_000, "more than"),
    ],
)
def test_refused(read, content, reason):
    """What is no table, is torn, plays tricks or is too large says so, and shows no number."""
    with pytest.raises(BadResultFile, match=reason) as caught:
        read(content)
    assert "result" in str(caught.value)
    assert "141555501" not in str(caught.value)


def patched(archive: bytes, marks: Mapping[bytes, int], value: int) -> bytes:
    """The archive with a byte changed at an offset behind each header's signature."""
    changed = bytearray(archive)
    for signature, offset in marks.items():
        changed[changed.index(signature) + offset] = value
    return bytes(changed)


def test_encrypted(read):
    """An archive that asks for a password is refused."""
    archive = patched(zipped({"r.csv": CSV}), {b"PK\x03\x04": 6, b"PK\x01\x02": 8}, 1)
    with pytest.raises(BadResultFile, match="encrypted"):
        read(archive)


def test_unusual_packing(read):
    """An archive packed by a method other than deflate is refused."""
    archive = patched(zipped({"r.csv": CSV}), {b"PK\x03\x04": 8, b"PK\x01\x02": 10}, 12)
    with pytest.raises(BadResultFile, match="method"):
        read(archive)


@pytest.mark.parametrize("damage", [40, 60, 90])
def test_damaged(read, damage):
    """An archive whose packed bytes or names are damaged is refused."""
    archive = bytearray(zipped({"r.csv": CSV}))
    archive[damage] ^= 0xFF
    with pytest.raises(BadResultFile):
        read(bytes(archive))


def test_the_file_is_kept(read, tmp_path):
    """A file that is refused stays as it is, and nothing is unpacked beside it."""
    with pytest.raises(BadResultFile):
        read({"../r.csv": CSV})
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == zipped({"../r.csv": CSV})


def test_generous_bound():
    """Rows of the longest reasonable texts stay within the bound."""
    assert max_bytes_of(1_000) > 1_000 * 700


# Round trips

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=8
) | st.sampled_from(["NA", "AT&T, Inc.", 'a"b', "a\nb", "\t", "+1", "=1+1", "true"])
LOOKUPS = st.lists(st.tuples(*[TEXTS] * len(FIELDS)), min_size=1, max_size=4)


def expected_of(texts: Sequence[str]) -> Lookup:
    values = {
        name: text if text.strip() else None for name, text in zip(FIELDS, texts, strict=True)
    }
    says = any(value for name, value in values.items() if name != "country_code")
    return Lookup(LookupStatus.FOUND if says else LookupStatus.UNALLOCATED, **values)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_round_trip(tmp_path: Path, data: st.DataObject):
    """Any answers, written in any form, shuffled and split, are read as they were written."""
    numbers = data.draw(st.lists(st.integers(10**5, 10**15 - 1), unique=True, max_size=12))
    lookups = data.draw(LOOKUPS)
    rows = {number: data.draw(st.sampled_from(lookups)) for number in numbers}
    order = data.draw(st.permutations(["identifier", *FIELDS, "other"]))
    written = data.draw(st.permutations(numbers))
    asked = [number for number in sorted(numbers) if data.draw(st.booleans())]
    parts = data.draw(st.integers(0, 3))
    delimiter, end = data.draw(st.sampled_from(",;\t|")), data.draw(st.sampled_from(["\n", "\r\n"]))
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    plus = data.draw(st.sampled_from(["", "+"]))

    def text_of(some: Sequence[int]) -> str:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
        writer.writerow(order)
        for number in some:
            texts = dict(zip(FIELDS, rows[number], strict=True))
            fields = {**texts, "identifier": f"{plus}{number}", "other": "?"}
            writer.writerow([fields[name] for name in order])
        return out.getvalue()

    path = tmp_path / "result"
    if parts:
        content = zipped({f"{n}.csv": text_of(written[n::parts]) for n in range(parts)})
    else:
        content = text_of(written).encode()
    path.write_bytes(content)
    result = read_result(path, np.array(asked, np.int64), product=Product.GLOBAL_CARRIER_BATCH)
    assert known(result) == {number: expected_of(rows[number]) for number in asked}
    assert result.answers.numbers.tolist() == asked
    assert (result.rows, result.doubled) == (len(numbers), 0)
    assert result.foreign == len(numbers) - len(asked)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary(max_size=80)
    | st.text(max_size=60).map(lambda text: f"{HEADER}\n{text}".encode("utf-8", "replace"))
    | st.binary(max_size=40).map(lambda tail: zipped({"r.csv": CSV})[: 60 + len(tail)] + tail)
)
def test_any_bytes(tmp_path: Path, content: bytes):
    """Any bytes at all are read as a result file or refused as a bad one."""
    path = tmp_path / "result"
    path.write_bytes(content)
    try:
        result = read_result(path, np.array(ASKED, np.int64), product=Product.CARRIER_BATCH)
        consistent = result.rows == result.foreign + result.doubled + len(result.answers)
    except BadResultFile as error:
        consistent = "result" in str(error)
    assert consistent


def test_many_distinct_answers(read):
    """Where nearly every row differs in every column, each number still has its own answer."""
    numbers = list(range(10**10, 10**10 + 3_000))
    rows = [f"{n},a{n},b{n % 997},c{n % 991},{n % 983},d{n % 977},e{n % 971}" for n in numbers]
    result = read("\n".join([HEADER, *reversed(rows)]), numbers)
    for number, lookup in result.answers.pairs():
        assert lookup.carrier == f"a{number}"
        assert lookup.city == f"e{number % 971}"
    assert len(result.answers) == 3_000


def test_several_blocks(read):
    """A file larger than one block of the reader is read across its blocks."""
    numbers = list(range(10**10, 10**10 + 60_000))
    rows = [f"{n},Carrier {n % 70},,mobile,US,{'R' * 40},{n % 7}" for n in numbers]
    result = read("\n".join([HEADER, *rows]), numbers)
    assert result.rows == len(result.answers) == 60_000
    assert all(lookup.carrier == f"Carrier {n % 70}" for n, lookup in result.answers.pairs())
    assert len(result.answers.lookups) == 70
