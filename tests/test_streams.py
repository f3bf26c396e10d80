"""Files in two passes: the same rows as in memory, whole or not at all, whatever their size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich import streams
from carrier_enrich.blocks import ahead, behind
from carrier_enrich.errors import BadInput
from carrier_enrich.files import read_table, write_table
from carrier_enrich.frames import Demand, crosswalk, join_back
from carrier_enrich.model import Answers, Lookup, LookupStatus
from carrier_enrich.streams.register import Register

CELLS = [
    "+447400123456", "+44 7400 123456", "07400 123456", "+14155550123", "(415) 555-0123", None, "",
    "+49030123456", "+4930123456", "+1", "n/a", "+12345", "+999123456789", "4.4E+11",
    "+4915112345678", "+44 (0)7400 123456", "\uff0b447400123456", "+447400123456 ext. 5",
]  # fmt: skip

HOMES = ["GB", "Germany", "US", "", None, "Atlantis"]
DEEP = pa.struct({"x": pa.int64(), "phone": pa.string()})


def answers_to(demand: Demand) -> Answers:
    """An answer to most of the numbers, in no certain order."""
    numbers = [n for n in demand.numbers.tolist() if n % 5]
    random.Random(1).shuffle(numbers)
    return Answers.of(
        (n, Lookup(LookupStatus.FOUND, f"Carrier {n % 7}", None, "mobile", "GB", f"R{n % 3}"))
        for n in numbers
    )


def rows_of(count: int, chance: random.Random) -> pa.Table:
    """Rows of every kind of column."""
    return pa.table(
        {
            "id": list(range(count)),
            "phone": pa.array([chance.choice(CELLS) for _ in range(count)], pa.string()),
            "office": pa.array([chance.choice(CELLS) for _ in range(count)]).dictionary_encode(),
            "home": [chance.choice(HOMES) for _ in range(count)],
            "tags": pa.array([["a", None]] * count, pa.list_(pa.string())),
            "deep": pa.array([{"x": i, "phone": "+1"} for i in range(count)], DEEP),
        },
        metadata={"made": "by hand"},
    )


def enriched(source: Path | str, target: Path | str, phone: Any, **options: Any) -> streams.Written:
    """Both passes, with an answer to most numbers between them."""
    names = {k: options.pop(k) for k in ("columns", "prefix", "excel_safe") if k in options}
    with streams.reading(source, phone, target=target, **names, **options) as read:
        return streams.write(read, answers_to(read.demand), target, **names)


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(0, 60),
    batch_rows=st.integers(1, 70),
    seed=st.integers(0, 9),
    kind=st.sampled_from(["parquet", "csv"]),
)
def test_a_file_in_pieces_gives_what_a_table_in_memory_gives(
    count, batch_rows, seed, kind, tmp_path_factory
):
    """Rows, order, schema, metadata, answers and the plan's digest are the same."""
    folder = tmp_path_factory.mktemp("pieces")
    table = rows_of(count, random.Random(seed))
    if kind == "csv":
        table = table.drop_columns(["tags", "deep"])
        table = table.set_column(2, "office", table["office"].cast(pa.string()))
    source, target = folder / f"in.{kind}", folder / f"out.{kind}"
    write_table(table, source)
    table = read_table(source)
    phones, home = ["phone", "office"], {"country": "GB", "country_column": "home"}
    with streams.reading(source, phones, batch_rows=batch_rows, **home) as read:
        written = streams.write(read, answers_to(read.demand), target, prefix="p_")
        demand = read.demand
    walk = crosswalk(table, phones, **home)
    assert demand.digest == walk.digest
    assert demand.numbers.tolist() == walk.numbers.tolist()
    assert demand.countries.tolist() == walk.countries.tolist()
    assert (demand.rows, demand.missing, demand.invalid) == (walk.rows, walk.missing, walk.invalid)
    wanted = join_back(table, walk, answers_to(walk), prefix="p_")
    found = read_table(target)
    if kind == "parquet":
        assert found.equals(wanted, check_metadata=True)
    else:
        blank = [{k: v or "" for k, v in row.items()} for row in wanted.to_pylist()]
        assert found.to_pylist() == blank
    assert int(written.cells.sum()) == 2 * count


