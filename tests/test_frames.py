"""Frames in and out: every row gets the answer of its own number, and nothing else changes."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich.errors import BadInput
from carrier_enrich.frames import check_request, column_labels, crosswalk, join_back, status_counts
from carrier_enrich.model import Answers, Lookup, LookupStatus
from carrier_enrich.phones import Reason, normalise, text_of

CELLS = (
    *("+447400123456", "07400 123456", "+44 7400 123-456", "+44 20 7946 0018", "020 7946 0018"),
    *("+1 415 555 0123", "14155550123", "n/a", "1.41556E+10", "", "  "),
    *(447400123456, 447400123456.0, np.float32(447400123456.0), 14155550123, True),
    *(None, float("nan"), pd.NA),
)
INDEXES = (
    pd.RangeIndex,
    lambda n: pd.Index([at % 2 for at in range(n)], name="half"),
    lambda n: pd.Index(["same"] * n),
    lambda n: pd.Index([float("nan")] * n),
    lambda n: pd.MultiIndex.from_arrays([["a"] * n, [at // 2 for at in range(n)]]),
    lambda n: pd.DatetimeIndex(["2026-01-01"] * n, tz="UTC"),
    lambda n: pd.CategoricalIndex(["x", "y", "x"] * n)[:n],
    lambda n: pd.interval_range(0, n),
)


def lookup_of(number: int) -> Lookup:
    """A lookup that only this number has."""
    kinds = ("found", "unallocated", "undetermined", "charge_unknown")
    status = LookupStatus(kinds[number % len(kinds)])
    if status is not LookupStatus.FOUND:
        return Lookup(status)
    return Lookup(status, carrier=f"carrier of {number}", number_type="mobile", city=str(number))


def answers_to(numbers) -> Answers:
    return Answers.of((number, lookup_of(number)) for number in map(int, numbers))


def read_alone(cell: object, country: str | None = None) -> int | str:
    """What one cell says, read without any other: a number, ``invalid`` or ``missing``."""
    result = normalise([text_of(cell)], country)
    reason = tuple(Reason)[result.reasons[0]]
    others = {Reason.OK: int(result.numbers[0]), Reason.MISSING: "missing"}
    return others.get(reason, "invalid")


def cells_of(column) -> list[str | None]:
    """The cells of a text column of any library."""
    if isinstance(column, pd.Series):
        return column.astype(object).where(column.notna(), None).to_list()
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()


@st.composite
def pandas_frames(draw) -> pd.DataFrame:
    cells = draw(st.lists(st.sampled_from(CELLS), max_size=12))
    frame = pd.DataFrame(
        {
            "id": np.arange(len(cells), dtype=np.int64) + 2**60,
            "phone": pd.Series(cells, dtype=object),
            "note": pd.array(["x", None, "y"] * len(cells), dtype="str")[: len(cells)],
            "small": np.zeros(len(cells), np.int8),
        },
        columns=draw(st.permutations(["id", "phone", "note", "small"])),
    )
    frame.index = draw(st.sampled_from(INDEXES))(len(cells))
    frame.attrs["source"] = {"file": "crm"}
    return frame


@settings(max_examples=100, deadline=None)
@given(frame=pandas_frames(), seed=st.integers(0, 9), share=st.sampled_from([0.0, 0.5, 1.0]))
def test_pandas_rows_get_their_own_answer_and_nothing_else_changes(frame, seed, share):
    """Whatever the index, and whichever answers come in whatever order, P1 holds."""
    before = frame.copy(deep=True)
    walk = crosswalk(frame, "phone", country="GB")
    rng = random.Random(seed)
    answered = [number for number in walk.numbers.tolist() if rng.random() < share]
    foreign = [4917612345678, 33612345678]
    out = join_back(frame, walk, answers_to(rng.sample(answered + foreign, len(answered) + 2)))

    assert out.attrs == before.attrs
    out.attrs["source"]["file"] = "another"
    assert frame.attrs == before.attrs
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(out[list(before.columns)], before)
    added = ["carrier", "number_type", "region", "lookup_status"]
    assert list(out.columns) == [*before.columns, *added]
    rows = zip(before["phone"], cells_of(out["carrier"]), out["lookup_status"], strict=True)
    for cell, carrier, status in rows:
        meant = read_alone(cell, "GB")
        if isinstance(meant, str):
            assert (carrier, status) == (None, meant)
        elif meant not in answered:
            assert (carrier, status) == (None, "not_checked")
        else:
            assert (carrier, status) == (lookup_of(meant).carrier, lookup_of(meant).status)


@settings(max_examples=50, deadline=None)
@given(frame=pandas_frames(), seed=st.integers(0, 9))
def test_shuffled_rows_keep_their_answers(frame, seed):
    """To shuffle and then enrich is to enrich and then shuffle."""
    order = list(range(len(frame)))
    random.Random(seed).shuffle(order)
    walk, shuffled = crosswalk(frame, "phone"), crosswalk(frame.iloc[order], "phone")
    answers = answers_to(walk.numbers)
    assert shuffled.digest == walk.digest
    pd.testing.assert_frame_equal(
        join_back(frame.iloc[order], shuffled, answers), join_back(frame, walk, answers).iloc[order]
    )


@settings(max_examples=60, deadline=None)
@given(
    mobile=st.lists(st.sampled_from(CELLS), min_size=1, max_size=8),
    known=st.sets(st.integers(0, 8)),
)
def test_every_cell_has_one_status(mobile, known):
    """The counts by status add up to rows times phone columns and agree with the frame."""
    office = [*mobile[1:], mobile[0]]
    frame = pd.DataFrame({"mobile": mobile, "office": office}, dtype=object)
    walk = crosswalk(frame, ["mobile", "office"], country="GB")
    answers = answers_to(n for at, n in enumerate(walk.numbers.tolist()) if at in known)
    counts, out = status_counts(walk, answers), join_back(frame, walk, answers)
    cells = [*out["mobile_lookup_status"], *out["office_lookup_status"]]
    assert set(counts) == set(LookupStatus)
    assert counts == {status: cells.count(status) for status in LookupStatus}
    assert sum(counts.values()) == 2 * walk.rows
    assert walk.missing == counts[LookupStatus.MISSING]
    assert sum(walk.invalid.values()) == counts[LookupStatus.INVALID]


NUMBER = 447400123456
INTEGERS = [NUMBER, NUMBER + 1, None]
TEXTS = [str(NUMBER), str(NUMBER + 1), None]
COLUMNS = (
    *(pa.array(INTEGERS, kind) for kind in (pa.int64(), pa.uint64(), pa.float64())),
    *(pa.array(TEXTS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(pa.array(TEXTS).cast(kind) for kind in (pa.binary(), pa.large_binary(), pa.decimal128(18))),
    pa.array([Decimal(NUMBER), Decimal(NUMBER + 1), None], pa.decimal64(18, 0)),
    *(pa.array(cells).dictionary_encode() for cells in (TEXTS, INTEGERS)),
    pa.chunked_array([pa.array(cells).dictionary_encode() for cells in (TEXTS[:1], TEXTS[1:])]),
    pa.DictionaryArray.from_arrays([2, 1, 0], [None, *TEXTS[1::-1]]),
    *(pd.array(INTEGERS, dtype=kind) for kind in ("Int64", "UInt64", "int64[pyarrow]")),
    *(pd.Series(TEXTS, dtype=kind).array for kind in (None, "string", "string[python]")),
    *(pd.Categorical(cells) for cells in (TEXTS, INTEGERS)),
    pd.arrays.SparseArray([NUMBER, NUMBER + 1, np.nan]),
    np.array(INTEGERS, dtype=np.float64),
    np.array([NUMBER, f"+{NUMBER + 1}", pd.NA], dtype=object),
    *(pl.Series(TEXTS, dtype=kind) for kind in (pl.String, pl.Categorical, pl.Enum(TEXTS[:2]))),
    pl.Series(INTEGERS, dtype=pl.UInt64),
)


def frame_with(column):
    """A frame of the column's own library with the column ``p``."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return pa.table({"p": column})
    return (pl if isinstance(column, pl.Series) else pd).DataFrame({"p": column})


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__name__)
def test_columns_of_every_kind_are_read_exactly_and_kept(column):
    """A number is the same number in any type that can hold it, and the type stays."""
    frame = frame_with(column)
    walk = crosswalk(frame, "p")
    assert walk.numbers.tolist() == [NUMBER, NUMBER + 1]
    assert walk.columns[0].index.tolist() == [0, 1, -1]
    out = join_back(frame, walk, answers_to(walk.numbers))
    kept = out.select(["p"]) if isinstance(out, (pa.Table, pl.DataFrame)) else out[["p"]]
    assert kept.equals(frame)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(447400000000, 447400999999), min_size=1, max_size=20))
