"""The report is one page that stands alone; its pictures can be read without being seen."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_receipt import receipt

from carrier_enrich.breakdown import Breakdown, Top, breakdown
from carrier_enrich.charts import Bar, bar_chart, stacked_bar
from carrier_enrich.errors import BadInput
from carrier_enrich.spreadsheets import check_is_csv, spreadsheet_safe

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "rect"}

ANSWERED = pa.table(
    {
        "phone": ["+14155550101", "+14155550102", "x", None, "+14155550101", "+442079460000"],
        "carrier": ["Alpha", "Beta", None, None, "Alpha", None],
        "number_type": ["mobile", "fixed_line", None, None, "mobile", None],
        "region": ["California", None, None, None, "California", None],
        "lookup_status": ["found", "found", "invalid", "missing", "found", "undetermined"],
    }
)


class Page(HTMLParser):
    """Reads a page and keeps what a test asks about."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag, its id and where it leads."""
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "srcset", "action", "data"):
                self.links.append(value or "")
            assert not name.startswith("on"), "no scripts in attributes"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it, and close it at once."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Only what is open, and open last, may be closed."""
        assert self.open.pop() == tag


def counted() -> Breakdown:
    return breakdown(ANSWERED, "phone")


def test_breakdown_counts_cells() -> None:
    """Values are counted by cells, most frequent first, with what has no value beside them."""
    made = counted()
    assert dict(made.statuses) == {"found": 3, "invalid": 1, "missing": 1, "undetermined": 1}
    assert made.fields["carrier"] == Top((("Alpha", 2), ("Beta", 1)), 0, 0, 3)
    assert "city" not in made.fields


@pytest.mark.parametrize("frame", [ANSWERED, ANSWERED.to_pandas(), pl.from_arrow(ANSWERED)])
def test_breakdown_is_the_same_for_every_kind_of_frame(frame: object) -> None:
    """pyarrow, pandas and polars give the same figures."""
    assert breakdown(frame, "phone") == counted()


def test_breakdown_joins_phone_columns() -> None:
    """With several phone columns the new columns' names follow them, and counts are joined."""
    frame = pd.DataFrame(
        {
            "x_mobile_carrier": ["Alpha", None],
            "x_mobile_lookup_status": ["found", "missing"],
            "x_office_carrier": ["Alpha", "Beta"],
            "x_office_lookup_status": ["found", "found"],
        }
    )
    made = breakdown(frame, ["mobile", "office"], prefix="x_")
    assert dict(made.statuses) == {"found": 3, "missing": 1}
    assert made.fields["carrier"].shares == (("Alpha", 2), ("Beta", 1))


@given(st.lists(st.sampled_from("abcdefghijkl") | st.none(), min_size=1), st.integers(1, 6))
def test_breakdown_loses_no_cell(values: list[str | None], top: int) -> None:
    """What is shown, what is left out and what is blank are all cells together."""
    frame = pa.table(
        {"carrier": pa.array(values, pa.string()), "lookup_status": ["found"] * len(values)}
    )
    made = breakdown(frame, "phone", top=top).fields["carrier"]
    assert made.cells + made.blank == len(values)
    assert len(made.shares) <= top + 1
    assert made.others == 0 or made.other_values > 1


@given(
    st.lists(
        st.builds(Bar, st.text(max_size=60), st.floats(0, 1e12), st.text(max_size=20)), max_size=12
    ),
    st.sampled_from([bar_chart, stacked_bar]),
)
def test_pictures_are_well_formed_and_described(bars: list[Bar], draw: object) -> None:
    """Any label gives a well-formed picture with a title, a description, and no bar too wide."""
    assert callable(draw)
    picture = ET.fromstring(draw("Title <&>", bars))
    assert picture.find(f"{SVG}title").text == "Title <&>"
    assert picture.find(f"{SVG}desc").text
    assert picture.get("role") == "img"
    for rect in picture.iter(f"{SVG}rect"):
        assert 0 <= float(rect.get("width")) <= 360


def test_bars_are_to_scale() -> None:
    """The longest bar fills the picture, half of it half, and a trace of it is still seen."""
    picture = ET.fromstring(
        bar_chart("t", [Bar("a", 10, ""), Bar("b", 5, ""), Bar("c", 0.001, ""), Bar("d", 0, "")])
    )
    bars = [r for r in picture.iter(f"{SVG}rect") if r.get("style")]
    assert [float(bar.get("width")) for bar in bars] == [360.0, 180.0, 2.0, 0.0]


def test_long_labels_are_cut_and_kept() -> None:
    """A label too long for its line is cut there and stands whole in its own title."""
    picture = bar_chart("t", [Bar("x" * 60, 1, "1")])
    assert "x" * 60 in picture
    assert "x" * 33 + "…<" in picture


def test_report_stands_alone() -> None:
    """The page has no script, no link, no doubled id, and every tag is closed."""
    page = receipt().report(counted(), title="A <title>", note="a & b")
    read = Page(page)
    assert read.open == []
    assert not read.tags & {"script", "link", "iframe", "img", "object"}
    assert read.links == []
    assert len(read.ids) == len(set(read.ids))
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"] * page.count(
        "<svg"
    )
    assert "url(" not in page
    assert "@import" not in page


def test_report_has_every_figure_of_the_receipt() -> None:
    """What the receipt says in text stands on the page too."""
    made = receipt(refusals={42901: 3})
    page = made.report(counted())
    for label, value, _ in made.lines():
        assert label.strip() in page
        assert value is None or value in page
    assert "Alpha" in page
    assert made.headline in page


def test_report_reads_in_dark_on_paper_and_on_a_phone() -> None:
    """The page has rules for dark screens, for print, and takes a phone's width."""
    page = receipt().report()
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert "width=device-width" in page


def test_report_is_loud_about_what_is_not_well() -> None:
    """Sandbox answers, a stop, open work and figures that disagree stand above the pictures."""
    page = receipt(
        sandbox=True, stopped="the balance is used up", open_purchases=2, known=21
    ).report()
    head = page[page.index("<main>") : page.index("class='tiles'")]
    for told in ("made up", "the balance is used up", "settle", "does not add up"):
        assert told in head


@given(st.text(max_size=40))
def test_texts_of_the_service_are_never_markup(carrier: str) -> None:
    """Whatever the service calls a carrier, the page stays whole."""
    top = Top(((carrier, 1),), 0, 0, 0)
    page = receipt().report(Breakdown((("found", 1),), {"carrier": top}))
    read = Page(page)
    assert read.open == []
    assert "script" not in read.tags


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\uff1d1", "fine", "'=1", "", None]


def test_formulas_of_the_service_are_marked_as_text() -> None:
    """Text from elsewhere that begins like a formula gets an apostrophe; all else stays."""
    table = pa.table({"carrier": FORMULAS, "notes": FORMULAS})
    safe = spreadsheet_safe(table, phones=(), texts=("carrier",))
    assert safe["carrier"].to_pylist() == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\tx",
        "'\rx",
        "'\uff1d1",
        "fine",
        "'=1",
        "",
        None,
    ]
    assert safe["notes"].to_pylist() == FORMULAS


def test_phone_columns_stay_text() -> None:
    """Every phone with something in it is marked once, also where it was an integer."""
    table = pa.table({"a": ["+1415", " 0791", "", "  ", "'+1", None], "b": [1, None, 3, 4, 5, 6]})
    safe = spreadsheet_safe(table, phones=("a", "b"), texts=())
    assert safe["a"].to_pylist() == ["'+1415", "' 0791", "", "  ", "'+1", None]
    assert safe["b"].to_pylist() == ["'1", None, "'3", "'4", "'5", "'6"]


@given(st.lists(st.text(max_size=12) | st.none(), min_size=1))
def test_no_marked_cell_begins_like_a_formula(values: list[str | None]) -> None:
    """No cell of a treated column begins like a formula, and its text can be had back."""
    table = pa.table({"t": pa.array(values, pa.string())})
    for how in ({"phones": ("t",), "texts": ()}, {"phones": (), "texts": ("t",)}):
        for before, after in zip(
            values, spreadsheet_safe(table, **how)["t"].to_pylist(), strict=True
        ):
            assert (after or "x")[0] not in "=+-@\t\r"
            assert after in (before, f"'{before}")


def test_only_a_csv_is_made_safe(tmp_path: Path) -> None:
    """Marks are for CSV alone: a Parquet file has types and is refused."""
    check_is_csv(tmp_path / "a.csv")
    with pytest.raises(BadInput, match="CSV"):
        check_is_csv(tmp_path / "a.parquet")
