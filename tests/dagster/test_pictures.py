"""What people see: the picture of carriers, and the tables in markdown."""

from __future__ import annotations

import base64

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.dagster.charts import OTHERS, picture, top
from carrier_enrich.dagster.metadata import amount, counted, table
from carrier_enrich.tables import Row

COUNTS = st.dictionaries(st.text(min_size=1, max_size=8), st.integers(1, 1_000), max_size=30)


@given(COUNTS, st.integers(1, 12))
def test_nothing_is_lost_between_the_bars(counts, shown):
    """The bars add up to all rows, most frequent first, with the rest in one at the end."""
    bars = top(counts, shown)
    assert sum(times for _, times in bars) == sum(counts.values())
    assert len(bars) <= shown + 1
    named = [times for label, times in bars if label != OTHERS]
    assert named == sorted(named, reverse=True)


def test_the_picture_is_a_png_inside_markdown():
    """A browser shows it without fetching anything."""
    text = picture({"Carrier": {"A & <B>": 3, "$C_1^": 2}, "Number type": {"mobile": 5}}, "5 rows")
    head, _, data = text.partition("base64,")
    assert head == "![5 rows](data:image/png;"
    assert base64.b64decode(data.rstrip(")")).startswith(b"\x89PNG")


def test_the_columns_of_several_phones_are_counted_together():
    """Carriers of mobile and office are one chart; the underlying carrier is none of it."""
    added = pa.table(
        {
            "mobile_carrier": ["A", "B", None],
            "office_carrier": ["A", None, None],
            "mobile_underlying_carrier": ["X", "X", "X"],
            "mobile_lookup_status": ["found", "found", "missing"],
        }
    )
    assert counted(added) == {"Carrier": {"A": 2, "B": 1}, "Status": {"found": 2, "missing": 1}}


def test_tables_come_as_markdown():
    """A heading stands alone in bold; a row has its label and its value."""
    text = table([Row("Money"), Row("charged", "$1.50", 0.5)]).value
    assert "| **Money** | |" in text
    assert "| charged | $1.50 |" in text


def test_an_amount_that_is_not_known_is_not_shown_as_nothing():
    """Zero is an amount; an unknown one has no label at all."""
    assert amount("cost", 0) == {"cost_usd": 0.0, "cost_micros": 0}
    assert amount("cost", None) == {}
