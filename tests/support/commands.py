"""The command line as a process: started, finished, and what it said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COMMAND = [sys.executable, "-m", "carrier_enrich.cli"]
SECONDS = 600


@dataclass(frozen=True)
class Ran:
    """A finished process."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it must be."""
        read: dict[str, Any] = json.loads(self.out)
        return read


def started(
    arguments: list[str], settings: Mapping[str, str], **streams: Any
) -> subprocess.Popen[str]:
    # A shell that starts tests in the background would have Ctrl-C ignored.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from carrier_enrich.cli import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=settings, text=True, **streams
    )
