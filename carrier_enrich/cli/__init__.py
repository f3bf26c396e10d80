"""The command line. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """SIGTERM, told to a command as Ctrl-C is: it keeps what came and says what is open."""


def main() -> NoReturn:
    """Run the command that the arguments name, and exit with its code."""
    from carrier_enrich.cli.running import run

    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(sys.argv[1:]))


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated
