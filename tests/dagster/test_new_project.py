"""Somebody else's project: made, scaffolded, checked and launched by Dagster's own commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FILES = {
    "pyproject.toml": """
[project]
name = "my-project"
version = "0.1.0"
requires-python = ">=3.11"

[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "my_project"
""",
    "src/my_project/__init__.py": "",
    "src/my_project/definitions.py": """
from pathlib import Path
from dagster import definitions, load_from_defs_folder

@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
""",
    "src/my_project/defs/__init__.py": "",
    "src/my_project/defs/contacts.py": """
import dagster as dg
import pandas as pd

@dg.asset
def contacts() -> pd.DataFrame:
    return pd.DataFrame({"phone": ["+44 7400 123456", "+1 212-555-0100", None]})
""",
}


@pytest.fixture
def dg_command(sandbox, tmp_path):
    """Runs `dg` in a project of the kind that `create-dagster` makes, and gives what it says."""
    root, home = tmp_path / "my-project", tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("CARRIER_ENRICH_")} | {
        "DAGSTER_HOME": str(home),
        "PYTHONPATH": str(root / "src"),
        "COLUMNS": "200",
        "CARRIER_ENRICH_BASE_URL": sandbox.base_url,
        "CARRIER_ENRICH_API_KEY": sandbox.api_key,
        "CARRIER_ENRICH_LEDGER": str(tmp_path / "ledger.db"),
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [Path(sys.executable).with_name("dg"), *arguments],
            cwd=root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_a_new_project_enriches_its_own_asset(dg_command, sandbox):
    """One command scaffolds the component; the project then checks, lists and launches."""
    component = "carrier_enrich.dagster.CarrierEnrichmentComponent"
    assert component in dg_command("list", "components")
    dg_command("scaffold", "defs", component, "crm", "--source", "contacts", "--phone", "phone")
    assert "All definitions loaded successfully" in dg_command("check", "defs")
    assert "multi_check_results" in dg_command("list", "defs")
    dg_command("launch", "--assets", "*")
    assert set(sandbox.control.charges().values()) == {1}
    assert len(sandbox.control.charges()) == 2
