"""Tables in files: a CSV keeps every text, and a target is whole or untouched."""

from __future__ import annotations

import datetime as dt
import os
import resource
import stat
import tempfile
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich.errors import BadInput
from carrier_enrich.files import check_target, read_table, write_table
from carrier_enrich.frames import crosswalk, join_back
from carrier_enrich.model import FIELDS, Answers, Lookup, LookupStatus

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TRICKY = st.sampled_from(["NA", "null", "007", "1e5", "", " ", '"', "a,b;c\td|e", "x\r\ny", "=1+1"])


@settings(max_examples=100, deadline=None)
@given(data=st.data(), width=st.integers(1, 4), line_end=st.sampled_from(["\n", "\r\n"]))
def test_every_text_comes_back_from_a_csv(data, width, line_end):
    """Whatever stands in a cell or a name, writing and reading it again changes nothing."""
    row = st.lists(TEXTS | TRICKY, min_size=width, max_size=width)
    names = ["id", *data.draw(row)]
    rows = data.draw(st.lists(row, max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "crm.csv")
        path.write_bytes(f"id{line_end}".encode())
        columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(-1, width)]
        table = pa.Table.from_arrays(columns, names, metadata=read_table(path).schema.metadata)
        write_table(table, path)
        assert read_table(path).equals(table, check_metadata=True)


@settings(max_examples=50, deadline=None)
@given(cells=st.lists(TEXTS | TRICKY, max_size=6))
def test_every_text_comes_back_from_a_csv_of_one_column(cells):
    """Blank cells too, which alone in a row are blank lines."""
    table = pa.table({"phone": pa.array(cells, pa.string())})
    with tempfile.TemporaryDirectory() as folder:
        write_table(table, Path(folder, "crm.csv"))
        assert read_table(Path(folder, "crm.csv")).equals(table)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_csv_goes_back_as_it_was_written(delimiter, line_end, mark, tmp_path):
    """Separator, line ends and byte order mark of the source are those of the target."""
    lines = [["id", "a,b;c"], ["007", "NA"], ["", "Zoë"]]
    text = line_end.join(
        delimiter.join(f'"{cell}"' if cell == "a,b;c" else cell for cell in line) for line in lines
    )
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(mark + text.encode())
    table = read_table(source)
    assert table.to_pydict() == {"id": ["007", ""], "a,b;c": ["NA", "Zoë"]}
    write_table(table.append_column("carrier", pa.array(["EE", None])), target)
    assert target.read_bytes().startswith(mark)
    assert read_table(target).drop_columns("carrier").equals(table)
    last = target.read_bytes().decode("utf-8-sig").split(line_end)[1:]
    assert last == [f"007{delimiter}NA{delimiter}EE", f"{delimiter}Zoë{delimiter}", ""]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_csv_in_the_encodings_of_spreadsheets_is_read(encoding, tmp_path):
    """Accents survive UTF-8 with and without mark, UTF-16 and Windows-1252."""
    path = tmp_path / "crm.csv"
    path.write_bytes("name;note\r\nZoë;“é”\r\n".encode(encoding))
    assert read_table(path).to_pylist() == [{"name": "Zoë", "note": "“é”"}]


def test_doubled_and_empty_names_and_blank_lines_are_kept_apart(tmp_path):
    """Names may be doubled; a blank line is a row only where there is a single column."""
    path = tmp_path / "crm.csv"
    path.write_text("a,a,\n1,2,3\n\n4,5,6\n")
    assert [column.to_pylist() for column in read_table(path).columns] == [
        *(["1", "4"], ["2", "5"], ["3", "6"])
    ]
    path.write_text("phone\n1\n\n2\n")
    assert read_table(path).to_pydict() == {"phone": ["1", "", "2"]}
    path.write_text("phone,name\n")
    assert read_table(path).to_pydict() == {"phone": [], "name": []}


