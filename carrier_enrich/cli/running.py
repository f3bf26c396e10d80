"""From arguments to an exit code: every error becomes one line, and one JSON document if asked.

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | a fault of this program, or the run was taken over by another |
| 2 | bad use or input |
| 3 | not confirmed |
| 4 | over the cap or the balance |
| 5 | paid work is still open: run `settle` |
| 6 | the service refuses: key, maintenance, quota |
| 130, 143 | stopped by Ctrl-C, by SIGTERM |
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from carrier_enrich.advice import advice_on
from carrier_enrich.cli import Terminated
from carrier_enrich.cli.output import write_json, write_line
from carrier_enrich.cli.program import PROGRAM, program
from carrier_enrich.errors import CarrierEnrichError

FAULT, BAD_USE, INTERRUPTED, TERMINATED = 1, 2, 130, 143


def run(arguments: Sequence[str]) -> int:
    """Run a command; its exit code. Errors are told here and nowhere else."""
    # Parsing may be what fails, so these two are known before it.
    as_json, debug = "--json" in arguments, "--debug" in arguments
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a letter must not end a run that has cost money.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = program.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read this has gone, as `head` does; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the last one to hear of it
        if debug:
            traceback.print_exc()
        # The parser wraps a stop from outside, and with it what was noted on it.
        told = error.__cause__ if isinstance(error, click.Abort) and error.__cause__ else error
        code, message = judged(told)
        _tell(told, code, message, as_json=as_json)
    return code if isinstance(code, int) else 0


def judged(error: BaseException) -> tuple[int, str]:
    """The exit code and the line for an error."""
    match error:
        case CarrierEnrichError():
            told = error.exit_code, str(error)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else PROGRAM
            told = BAD_USE, f"{error.format_message()} ({path} --help shows how)"
        case click.ClickException():
            told = BAD_USE, error.format_message()
        case Terminated():
            told = TERMINATED, "stopped by SIGTERM"
        case KeyboardInterrupt() | click.Abort() | EOFError():
            told = INTERRUPTED, "stopped by Ctrl-C"
        case OSError():
            what = f": {error.filename}" if error.filename else ""
            told = BAD_USE, f"{error.strerror or type(error).__name__}{what}"
        case _:
            # Not its message, which may quote data.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            told = FAULT, f"unexpected {type(error).__name__} at {where}; --debug shows more"
    return told


def lines_of(error: BaseException) -> list[str]:
    """What is told of an error: its line, then what it cost and what to do."""
    return [f"{PROGRAM}: {judged(error)[1]}", *(f"  {note}" for note in _notes(error))]


def _notes(error: BaseException) -> list[str]:
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    advice = advice_on(error)
    return notes if advice is None or advice in notes else [advice, *notes]


def _tell(error: BaseException, code: int, message: str, *, as_json: bool) -> None:
    notes = _notes(error)
    for line in lines_of(error):
        write_line(line)
    if as_json:
        told: dict[str, Any] = {
            "type": type(error).__name__,
            "message": message,
            "notes": notes,
            "exit_code": code,
        }
        service_code = getattr(error, "code", None)
        if isinstance(service_code, int):
            told["service_code"] = service_code
        write_json({"error": told})