def test_a_folder_becomes_a_folder_of_the_same_files(tmp_path):
    """Names of folders count as columns, every file keeps its own schema, markers are no data."""
    source, target = tmp_path / "in", tmp_path / "out"
    for at, home in enumerate(["GB", "US", "__HIVE_DEFAULT_PARTITION__"]):
        folder = source / "year=2026" / f"home={home}"
        folder.mkdir(parents=True)
        table = rows_of(20 + at, random.Random(at)).drop_columns(["home"])
        write_table(table if at else table.drop_columns(["tags"]), folder / "part-0.parquet")
    (source / "_SUCCESS").touch()
    (source / ".hidden.parquet").write_bytes(b"no data")
    written = enriched(source, target, "phone", country_column="home", batch_rows=7)
    assert int(written.cells.sum()) == 63
    names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*.parquet"))
    assert names == sorted(p.relative_to(source).as_posix() for p in source.rglob("part*"))
    for name in names:
        before, after = pq.ParquetFile(source / name).read(), pq.ParquetFile(target / name).read()
        assert after.select(before.column_names).equals(before)
        assert after.column_names[len(before.column_names) :][0] == "carrier"
    british = read_table(target / "year=2026" / "home=GB" / "part-0.parquet").to_pylist()
    assert {r["lookup_status"] for r in british if r["phone"] == "07400 123456"} <= {
        "found",
        "not_checked",
    }
    american = read_table(target / "year=2026" / "home=US" / "part-0.parquet").to_pylist()
    assert {r["lookup_status"] for r in american if r["phone"] == "07400 123456"} <= {"invalid"}
    assert len(read_table(target)) == 63
    assert set(read_table(target)["home"].to_pylist()) == {"GB", "US", None}


