"""A service, exports, and the assets over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from carrier_enrich.dagster import (
    CarrierEnrichResource,
    build_enrichment_assets,
    build_export_asset,
)
from carrier_enrich.files import write_table
from carrier_enrich.sandbox import RunningSandbox, SandboxConfig, running_sandbox

#: So many US numbers that they go to a bulk task.
US_NUMBERS = 1_050

CONFIG = SandboxConfig(task_seconds=0.2, poll_seconds=0.1)


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    with running_sandbox(CONFIG) as running:
        yield running


@pytest.fixture
def carrier(sandbox: RunningSandbox, tmp_path: Path) -> CarrierEnrichResource:
    return CarrierEnrichResource(
        base_url=sandbox.base_url,
        api_key=sandbox.api_key,
        ledger=str(tmp_path / "ledger.db"),
        folder=str(tmp_path / "files"),
        poll_seconds=CONFIG.poll_seconds,
        price_single_usd=0.002,
        price_multi_usd=0.002,
    )


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def contacts() -> pa.Table:
    """1,050 US numbers for a bulk task, 60 British ones for checks, doubles and junk."""
    us = [f"+1212{5550000 + i}" for i in range(US_NUMBERS)]
    gb = [f"07400 {123000 + i}" for i in range(60)]
    phones = [*us, *gb, *us[:40], None, "", "n/a", "1.41556E+10"]
    names = ["United States"] * US_NUMBERS + ["United Kingdom"] * 60 + ["US"] * 44
    return pa.table({"id": range(len(phones)), "phone": phones, "country": names})


@pytest.fixture
def few(contacts: pa.Table) -> pa.Table:
    """The British numbers and the blanks: checks only."""
    return pa.concat_tables([contacts.slice(US_NUMBERS, 60), contacts.slice(len(contacts) - 4)])


@pytest.fixture
def export(contacts: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "export.parquet"
    write_table(contacts, path)
    return path


@pytest.fixture
def small_export(few: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "small.parquet"
    write_table(few, path)
    return path


@pytest.fixture
def graph() -> Callable[..., list[dg.AssetsDefinition]]:
    """The assets over a file."""

    def build(path: Path, **options: Any) -> list[dg.AssetsDefinition]:
        crm_export = build_export_asset(lambda _: path)
        options = {"phone": "phone", "country_column": "country", **options}
        return [crm_export, *build_enrichment_assets(crm_export, **options)]

    return build
