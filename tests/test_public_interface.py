"""What others build on: the names, what importing them costs, and what bad input gets."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib.metadata import version

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import carrier_enrich as ce
from carrier_enrich.sandbox import SandboxConfig, running_sandbox


def test_the_exported_names_are_these():
    """The public names are fixed; each can be had, and nothing else is promised."""
    assert ce.__all__ == [
        "BulkTask",
        "CarrierClient",
        "CarrierEnrichError",
        "Enricher",
        "Lookup",
        "LookupStatus",
        "Plan",
        "Product",
        "Receipt",
        "Settings",
        "enrich",
        "plan",
    ]
    for name in ce.__all__:
        assert getattr(ce, name).__module__.startswith("carrier_enrich")
    assert ce.__version__ == version("carrier-enrich")
    with pytest.raises(AttributeError, match="no attribute 'enrichen'"):
        _ = ce.enrichen


def test_the_arguments_of_enrich_are_these():
    """`enrich` and `plan` take what the documentation says, by keyword."""
    assert list(inspect.signature(ce.enrich).parameters) == [
        "data",
        "phone",
        "country",
        "country_column",
        "columns",
        "prefix",
        "max_cost_usd",
        "on_limit",
        "plan",
        "settings",
        "progress",
    ]
    assert set(inspect.signature(ce.plan).parameters) < set(inspect.signature(ce.enrich).parameters)


def test_importing_the_package_loads_nothing_heavy():
    """`import carrier_enrich` loads no Dagster, web server, frame or HTTP library."""
    code = "import sys, json, carrier_enrich; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    heavy = {
        "dagster",
        "starlette",
        "uvicorn",
        "pandas",
        "pyarrow",
        "numpy",
        "httpx",
        "sqlalchemy",
        "phonenumbers",
        "click",
        "rich",
    }
    assert not heavy & set(json.loads(shown))


@pytest.fixture(scope="module")
def sandbox():
    with running_sandbox(SandboxConfig()) as running:
        yield running


@pytest.fixture
def settings(sandbox, tmp_path):
    return ce.Settings.of(
        {}, base_url=sandbox.base_url, api_key=sandbox.api_key, ledger=str(tmp_path / "l.db")
    )


FRAME = pd.DataFrame({"phone": ["+14155550123"], "carrier": ["x"], "when": [pd.Timestamp(0)]})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"phone": "telephone"}, "telephone"),
        ({"phone": "phone"}, "carrier"),
        ({"phone": "phone", "prefix": "x_", "country": "Narnia"}, "Narnia"),
        ({"phone": "phone", "prefix": "x_", "country_column": "land"}, "land"),
        ({"phone": "phone", "columns": ["colour"]}, "colour"),
        ({"phone": []}, "phone"),
        ({"phone": ["phone", "phone"], "prefix": "x_"}, "phone"),
        ({"phone": "phone", "prefix": "x_", "on_limit": "maybe"}, "on_limit"),
        ({"phone": "phone", "prefix": "x_", "max_cost_usd": 0.1}, "0.1"),
        ({"phone": "phone", "prefix": "x_", "max_cost_usd": "ten"}, "ten"),
        ({"phone": "when", "prefix": "x_"}, "when"),
    ],
)
def test_bad_input_is_one_clear_line_before_any_request(sandbox, settings, arguments, says):
    """What is wrong, where, and nothing sent."""
    before = sandbox.control.report(summary=True)["requests"]
    with pytest.raises(ce.CarrierEnrichError, match=says) as caught:
        ce.enrich(FRAME, settings=settings, **arguments)
    assert "\n" not in str(caught.value)
    assert sandbox.control.report(summary=True)["requests"] == before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"api_key": ""}, "CARRIER_ENRICH_API_KEY"),
        ({"base_url": ""}, "CARRIER_ENRICH_BASE_URL"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "https://user:secret@x"}, "base_url"),
        ({"base_url": "https://service.example", "poll_seconds": 5.0}, "poll_seconds"),
        ({"bulk_from": 10}, "bulk_from"),
        ({"bulk_product": "both"}, "bulk_product"),
        ({"pace": "reckless"}, "pace"),
        ({"api_key": "two words"}, "API key"),
        ({"ledger": "mysql://host/x"}, "ledger"),
    ],
)
def test_bad_settings_are_one_clear_line(settings, changes, says):
    """A setting that can't be used is named, never with a secret."""
    fields = {name: getattr(settings, name) for name in ("base_url", "api_key", "ledger")}
    frame = pd.DataFrame({"phone": ["+14155550123"]})
    with pytest.raises(ce.CarrierEnrichError, match=says) as caught:
        ce.enrich(frame, "phone", settings=ce.Settings.of({}, **{**fields, **changes}))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (pd.DataFrame({"phone": pd.Series([], dtype="str")}), "no rows"),
        (pd.DataFrame({"phone": [None, None]}), "no phone number"),
        (pa.table({"phone": pa.nulls(3)}), "no phone number"),
        (pl.DataFrame({"phone": ["", "n/a"]}), "no phone number"),
    ],
    ids=["empty", "all null", "arrow nulls", "junk"],
)
def test_nothing_to_look_up_is_said_and_nothing_is_sent(sandbox, settings, caplog, frame, line):
    """Empty and all-null frames come back with their columns, one line says why."""
    before = sandbox.control.report(summary=True)["requests"]
    out = ce.enrich(frame, "phone", settings=settings)
    assert type(out) is type(frame)
    assert len(out) == len(frame)
    assert "lookup_status" in (out.column_names if isinstance(out, pa.Table) else out.columns)
    assert [record.message.count("\n") for record in caplog.records] == [0]
    assert line in caplog.text
    assert sandbox.control.report(summary=True)["requests"] == before


