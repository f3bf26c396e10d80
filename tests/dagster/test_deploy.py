"""The configurations that the project ships for Dagster instances."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

FOLDERS = sorted((Path(__file__).parents[2] / "dagster_project" / "deploy").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_shipped_instance_configuration_is_valid(folder):
    """Dagster accepts each dagster.yaml, with telemetry off and one place in each pool."""
    config, _ = dagster_instance_config(str(folder))
    assert config["telemetry"] == {"enabled": False}
    assert config["concurrency"]["pools"] == {"default_limit": 1, "granularity": "op"}
    assert config["run_monitoring"] == {"enabled": True, "max_runtime_seconds": 86_400}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_shipped_configuration_holds_a_secret(folder):
    """Addresses with passwords come from the environment."""
    text = (folder / "dagster.yaml").read_text()
    storage = yaml.safe_load(text).get("storage")
    assert storage is None or storage == {"postgres": {"postgres_url": {"env": "DAGSTER_PG_URL"}}}
    assert "@" not in text
