"""What the README shows works as it stands there."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from carrier_enrich.sandbox import SandboxConfig, running_sandbox

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """The text under a heading of the second level."""
    below = README.partition(f"\n## {title}\n")[2]
    assert below
    return below.partition("\n## ")[0]


def run_on_a_sandbox(command: list[str], folder: Path) -> str:
    """Run a command in a folder, with the settings that `sandbox` prints; what it says."""
    with running_sandbox(SandboxConfig()) as sandbox:
        done = subprocess.run(
            command,
            cwd=folder,
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "HOME": str(folder),
                "CARRIER_ENRICH_BASE_URL": sandbox.base_url,
                "CARRIER_ENRICH_API_KEY": sandbox.api_key,
                "CARRIER_ENRICH_PRICE_SINGLE_USD": "0.002",
                "CARRIER_ENRICH_PRICE_MULTI_USD": "0.002",
                "CARRIER_ENRICH_POLL_SECONDS": "0.2",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_a_code_block_runs(block, tmp_path):
    """Each Python block runs as printed, on a sandbox, beside the small sample as crm.csv."""
    shutil.copy(ROOT / "sample_data" / "crm_export_small.csv", tmp_path / "crm.csv")
    run_on_a_sandbox([sys.executable, "-W", "ignore", "-c", block], tmp_path)


def test_the_way_to_a_file_of_ones_own_leads_there(tmp_path):
    """What "Your own file" has for the second terminal makes the rows that are shown on top."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    activation = tmp_path / ".venv" / "bin" / "activate"
    activation.parent.mkdir(parents=True)
    activation.touch()
    second = section("Your own file").split("```console\n")[2].partition("```")[0]
    # Nobody is there to be asked.
    agreed = second.replace("--report", "--yes --report")
    said = run_on_a_sandbox(["bash", "-euc", agreed], tmp_path)
    assert "balance after" in said
    assert "Written: enriched.csv" in said
    with (tmp_path / "enriched.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-4:] == ["carrier", "number_type", "region", "lookup_status"]
    names, _, *shown = re.findall(r"^\| ?(.*?) ?\|$", README.partition("\n## ")[0], re.MULTILINE)
    cells = [{name: row[name] for name in names.split(" | ")} for row in rows]
    for line in shown:
        assert [cell.strip() for cell in line.split("|")] in [list(row.values()) for row in cells]
    assert "made up" in (tmp_path / "report.html").read_text()


def test_every_block_is_of_a_kind_that_is_tested():
    """Blocks are Python or commands, tested here; the Dagster project's are tested beside it."""
    kinds = set(re.findall(r"^```(\w*)$", README.replace(section("Dagster"), ""), re.MULTILINE))
    assert kinds == {"", "python", "console"}


def test_the_developing_commands_name_what_is_there():
    """Each program under "Developing" is a file of the repository or a tool of the tests."""
    named = re.findall(r"^\.venv/bin/(\S+)(?: (\S+\.py))?", section("Developing"), re.MULTILINE)
    assert {path for _, path in named if path} >= {"tests/benchmarks/error_lines.py"}
    for tool, path in named:
        assert (ROOT / path).is_file() if path else (Path(sys.executable).parent / tool).exists()


def test_the_commands_that_are_named_exist():
    """Every `carrier-enrich` command of the README is one of the program's."""
    from carrier_enrich.cli.program import program

    named = set(re.findall(r"^carrier-enrich (\w+)", README, re.MULTILINE))
    assert len(named) > 5
    assert named <= set(program.commands)


def test_every_file_that_is_named_is_there():
    """Paths in the README lead somewhere."""
    paths = set(re.findall(r"(?:tests|dagster_project|sample_data)/[\w/]+\.\w+", README))
    assert paths
    assert all((ROOT / path).exists() for path in paths)
