"""Parquet between assets: datasets pass, not rows."""

from __future__ import annotations

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from carrier_enrich.dagster import ParquetIOManager

TABLE = pa.table({"id": [1, 2, 3], "phone": ["+447400123456", None, "x"]})


def passed_on(value, kind, tmp_path, **options):
    """What a second asset gets of what the first yields, where it asks for a kind."""
    got = []

    @dg.asset(**options)
    def first():
        return value() if callable(value) else value

    @dg.asset(ins={"first": dg.AssetIn(dagster_type=kind)}, **options)
    def second(first) -> None:
        got.append(first)

    result = dg.materialize(
        [first, second],
        resources={"io_manager": ParquetIOManager(folder=str(tmp_path))},
        partition_key="2026-03-01" if options else None,
    )
    assert result.success
    (event,) = result.asset_materializations_for_node("first")
    assert event.metadata["dagster/row_count"].value == 3
    return got[0]


@pytest.mark.parametrize(
    "value",
    [
        TABLE,
        TABLE.to_reader,
        pyarrow.dataset.dataset(TABLE),
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
    ],
    ids=["table", "reader", "dataset", "pandas", "polars"],
)
def test_whatever_an_asset_yields_the_next_gets_a_dataset(value, tmp_path):
    """Rows come into memory only where somebody asks for them."""
    got = passed_on(value, dg.Any, tmp_path)
    assert isinstance(got, pyarrow.dataset.Dataset)
    assert got.to_table().to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (pa.Table, lambda got: got.to_pylist()),
        (pa.RecordBatchReader, lambda got: got.read_all().to_pylist()),
        (pl.DataFrame, lambda got: got.to_dicts()),
        (pd.DataFrame, lambda got: got.astype(object).where(got.notna(), None).to_dict("records")),
    ],
    ids=["table", "reader", "polars", "pandas"],
)
def test_an_asset_gets_the_kind_that_it_asks_for(kind, rows, tmp_path):
    """The annotation of an input decides what its rows come as."""
    got = passed_on(TABLE, dg.PythonObjectDagsterType(kind), tmp_path)
    assert isinstance(got, kind)
    assert rows(got) == TABLE.to_pylist()


def test_each_partition_has_a_file_of_its_own(tmp_path):
    """A partition's rows never mix with another's, and no half-written file stays."""
    days = dg.DailyPartitionsDefinition(start_date="2026-03-01")
    got = passed_on(TABLE, dg.Any, tmp_path, partitions_def=days)
    assert got.count_rows() == 3
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["2026-03-01.parquet"]
