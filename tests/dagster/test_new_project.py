"""Somebody else's project: made by `create-dagster`, step by step as the README has it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
(SECTION,) = re.findall(
    r"^### In a project of your own\n(.*?)^## ", README, re.DOTALL | re.MULTILINE
)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
CREATION, ENRICHMENT = (
    [line.removeprefix("$ ") for line in text.splitlines()]
    for kind, text in BLOCKS
    if kind == "console"
)
MODULES = {
    text.splitlines()[0].removeprefix("# "): text for kind, text in BLOCKS if kind == "python"
}
(YAML,) = (text for kind, text in BLOCKS if kind == "yaml")

#: One process for all steps, so that a launch takes seconds.
QUICKLY = """--config-json '{"execution": {"config": {"in_process": {}}}}'"""

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(sandbox, tmp_path) -> Callable[..., str]:
    """Runs commands one after the other in one shell, and gives what they say."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CARRIER_", "DAGSTER_"))}
    environ = kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "DAGSTER_HOME": str(tmp_path),
        # In place of `pip install -e .`, which needs a network.
        "PYTHONPATH": str(tmp_path / "my-project" / "src"),
        "COLUMNS": "200",
        "CARRIER_ENRICH_BASE_URL": sandbox.base_url,
        "CARRIER_ENRICH_API_KEY": sandbox.api_key,
        "CARRIER_ENRICH_LEDGER": str(tmp_path / "ledger.db"),
    }
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}")

    def run(*commands: str) -> str:
        done = subprocess.run(
            ["bash", "-euxc", "\n".join(commands)],
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


@pytest.fixture
def project(shell, tmp_path) -> Path:
    """A new project; what installs it is done, for the packages are those of these tests."""
    shell(*(step for step in CREATION if not re.search(r"\bpip install|\bvenv\b", step)))
    root = tmp_path / "my-project"
    write(root, "src/my_project/defs/contacts.py")
    return root


def write(root: Path, module: str) -> None:
    """Put a module of the README into a project."""
    (root / module).write_text(MODULES[module])


def test_a_new_project_enriches_its_own_asset_by_a_component(shell, project, sandbox):
    """Every command of the README, in its order, ends with carriers beside the project's rows."""
    said = shell("cd my-project", "dg list components", *ENRICHMENT)

    assert "carrier_enrich.dagster.CarrierEnrichmentComponent" in said
    assert "All definitions loaded successfully" in said
    assert "multi_check_results" in said
    shown = said.partition("+ python -c")[2]
    assert re.search(r"lookup_status +found +found +missing", shown)
    assert (project / "src/my_project/defs/crm/defs.yaml").read_text().strip() == YAML.strip()
    assert list(sandbox.control.charges().values()) == [1, 1]


def test_a_new_project_enriches_its_own_asset_by_a_few_lines_of_python(shell, project, sandbox):
    """The README's ten lines do the same as the component."""
    write(project, "src/my_project/defs/crm.py")
    launch = f'dg launch --assets "*" {QUICKLY}'
    said = shell("cd my-project", "dg check defs", "dg list defs", launch)

    assert len(MODULES["src/my_project/defs/crm.py"].splitlines()) <= 10
    assert "All definitions loaded successfully" in said
    assert "bulk_task_results" in said
    assert list(sandbox.control.charges().values()) == [1, 1]
