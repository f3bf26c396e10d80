"""A CRM export through Spark: the answers and the receipt of pandas, bought once, then no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from carrier_enrich import Enricher, Receipt, Settings
from carrier_enrich.sandbox import SandboxConfig, running_sandbox
from carrier_enrich.sandbox.crm_export import crm_export
from carrier_enrich.spark import enrich

ROWS = 2_000
ASKED = {
    "phone": ["mobile", "office_phone"],
    "country_column": "country",
    "columns": ("carrier", "number_type", "city"),
    "prefix": "x_",
}


@dataclass(frozen=True)
class Run:
    """A frame enriched by pandas and by Spark, each with a ledger of its own."""

    source: Any
    wanted: pa.Table
    wanted_receipt: Receipt
    settings: Settings
    out: Any
    receipt: Receipt


@pytest.fixture(scope="module")
def run(spark, make_settings) -> Run:
    table = crm_export(ROWS)
    nested = [{"tags": [str(i), None], "by": {"key": i}} for i in range(ROWS)]
    table = table.append_column("nested.cells", pa.array(nested))
    with Enricher(make_settings("pandas")) as enricher:
        frame = enricher.enrich(table.to_pandas(types_mapper=_texts), **ASKED)
        wanted_receipt = enricher.receipt
    assert wanted_receipt is not None
    wanted = pa.Table.from_pandas(frame, preserve_index=False)
    receipts: list[Receipt] = []
    source = spark.createDataFrame(table).repartition(3)
    settings = make_settings("spark")
    out = enrich(source, settings=settings, on_receipt=receipts.append, **ASKED)
    return Run(source, wanted, wanted_receipt, settings, out, receipts[0])


def _texts(arrow_type: pa.DataType) -> Any:
    import pandas as pd

    return pd.ArrowDtype(arrow_type)


def rows_of(out: Any) -> list[dict[str, Any]]:
    """The rows by their key, because a Spark DataFrame has no order."""
    table = out if isinstance(out, pa.Table) else out.toArrow()
    return sorted(table.to_pylist(), key=lambda row: row["contact_id"])


def test_every_row_is_as_pandas_has_it(run):
    """Row for row and cell for cell, nulls, junk, duplicates and nested columns included."""
    assert run.out.columns == run.wanted.column_names
    assert rows_of(run.out) == rows_of(run.wanted)
    assert run.out.schema.fields[: len(run.source.columns)] == run.source.schema.fields


def test_the_receipt_is_as_pandas_has_it(run):
    """Rows, cells by status, distinct numbers, requests and money agree, and add up."""
    same = ("balance_before", "balance_after", "duration_seconds")
    changes = {name: getattr(run.wanted_receipt, name) for name in same}
    assert replace(run.receipt, **changes) == run.wanted_receipt
    assert run.receipt.adds_up, run.receipt.problems()
    assert run.receipt.rows == ROWS
    assert run.receipt.bought > 1_000


def test_a_second_run_buys_nothing(run, sandbox, tmp_path):
    """What the ledger knows is joined without a request, here by way of Parquet files."""
    before = sandbox.control.report(summary=True)["requests"]
    receipts: list[Receipt] = []
    again = enrich(
        run.source,
        settings=run.settings,
        folder=(tmp_path / "answers").as_uri(),
        on_receipt=receipts.append,
        **ASKED,
    )
    assert rows_of(again) == rows_of(run.wanted)
    assert sandbox.control.report(summary=True)["requests"] == before
    assert (receipts[0].known, receipts[0].bought) == (run.receipt.distinct, 0)
    assert list((tmp_path / "answers").glob("carrier-enrich-*/*.parquet"))


def test_spark_sends_nothing(spark, tmp_path):
    """What is returned needs neither service nor ledger: all requests are the caller's."""
    source = spark.createDataFrame([("+14155550123",), (None,)], "phone string")
    with running_sandbox(SandboxConfig()) as own:
        settings = Settings.of(
            {}, base_url=own.base_url, api_key=own.api_key, ledger=str(tmp_path / "ledger.db")
        )
        out = enrich(source, "phone", settings=settings)
        sent = own.control.report(summary=True)
    (tmp_path / "ledger.db").unlink()
    assert sent["charged"]["charges"] == 1
    assert sorted(row["lookup_status"] for row in out.collect()) == ["found", "missing"]
