"""One real Spark session in this process, a sandbox, and the frames that both are asked about."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carrier_enrich import Settings
from carrier_enrich.sandbox import SandboxConfig, running_sandbox


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two executor threads; also where nobody has installed a Java."""
    from pyspark.sql import SparkSession

    from carrier_enrich.spark import set_up_local

    set_up_local()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    with running_sandbox(SandboxConfig(balance_micros=1_000_000_000)) as running:
        yield running


@pytest.fixture(scope="module")
def make_settings(
    sandbox: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Settings]:
    """Settings with a ledger of this name."""
    folder: Path = tmp_path_factory.mktemp("ledgers")

    def settings(name: str) -> Settings:
        return Settings.of(
            {},
            base_url=sandbox.base_url,
            api_key=sandbox.api_key,
            ledger=str(folder / f"{name}.db"),
            price_single_usd="0.002",
            price_multi_usd="0.002",
        )

    return settings