def test_neighbouring_numbers_never_meet_in_a_numeric_column(numbers):
    """Integers and doubles keep every digit; a float32 has lost some and is never a number."""
    distinct = sorted(set(numbers))
    nulls = [*numbers, None]
    for column in (
        pa.array(nulls, pa.int64()),
        pa.array(nulls, pa.float64()),
        pd.array(nulls, dtype="Int64"),
        np.array(nulls, dtype=object),
        np.array(nulls, dtype=np.float64),
        pl.Series(nulls, dtype=pl.Object),
    ):
        walk = crosswalk(frame_with(column), "p")
        assert walk.numbers.tolist() == distinct
        assert [distinct[at] for at in walk.columns[0].index[:-1]] == numbers
        assert walk.columns[0].index[-1] == -1
    short = np.array(numbers, dtype=np.float32)
    for column in (short, pa.array(short), np.array([*short], dtype=object)):
        walk = crosswalk(frame_with(column), "p")
        assert len(walk.numbers) == 0
        assert walk.invalid == {Reason.PRECISION_LOST: len(numbers)}


def test_an_empty_frame_and_an_empty_column_pass():
    """No rows, or only nulls, give no numbers and the right columns."""
    for frame in (
        pd.DataFrame({"p": []}),
        pa.table({"p": pa.nulls(3)}),
        pl.DataFrame({"p": [None, None]}),
        pd.DataFrame({"p": [None, None]}),
    ):
        walk = crosswalk(frame, "p")
        out = join_back(frame, walk, answers_to([]))
        assert walk.missing == walk.rows == len(out)
        assert list(column_labels(out))[1:] == ["carrier", "number_type", "region", "lookup_status"]
        assert list(map(str, out["lookup_status"])) == ["missing"] * walk.rows