def test_settings_come_from_the_environment():
    """Every documented variable is read, with its unit."""
    environ = {
        "CARRIER_ENRICH_BASE_URL": "https://lookup.example/",
        "CARRIER_ENRICH_API_KEY": "k",
        "CARRIER_ENRICH_LEDGER": "postgresql://db/x",
        "CARRIER_ENRICH_POLL_SECONDS": "45",
        "CARRIER_ENRICH_MAX_COST_USD": "25",
        "CARRIER_ENRICH_PRICE_SINGLE_USD": "0.002",
        "CARRIER_ENRICH_PRICE_MULTI_USD": "0.0015",
        "CARRIER_ENRICH_PRICE_CARRIER_BATCH_USD": "0.0008",
        "CARRIER_ENRICH_PRICE_GLOBAL_CARRIER_BATCH_USD": "0.001",
        "CARRIER_ENRICH_BULK_PRODUCT": "carrier_batch",
        "CARRIER_ENRICH_MAX_AGE_DAYS": "90",
        "CARRIER_ENRICH_DEADLINE_SECONDS": "7200",
        "CARRIER_ENRICH_PACE": "fast",
        "CARRIER_ENRICH_BULK_FROM": "5000",
    }
    assert ce.Settings.of(environ) == ce.Settings(
        base_url="https://lookup.example",
        api_key="k",
        ledger="postgresql://db/x",
        poll_seconds=45.0,
        max_cost=25_000_000,
        price_single=2_000,
        price_multi=1_500,
        price_carrier_batch=800,
        price_global_carrier_batch=1_000,
        bulk_product="carrier_batch",
        max_age_days=90.0,
        deadline_seconds=7_200.0,
        pace="fast",
        bulk_from=5_000,
    )
    with pytest.raises(ce.CarrierEnrichError, match="CARRIER_ENRICH_BULK_FROM"):
        ce.Settings.of({"CARRIER_ENRICH_BULK_FROM": "many"})


def test_the_same_data_gives_the_same_answers_in_every_form(settings, tmp_path):
    """pandas, pyarrow, polars, Parquet and CSV agree cell by cell."""
    columns = {
        "id": ["1", "2", "3", "4", "5"],
        "phone": ["+44 7509 123456", "020 7946 0018", None, "n/a", "(415) 555-0123"],
        "country": ["GB", "United Kingdom", "US", None, "United States"],
    }
    table = pa.table(columns)
    options = {"country_column": "country", "settings": settings}
    expected = ce.enrich(table, "phone", **options).to_pylist()
    from_pandas = ce.enrich(pd.DataFrame(columns), "phone", **options)
    assert pa.Table.from_pandas(from_pandas, preserve_index=False).to_pylist() == expected
    assert ce.enrich(pl.DataFrame(columns), "phone", **options).to_dicts() == expected
    with ce.Enricher(settings) as enricher:
        for suffix in ("parquet", "csv"):
            source, target = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
            ce.files.write_table(table, source)
            enricher.enrich_file(source, target, "phone", country_column="country")
            rows = ce.files.read_table(target).to_pylist()
            # A CSV has no null: what is missing is empty text there.
            blank = [{k: v or None for k, v in row.items()} for row in rows]
            assert blank == expected


def test_a_plan_binds(settings):
    """A plan says what it would cost, sends only the balance read, and fits only its own data."""
    frame = pd.DataFrame({"phone": ["+14155550123", "+447509123456", "+14155550123"]})
    plan = ce.plan(frame, "phone", settings=settings)
    assert (plan.rows, plan.distinct, plan.known, plan.to_buy) == (3, 2, 0, 2)
    assert plan.highest_cost is None
    with pytest.raises(ce.CarrierEnrichError, match="plan again"):
        ce.enrich(frame.iloc[:2], "phone", plan=plan, settings=settings)
    assert len(ce.enrich(frame, "phone", plan=plan, settings=settings)) == 3
