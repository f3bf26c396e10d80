"""A terminal that is asked, and stops from outside: nothing paid for is lost or hidden."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.commands import SECONDS, started


def ask_on_terminal(settings: Mapping[str, str], folder: Path, answer: str) -> tuple[int, str]:
    """Run `enrich` on a terminal, answer its question, and give its exit code and all it said."""
    ours, theirs = pty.openpty()
    process = started(
        ["enrich", "small.csv", "out.csv", "--phone", "phone"],
        {**settings, "TERM": "xterm", "COLUMNS": "100"},
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said, answered = b"", False
    while select.select([ours], [], [], SECONDS)[0]:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not part:
            break
        said += part
        if not answered and b"[y/N]" in said:
            os.write(ours, f"{answer}\n".encode())
            answered = True
    os.close(ours)
    assert answered
    return process.wait(SECONDS), said.decode()


def test_the_terminal_is_asked(settings: dict[str, str], small: str, tmp_path: Path) -> None:
    """On a terminal the plan comes first, then the question; no buys nothing, yes buys."""
    assert small == "small.csv"
    code, said = ask_on_terminal(settings, tmp_path, "")
    assert code == 3
    assert "Spend at most $0.004 of play money? [y/N]" in said
    assert said.index("to buy") < said.index("[y/N]")
    assert not (tmp_path / "out.csv").exists()
    code, said = ask_on_terminal(settings, tmp_path, "y")
    assert code == 0
    assert "2 numbers bought for $0.004" in said
    assert (tmp_path / "out.csv").exists()


def wait_for_task(process: subprocess.Popen[str]) -> None:
    """Read the process's lines until one tells of a bulk task that the service has."""
    assert process.stderr is not None
    for line in process.stderr:
        if "bulk task (" in line:
            return
    raise AssertionError("no bulk task was told of")


def stopped_in_a_task(
    settings: Mapping[str, str], folder: Path, number: int, area: int
) -> tuple[int, str]:
    """Enrich as many US numbers as make a bulk task, send a signal; exit code and errors told.

    Each area's numbers are another task to the service.
    """
    rows = "".join(f"+1{area}{number}\n" for number in range(5_560_000, 5_561_000))
    (folder / "large.csv").write_text(f"phone\n{rows}")
    process = started(
        ["enrich", "large.csv", "o.csv", "--phone", "phone", "--yes"],
        settings,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for_task(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    assert out == ""
    return process.returncode, err


def test_ctrl_c_keeps_what_is_paid(
    ce: Any, sandbox: Any, settings: dict[str, str], tmp_path: Path
) -> None:
    """Ctrl-C tells what is open; `tasks` lists it, `settle` collects it, and it is paid once."""
    sandbox.control.configure(task_seconds=600.0)
    code, err = stopped_in_a_task(settings, tmp_path, signal.SIGINT, 212)
    assert code == 130
    assert "1 purchase (1,000 numbers) may be paid for and still open: carrier-enrich settle" in err

    listed = ce("tasks", "--json").document["open"]
    assert [(task["kind"], task["numbers"]) for task in listed] == [("bulk_task", 1_000)]
    early = ce("settle", "-q", deadline_seconds="0.5")
    assert early.code == 5
    assert "still open" in early.err

    sandbox.control.finish_tasks()
    settled = ce("settle", "--json")
    assert settled.code == 0
    assert [task["state"] for task in settled.document["settled"]] == ["collected"]
    assert ce("tasks").out == "Nothing is open.\n"
    free = ce("enrich", "large.csv", "o.csv", "--phone", "phone", "--json")
    assert free.document["receipt"]["known"] == 1_000
    charges = sandbox.control.charges()
    times = [charged for number, charged in charges.items() if str(number).startswith("1212")]
    assert times == [1] * 1_000


def test_what_is_open_can_be_given_up(
    ce: Any, sandbox: Any, settings: dict[str, str], tmp_path: Path
) -> None:
    """SIGTERM, as a scheduler sends it, leaves a task open; by its id it is closed for good."""
    sandbox.control.configure(task_seconds=600.0)
    code, err = stopped_in_a_task(settings, tmp_path, signal.SIGTERM, 310)
    assert code == 143
    assert "carrier-enrich settle" in err
    assert ce("settle", "--give-up", "999").code == 2
    (task,) = ce("tasks", "--json").document["open"]
    closed = ce("settle", "--give-up", str(task["id"]), "--json")
    assert closed.code == 0
    assert [task["charged_micros"] for task in closed.document["settled"]] == [1_000_000]
    assert closed.document["open"] == []