def test_a_country_column_stands_before_the_country_given():
    """A known cell counts, a blank one leaves it to `country`, an unknown one to nobody."""
    table = pa.table(
        {
            "phone": ["020 7946 0018"] * 4 + ["+442079460018"],
            "home": ["UK", None, " ", "Atlantis", "Atlantis"],
        }
    )
    walk = crosswalk(table, "phone", country="DE", country_column="home")
    london, berlin = walk.numbers.tolist()
    assert (london, berlin) == (442079460018, 492079460018)
    assert walk.columns[0].index.tolist() == [0, 1, 1, -2, 0]
    assert walk.invalid == {Reason.NO_COUNTRY: 1}
    assert walk.unknown_countries == 2
    assert [walk.country_names[at] for at in walk.countries] == ["GB", "DE"]


def test_the_last_of_two_answers_counts():
    """A number that stands twice among the answers gets the one that came later."""
    table = pa.table({"p": [str(NUMBER)]})
    pairs = [(NUMBER, Lookup(LookupStatus.FOUND, carrier=name)) for name in ("first", "last")]
    out = join_back(table, crosswalk(table, "p"), Answers.of(pairs))
    assert out["carrier"].to_pylist() == ["last"]


def test_more_rows_than_a_chunk_keep_their_order():
    """Columns that are built in several chunks are whole."""
    rows = (1 << 20) + 3
    table = pa.table({"p": np.arange(rows) % 3 + NUMBER})
    walk = crosswalk(table, "p")
    out = join_back(table, walk, answers_to(walk.numbers), columns=["city"])
    cities = [lookup_of(NUMBER + at).city for at in range(3)] * rows
    assert out["city"].to_pylist() == cities[:rows]


