"""Real processes, killed; a sandbox that counts what each number was charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.arena import SLOW, Arena, write_source

from carrier_enrich.sandbox import SandboxConfig, running_sandbox


@pytest.fixture
def arena(tmp_path: Path, ledger_url: str) -> Iterator[Arena]:
    """A sandbox whose calls take long enough to be killed in, and a ledger of each kind."""
    with running_sandbox(SandboxConfig(**SLOW)) as sandbox:
        yield Arena(sandbox, ledger_url, tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """Files of numbers, the same for the same seed."""
    return lambda name, **sizes: write_source(tmp_path / f"{name}-source.parquet", **sizes)