def test_a_folder_takes_the_place_of_the_one_before_it(tmp_path):
    """What an earlier run has left does not stay among the new files."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    target.mkdir()
    write_table(rows_of(5, random.Random(1)), source / "a.parquet")
    (target / "old.parquet").write_bytes(b"old")
    enriched(source, target, "phone")
    assert [path.name for path in target.iterdir()] == ["a.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_url_is_as_good_as_a_path(kind):
    """Any file system of fsspec is read from and written to, and keeps no half-written file."""
    system = fsspec.filesystem("memory")
    table = rows_of(30, random.Random(2)).select(["id", "phone"])
    write_table(table, f"memory://crm/in.{kind}")
    enriched(f"memory://crm/in.{kind}", f"memory://crm/out.{kind}", "phone", batch_rows=8)
    enriched(f"memory://crm/in.{kind}", f"memory://crm/out.{kind}", "phone")
    found = read_table(f"memory://crm/out.{kind}")
    assert found.select(["id", "phone"]).equals(read_table(f"memory://crm/in.{kind}"))
    assert sorted(system.ls("/crm", detail=False)) == [f"/crm/in.{kind}", f"/crm/out.{kind}"]
    system.rm("/crm", recursive=True)


def test_a_folder_behind_a_url_becomes_a_folder():
    """Datasets too."""
    system = fsspec.filesystem("memory")
    write_table(rows_of(9, random.Random(3)), "memory://crm/in/home=GB/a.parquet")
    write_table(rows_of(9, random.Random(4)), "memory://crm/in/b.parquet")
    for _ in range(2):
        enriched("memory://crm/in", "memory://crm/out", "phone")
    found = sorted(system.find("/crm/out"))
    assert found == ["/crm/out/b.parquet", "/crm/out/home=GB/a.parquet"]
    system.rm("/crm", recursive=True)


def test_a_source_that_changes_between_the_passes_is_refused(tmp_path):
    """Answers never stand beside rows that they were not read from."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    for rows in (10, 8, 12):
        write_table(rows_of(10, random.Random(5)), source)
        with streams.reading(source, "phone", batch_rows=4) as read:
            write_table(rows_of(rows, random.Random(6)), source)
            with pytest.raises(BadInput, match=r"in.parquet has changed while it was read"):
                streams.write(read, answers_to(read.demand), target)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [
        ("in.parquet", "in.parquet", "is the source too"),
        ("in.parquet", "link.parquet", "is the source too"),
        ("in.parquet", "out.csv", "column 'tags' holds list"),
        ("in.parquet", "out.xlsx", "its suffix is none of"),
        ("in.parquet", "folder", "its suffix is none of"),
        ("in.parquet", "none/out.parquet", "its folder is not there"),
        ("folder", "out.csv", "a folder of files can't become one CSV"),
        ("folder", "in.parquet", "is a file: name a folder"),
        ("empty", "out", "is a folder without Parquet files"),
        ("none.parquet", "out.parquet", "can't be read: No such file"),
        ("nowhere://x/in.parquet", "out.parquet", "can't be reached"),
    ],
)
def test_what_can_not_be_written_is_known_before_anything_is_read(source, target, line, tmp_path):
    """One clear line each, and nothing is left behind."""
    write_table(rows_of(3, random.Random(7)), tmp_path / "in.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "in.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").mkdir()
    write_table(rows_of(3, random.Random(7)), tmp_path / "folder" / "a.parquet")
    place = source if "://" in source else tmp_path / source
    with (
        pytest.raises(BadInput, match=line),
        streams.reading(place, "phone", target=tmp_path / target),
    ):
        pass
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_that_ends_too_soon_leaves_the_old_target(tmp_path):
    """Half of a download is bad input, and the target is what it was."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    write_table(rows_of(2_000, random.Random(8)), source)
    data = source.read_bytes()
    source.write_bytes(data[:200] + b"\0" * 3_000 + data[3_200:])
    target.write_bytes(b"old")
    with pytest.raises(BadInput, match=r"in.parquet is not a whole Parquet file"):
        enriched(source, target, "phone", batch_rows=64)
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


def test_compression_and_dictionaries_are_those_of_the_source(tmp_path):
    """A file is written as it came: same codec, dictionaries where they gained."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({"phone": [f"+4474{i:08d}" for i in range(200_000)], "city": ["A"] * 200_000})
    pq.write_table(table, source, compression="zstd")
    enriched(source, target, "phone")
    group = pq.ParquetFile(target).metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    has = {name: column.has_dictionary_page for name, column in columns.items()}
    assert has == {
        "phone": False,
        "city": True,
        **dict.fromkeys(columns.keys() - table.column_names, True),
    }


def test_marks_for_spreadsheets_are_set_in_every_piece(tmp_path):
    """A CSV that people open in a spreadsheet is text to it from the first row to the last."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    write_table(pa.table({"phone": ["+447400123456"] * 10}), source)
    enriched(source, target, "phone", excel_safe=True, batch_rows=3)
    assert target.read_bytes().startswith(b"\xef\xbb\xbf")
    assert set(read_table(target)["phone"].to_pylist()) == {"'+447400123456"}


def test_rows_of_a_long_csv_come_block_by_block(tmp_path):
    """Rows beyond the first block find their answers too."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    filler = "x" * 1_000
    with source.open("w") as file:
        file.write("id,phone,note\n")
        for at in range(40_000):
            file.write(f"{at},+4474{at:08d},{filler}\n")
    with streams.reading(source, "phone") as read:
        assert len(read.pieces) > 1
        streams.write(read, answers_to(read.demand), target)
    found = read_table(target)
    assert found["id"].to_pylist() == [str(at) for at in range(40_000)]
    wanted = [f"Carrier {n % 7}" if (n := 447400000000 + at) % 5 else "" for at in range(40_000)]
    assert found["carrier"].to_pylist() == wanted


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(1, 300), max_size=40), max_size=20))
def test_a_register_knows_what_was_added(parts):
    """Whatever comes in whatever batches, each number is there once, with its first country."""
    register, first = Register(), {}
    for at, part in enumerate(parts):
        numbers = np.array(sorted(set(part)), np.int64)
        known = register.knows(numbers)
        assert known.tolist() == [n in first for n in numbers.tolist()]
        register.add(numbers, np.full(len(numbers), at, np.int16))
        for n in numbers.tolist():
            first.setdefault(n, at)
    numbers, countries = register.all()
    assert dict(zip(numbers.tolist(), countries.tolist(), strict=True)) == first
    assert numbers.tolist() == sorted(first)


def each(work: Callable[[int], object], items: Iterable[int]) -> None:
    with behind(work) as later:
        for item in items:
            later(item)


def test_reading_ahead_and_writing_behind_keep_order_and_errors():
    """Nothing is lost or turned round, and an error comes out where the work is asked for."""

    def broken() -> Iterator[int]:
        yield from range(3)
        raise BadInput("the end")

    assert list(ahead(range(100))) == list(range(100))
    seen: list[int] = []
    with pytest.raises(BadInput, match="the end"):
        each(seen.append, ahead(broken()))
    assert seen == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        each(lambda item: 1 // item, [0])
