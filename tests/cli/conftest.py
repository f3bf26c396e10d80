"""A sandbox, an environment that points to it, and commands that run there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import COMMAND, SECONDS, Ran

from carrier_enrich.sandbox import SandboxConfig, running_sandbox

SMALL = (
    "name,phone\nAnn,+1 415 555 0101\nBob,+1 415 555 0102\nCem,\nDan,+1 415 555 0101\nEve,junk\n"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    """One sandbox for all tests: each has a ledger and numbers' charges of its own."""
    config = SandboxConfig(
        api_keys=("key-of-the-tests", "key-of-the-poor"), undetermined_share=0.0, poll_seconds=0.0
    )
    with running_sandbox(config) as running:
        running.control.set_balance(1_000, account=1)
        yield running


@pytest.fixture
def settings(sandbox: Any, tmp_path: Path) -> dict[str, str]:
    """The environment of a command: the sandbox, its prices, a ledger of the test's own."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(tmp_path),
        "CARRIER_ENRICH_BASE_URL": sandbox.base_url,
        "CARRIER_ENRICH_API_KEY": "key-of-the-tests",
        "CARRIER_ENRICH_LEDGER": str(tmp_path / "ledger.db"),
        "CARRIER_ENRICH_PRICE_SINGLE_USD": "0.002",
        "CARRIER_ENRICH_PRICE_MULTI_USD": "0.002",
        "CARRIER_ENRICH_POLL_SECONDS": "0.1",
    }


@pytest.fixture
def ce(settings: dict[str, str], tmp_path: Path) -> Callable[..., Ran]:
    """Runs a command in the test's folder; settings may be changed, None takes one away."""

    def command(*arguments: str, **changes: str | None) -> Ran:
        changed = {**settings, **{f"CARRIER_ENRICH_{k.upper()}": v for k, v in changes.items()}}
        environment = {name: value for name, value in changed.items() if value is not None}
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert "Traceback" not in done.stderr or "--debug" in arguments
        return Ran(done.returncode, done.stdout, done.stderr)

    return command


@pytest.fixture
def small(tmp_path: Path) -> str:
    (tmp_path / "small.csv").write_text(SMALL)
    return "small.csv"
