"""The columns of a DataFrame: kinds of phone cell, names that Spark reads otherwise, and limits."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql.functions import arrow_udf

import carrier_enrich as ce
from carrier_enrich import errors
from carrier_enrich.spark import enrich

US, GB, DE = 14155550123, 447400123456, 4915112345678


def test_numbers_that_are_no_text_are_read_as_pandas_reads_them(spark, make_settings):
    """Long, double and decimal cells: the same status and answer as in a table."""
    table = pa.table(
        {
            "id": pa.array(range(5)),
            "long": pa.array([US, GB, None, 7, DE]),
            "double": pa.array([float(US), float("nan"), None, 1.5, float(DE)]),
            "decimal": pa.array([Decimal(US), None, Decimal(7), Decimal("1.5"), Decimal(DE)]),
        }
    )
    asked = {"phone": table.column_names[1:], "settings": make_settings("types")}
    wanted = ce.enrich(table, **asked).drop(asked["phone"])
    out = enrich(spark.createDataFrame(table), **asked).drop(*asked["phone"])
    assert out.toArrow().sort_by("id").to_pylist() == wanted.to_pylist()
    assert wanted["double_lookup_status"].to_pylist()[:4] == [
        "found",
        "missing",
        "missing",
        "invalid",
    ]


def test_names_that_spark_would_read_as_paths_or_twice(spark, make_settings):
    """Dots and backticks in names, and other columns of one name, come through as they were."""
    rows = [("+14155550123", "US", 1, 2), (None, None, 3, 4)]
    source = spark.createDataFrame(rows, "`tel.``1` string, `tel.2` string, a int, b int")
    source = source.toDF("tel.`1", "tel.2", "doubled", "doubled")
    asked = {"country_column": "tel.2", "columns": "carrier", "settings": make_settings("names")}
    out = enrich(source, "tel.`1", **asked)
    assert out.columns == ["tel.`1", "tel.2", "doubled", "doubled", "carrier", "lookup_status"]
    found, missing = sorted(map(tuple, out.collect()), key=lambda row: row[2])
    assert (*found[:4], found[5]) == (*rows[0], "found")
    assert missing == (*rows[1], None, "missing")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"phone": "fone"}, "there is no column 'fone'; did you mean 'phone'"),
        ({"phone": "day", "prefix": "x_"}, "column 'day' holds date"),
        ({"phone": "phone", "country_column": "day", "columns": "city"}, "column 'day' holds date"),
        ({"phone": "phone"}, "'carrier' is taken, because Spark does not tell capitals"),
        ({"phone": "phone", "columns": "city", "on_limit": "stop"}, "on_limit is 'stop'"),
        ({"phone": "phone", "columns": "town"}, "'town', which no lookup has"),
    ],
)
def test_bad_input_is_found_before_anything_runs(spark, make_settings, asked, said):
    """A column that is not there, or of dates, or a new name that is taken but for its case."""
    source = spark.sql("SELECT raise_error('read') AS phone, current_date() AS day, 1 AS CARRIER")
    source = source.selectExpr("CAST(phone AS string) phone", "day", "CARRIER")
    with pytest.raises(errors.BadInput, match=said):
        enrich(source, **asked, settings=make_settings("bad"))


def test_without_settings_nothing_runs(spark):
    """A missing base URL is found before Spark is asked for a row."""
    source = spark.sql("SELECT CAST(raise_error('read') AS string) AS phone")
    with pytest.raises(errors.BadSettings, match="no base URL"):
        enrich(source, "phone", settings=ce.Settings())


def test_over_the_cap_it_raises_or_returns_a_part(spark, make_settings, sandbox):
    """A cap stops it before it is passed; asked for a part, the rest is not_checked."""
    phones = [(f"+1415555{i:04d}",) for i in range(300)]
    source = spark.createDataFrame(phones, "phone string")
    settings = make_settings("cap")
    before = sandbox.control.report(summary=True)["charged_micros"]
    with pytest.raises(errors.OverBudget):
        enrich(source, "phone", max_cost_usd="0.3", settings=settings)
    assert sandbox.control.report(summary=True)["charged_micros"] == before
    receipts: list[ce.Receipt] = []
    out = enrich(
        source,
        "phone",
        max_cost_usd="0.3",
        on_limit="partial",
        settings=settings,
        on_receipt=receipts.append,
    )
    counts = {
        row["lookup_status"]: row["count"] for row in out.groupBy("lookup_status").count().collect()
    }
    assert counts == receipts[0].cells
    assert 140 <= counts["not_checked"] == receipts[0].unanswered <= 150
    assert 0 < receipts[0].charged <= 300_000
    assert receipts[0].adds_up, receipts[0].problems()
    assert receipts[0].stopped


def test_rows_that_change_afterwards_keep_the_right_answers(spark, make_settings, tmp_path):
    """A source that reads other rows the second time: known numbers right, new ones not_checked."""
    said = tmp_path / "phones"
    said.write_text("+14155550123,+447400123456,nobody")

    def phone(ids: pa.Array) -> pa.Array:
        read = said.read_text().split(",")
        return pa.array([read[i] for i in ids.to_pylist()])

    changing = arrow_udf(phone, "string").asNondeterministic()
    source = spark.range(3, numPartitions=1).withColumn("phone", changing("id"))
    out = enrich(source, "phone", columns="region", settings=make_settings("change"))
    before = {row["phone"]: row for row in out.collect()}
    said.write_text("+4915112345678,+14155550123,+14155550123")
    rows = sorted(out.collect(), key=lambda row: row["id"])
    assert [row["lookup_status"] for row in rows] == ["not_checked", "found", "found"]
    assert [row["region"] for row in rows] == [None, *2 * [before["+14155550123"]["region"]]]


def test_no_rows_and_no_numbers(spark, make_settings, sandbox):
    """An empty DataFrame, or one without a number, has its columns and sends nothing."""
    before = sandbox.control.report(summary=True)["requests"]
    settings = make_settings("none")
    source = spark.createDataFrame([("n/a",), (None,)], "phone string")
    rows = enrich(source, "phone", settings=settings).collect()
    assert {(row["phone"], row["lookup_status"]) for row in rows} == {
        ("n/a", "invalid"),
        (None, "missing"),
    }
    empty = enrich(source.limit(0), "phone", settings=settings)
    assert empty.columns == ["phone", "carrier", "number_type", "region", "lookup_status"]
    assert empty.count() == 0
    assert sandbox.control.report(summary=True)["requests"] == before