BROKEN = {
    "row 3 has 1 cells, the header 2": b"a,b\n1,2\n+14155550123\n",
    "a quote is not closed": b'a,b\n1,"2\n3,4\n+14155550123,5\n',
    "no header": b"\na,b\n",
    "neither UTF-8 nor Windows-1252": b"a,b\n1,\x81\n",
    "a ZIP archive or an Excel workbook": b"PK\x03\x04rest",
    "a gzip archive": b"\x1f\x8brest",
    "not a whole Parquet file": b"PAR1 and no more",
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_file_is_one_clear_line_without_its_numbers(message, tmp_path):
    """What can't be read is bad input that names the file and the fault, not the data."""
    path = tmp_path / "crm.csv"
    path.write_bytes(BROKEN[message])
    with pytest.raises(BadInput) as caught:
        read_table(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "4155550" not in str(caught.value)


def test_a_file_is_what_its_first_bytes_say(tmp_path):
    """Parquet is read under any name; text named as Parquet, and nothing at all, are refused."""
    table = pa.table({"a": [1]})
    write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(tmp_path / "a.export")
    assert read_table(tmp_path / "a.export").equals(table)
    (tmp_path / "b.parquet").write_text("a\n1\n")
    with pytest.raises(BadInput, match="is not a Parquet file"):
        read_table(tmp_path / "b.parquet")
    with pytest.raises(BadInput, match="No such file"):
        read_table(tmp_path / "none.csv")


def test_parquet_in_a_folder_with_an_equals_sign_gets_no_column(tmp_path):
    """A folder named like a partition adds nothing to the table."""
    folder = tmp_path / "day=2026-01-01"
    folder.mkdir()
    write_table(pa.table({"a": [1]}), folder / "a.parquet")
    assert read_table(folder / "a.parquet").column_names == ["a"]


def test_parquet_keeps_types_and_metadata(tmp_path):
    """A Parquet table comes back equal, but does not keep how a CSV was written."""
    table = pa.table(
        {"id": pa.array([2**60]), "kind": pa.array(["x"]).dictionary_encode()},
        metadata={"made": "by hand"},
    )
    write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table, check_metadata=True)
    (tmp_path / "b.csv").write_text("a\n1\n")
    write_table(read_table(tmp_path / "b.csv"), tmp_path / "b.parquet")
    assert read_table(tmp_path / "b.parquet").schema.metadata is None


def test_values_of_other_types_have_one_text_in_a_csv(tmp_path):
    """Long integers, doubles that hold them, times and truth values keep every digit."""
    moment = pa.array([dt.datetime(2026, 1, 2, tzinfo=dt.UTC), None], pa.timestamp("ns", "UTC"))
    table = pa.table(
        {
            "integer": pa.array([2**60 + 1, None]),
            "double": pa.array([447400123456.0, None]),
            "moment": moment,
            "truth": pa.array([True, None]),
        }
    )
    write_table(table, tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").to_pylist() == [
        {
            "integer": "1152921504606846977",
            "double": "447400123456.0",
            "moment": "2026-01-02 00:00:00.000000000Z",
            "truth": "True",
        },
        dict.fromkeys(table.column_names, ""),
    ]


def test_a_target_that_can_not_be_written_is_told_before(tmp_path):
    """A wrong suffix, a missing folder, a folder in place of a file: each is bad input."""
    (tmp_path / "folder.csv").mkdir()
    for name in ("a.xlsx", "nowhere/a.csv", "folder.csv"):
        with pytest.raises(BadInput):
            check_target(tmp_path / name)
    with pytest.raises(BadInput, match="'tags' holds list"):
        check_target(tmp_path / "a.csv", table := pa.table({"tags": [["a"]]}).schema)
    check_target(tmp_path / "a.parquet", table)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    """The target takes the new content in one step or keeps the old one, and nothing is left."""
    target = tmp_path / "a.csv"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_table(pa.table({"a": ["x" * 100] * 1_000}), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_keeps_the_mode_and_the_link_of_the_old_one(tmp_path):
    """Who may read the target stays the same, and a link goes on pointing to it."""
    target, link = tmp_path / "a.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_table(pa.table({"a": ["1"]}), link)
    assert link.is_symlink()
    assert target.read_text() == "a\n1\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write_table(pa.table({"a": ["1"]}), tmp_path / "new.csv")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o666 & ~umask


def cells_of(column) -> list[str | None]:
    """The cells of a text column of any library."""
    if isinstance(column, pd.Series):
        return column.astype(object).where(column.notna(), None).to_list()
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()


@settings(max_examples=25, deadline=None)
@given(
    cells=st.lists(
        st.tuples(
            st.sampled_from(
                ["+44 20 7946 0018", "020 7946 0018", "14155550123", "n/a", "", None, "\u0660x"]
            ),
            st.sampled_from(["UK", "United States", "Atlantis", "", None, "NA"]),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_the_same_content_gives_the_same_answers_in_every_kind(cells, tmp_path_factory):
    """Through pandas, pyarrow, polars, Parquet and CSV, digests and answers are equal."""
    folder = tmp_path_factory.mktemp("kinds")
    table = pa.table(
        {
            "phone": pa.array([phone for phone, _ in cells], pa.string()),
            "home": pa.array([home for _, home in cells], pa.string()),
        }
    )
    write_table(table, folder / "crm.parquet")
    write_table(table, folder / "crm.csv")
    frames = [
        table,
        pa.Table.from_batches(table.to_batches(max_chunksize=1), table.schema),
        table.to_pandas(),
        pl.from_arrow(table),
        read_table(folder / "crm.parquet"),
        read_table(folder / "crm.csv"),
    ]
    results = []
    for frame in frames:
        walk = crosswalk(frame, "phone", country_column="home", country="GB")
        answers = Answers.of(
            (number, Lookup(LookupStatus.FOUND, carrier=str(number), city="x"))
            for number in walk.numbers.tolist()[1:]
        )
        out = join_back(frame, walk, answers, columns=FIELDS)
        assert type(out) is type(frame)
        columns = [cells_of(out[name]) for name in (*FIELDS, "lookup_status")]
        results.append((walk.digest, walk.missing, walk.invalid, columns))
    assert all(result == results[0] for result in results)