LABELS = ("id", "mobile", "office", "carrier", "Home Country")
REQUESTS = {
    "there is no column 'mobil'; did you mean 'mobile'?": {"phone": "mobil"},
    "there is no column 'home country'; did you mean 'Home": {"country_column": "home country"},
    "2 columns are named 'twin'": {"labels": ("twin", "twin"), "phone": "twin"},
    "the phone column 'mobile' is given 2 times": {"phone": ["mobile", "office", "mobile"]},
    "no phone column": {"phone": []},
    "unknown country 'Atlantis'": {"country": "Atlantis"},
    "columns has 'operator', which no lookup has: carrier,": {"columns": ["operator"]},
    "columns has 'city' 2 times": {"columns": ["city", "city"]},
    "the new column 'carrier' is taken": {},
    "the new column 'mobile_city' is taken": {
        "labels": ("mobile", "office", "mobile_city"),
        "phone": ["mobile", "office"],
        "columns": "city",
    },
    "the new column '1_carrier' is taken": {"labels": (1, "1"), "phone": [1, "1"]},
}


@pytest.mark.parametrize("message", REQUESTS)
def test_a_name_that_can_not_be_used_is_one_clear_line(message):
    """Every wrong name of a request is told at once, in one line that says what to change."""
    request = {"labels": LABELS, "phone": "mobile", **REQUESTS[message]}
    with pytest.raises(BadInput) as caught:
        check_request(request.pop("labels"), request.pop("phone"), **request)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_new_names_follow_the_phone_columns():
    """One phone column needs no name before the field; several do; the prefix stands first."""
    assert check_request(["p"], "p", columns="city") == ("city", "lookup_status")
    assert check_request(["p", "q"], ["q", "p"], columns=["city"], prefix="x_") == (
        *("x_q_city", "x_q_lookup_status"),
        *("x_p_city", "x_p_lookup_status"),
    )


def test_columns_with_labels_of_any_kind_are_kept():
    """Integers, several levels, categories and doubled labels stand beside the new names."""
    cells = [[str(NUMBER), "x", "y"]]
    for labels, phone in (
        ([7, 8, 8], 7),
        (["p", "same", "same"], "p"),
        (pd.MultiIndex.from_tuples([("p", "own"), ("p", "old"), ("q", "")]), ("p", "own")),
        (pd.MultiIndex.from_tuples([("p", ""), ("q", "a"), ("q", "b")], names=["u", "v"]), "p"),
        (pd.CategoricalIndex(["p", "q", "r"]), ["p"]),
    ):
        frame = pd.DataFrame(cells, columns=labels)
        out = join_back(frame, walk := crosswalk(frame, phone), answers_to(walk.numbers))
        assert list(out.columns[:3]) == list(frame.columns)
        assert out.columns.names == frame.columns.names
        assert out.iloc[0, :3].to_list() == cells[0]
        assert out.iloc[0, -1] == lookup_of(NUMBER).status


class Contacts(pd.DataFrame):
    """A DataFrame of somebody's own class."""

    @property
    def _constructor(self):
        return Contacts


def test_what_a_frame_carries_beside_its_rows_is_kept():
    """Class, flags and schema metadata are those of the input."""
    frame = Contacts({"p": [NUMBER]}).set_flags(allows_duplicate_labels=False)
    out = join_back(frame, walk := crosswalk(frame, "p"), answers_to(walk.numbers))
    assert isinstance(out, Contacts)
    assert out.flags == frame.flags
    table = pa.table({"p": [NUMBER]}).replace_schema_metadata({"made": "by hand"})
    out = join_back(table, crosswalk(table, "p"), answers_to(walk.numbers))
    assert out.schema.metadata == {b"made": b"by hand"}
    assert out.schema.field("lookup_status").type == pa.string()


def test_what_is_no_frame_of_numbers_is_refused():
    """Lazy frames, other objects, columns of dates and frames of other rows are bad input."""
    table = pa.table({"p": [NUMBER], "day": pa.array([0], pa.date32())})
    with pytest.raises(BadInput, match=r"LazyFrame .* collect it first"):
        crosswalk(pl.LazyFrame({"p": [NUMBER]}), "p")
    with pytest.raises(BadInput, match="list is not a frame"):
        crosswalk([NUMBER], "p")
    with pytest.raises(BadInput, match="'day' holds date32"):
        crosswalk(table, "day")
    with pytest.raises(BadInput, match="2 rows, but 1 were read"):
        join_back(pa.concat_tables([table, table]), crosswalk(table, "p"), answers_to([]))
