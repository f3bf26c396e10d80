"""The configurations that the project ships for Dagster instances."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config
from sqlalchemy import make_url

DEPLOY = Path(__file__).parents[2] / "dagster_project" / "deploy"
FOLDERS = sorted(DEPLOY.iterdir())


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


def test_the_kubernetes_launcher_takes_its_configuration():
    """Every field stands in the launcher's own schema, where Dagster itself does not look."""
    from dagster_k8s import K8sRunLauncher

    text = (DEPLOY / "kubernetes" / "dagster.yaml").read_text()
    config = yaml.safe_load(text)["run_launcher"]["config"]
    found = process_config(resolve_to_config_type(K8sRunLauncher.config_type()), config)
    assert found.success, found.errors


def test_the_project_runs_its_steps_on_celery_where_a_broker_is_named():
    """The same definitions, without a change, get the Celery executor."""
    code = (
        "from dagster_project.definitions import defs;"
        "print(defs().get_repository_def().get_job('enrich_crm').executor_def.name)"
    )
    environ = {"CRM_CELERY_BROKER": "memory://", "CRM_CELERY_BACKEND": "cache+memory://"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=DEPLOY.parents[1],
        env=dict(os.environ) | environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.strip() == "celery"


def test_storage_and_ledger_live_side_by_side_in_postgresql(
    postgres_server, postgres_url, tmp_path, monkeypatch, carrier, graph, export, sandbox
):
    """On the shipped instance a run is kept in PostgreSQL, and so is what it bought, once."""
    shutil.copy(DEPLOY / "postgres" / "dagster.yaml", tmp_path)
    storage = make_url(postgres_server).set(drivername="postgresql+psycopg2")
    monkeypatch.setenv("DAGSTER_PG_URL", storage.render_as_string(hide_password=False))
    carrier = carrier.model_copy(update={"ledger": postgres_url})
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        for _ in range(2):
            assert dg.materialize(
                graph(export), resources={"carrier": carrier}, instance=instance
            ).success
        assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"
        assert len(instance.get_runs()) == 2
    assert set(sandbox.control.charges().values()) == {1}
