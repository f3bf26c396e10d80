"""What the README shows works as it stands there."""

from __future__ import annotations

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


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_a_code_block_runs(block, tmp_path):
    """Each Python block runs as printed, on a sandbox, beside the small sample as crm.csv."""
    shutil.copy(ROOT / "sample_data" / "crm_export_small.csv", tmp_path / "crm.csv")
    with running_sandbox(SandboxConfig()) as sandbox:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", block],
            cwd=tmp_path,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "CARRIER_ENRICH_BASE_URL": sandbox.base_url,
                "CARRIER_ENRICH_API_KEY": sandbox.api_key,
                "CARRIER_ENRICH_PRICE_SINGLE_USD": "0.002",
                "CARRIER_ENRICH_PRICE_MULTI_USD": "0.002",
                "CARRIER_ENRICH_POLL_SECONDS": "0.2",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2_000:]


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
