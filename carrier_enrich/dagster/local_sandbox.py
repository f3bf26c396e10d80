"""One sandbox for all processes of a Dagster deployment on this machine, started at first need.

The code server, run workers and steps are separate processes, and they must meet the same
balance, tasks and limits. Whoever comes first starts a sandbox as a process of its own; the
others find it through a file in the folder. It keeps its port and its state over restarts, so
that what the ledger knows of it stays true, and ends when nobody has called for a while.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from carrier_enrich.errors import ServiceUnavailable
from carrier_enrich.sandbox.config import SandboxConfig

#: The sandbox's one account; play money, so the key is no secret.
API_KEY = "sandbox-key"

#: Quick enough for a demonstration, slow enough to be watched.
CONFIG = SandboxConfig(
    api_keys=(API_KEY,),
    single_seconds=0.05,
    multi_seconds=0.15,
    task_seconds=4.0,
    poll_seconds=1.0,
    idle_exit_seconds=1_800.0,
)

_START_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 5.0


def local_sandbox(folder: Path, config: SandboxConfig = CONFIG) -> str:
    """The base URL of the folder's sandbox, which runs when this returns.

    Args:
        folder: holds the sandbox's address, state and output; made where it is not there.
        config: what a newly started sandbox charges and how quick it is.

    Raises:
        ServiceUnavailable: it can't be started; the message names the file that says why.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    address, state = folder / "sandbox.json", folder / "sandbox.state.db"
    with _alone(folder / "sandbox.lock"):
        port = _port_in(address)
        if port and _answers(port, state):
            return _url(port)
        if port and _started(folder, port, state, config):
            return _url(port)
        # The first time, or something else has taken the port meanwhile.
        port = _started(folder, 0, state, config)
        if not port:
            raise ServiceUnavailable(f"the sandbox did not start: see {folder / 'sandbox.log'}")
        address.write_text(json.dumps({"port": port}))
        return _url(port)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock against other processes; SQLite's is the one that every system has."""
    with closing(sqlite3.connect(lock, timeout=2 * _START_SECONDS, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        yield


def _started(folder: Path, port: int, state: Path, config: SandboxConfig) -> int:
    """The port of a sandbox process that now answers; 0 where it ended instead."""
    log = folder / "sandbox.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own module, by this very interpreter
            [
                *(sys.executable, "-m", "carrier_enrich.sandbox"),
                *("--port", str(port), "--state", str(state)),
                *("--config", json.dumps(config.as_json() | {"state_path": None})),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            # It outlives the process that happened to need it first.
            start_new_session=True,
        )
    until = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        ready = log.read_text(errors="replace").partition("sandbox ready http://127.0.0.1:")[2]
        if "\n" in ready:
            return int(ready.split("\n", 1)[0])
        time.sleep(_LOOK_SECONDS)
    process.kill()
    return 0


def _port_in(address: Path) -> int:
    try:
        port = json.loads(address.read_text())["port"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return port if isinstance(port, int) else 0


def _answers(port: int, state: Path) -> bool:
    """Whether the sandbox with this very state answers there."""
    request = urllib.request.Request(  # noqa: S310 - always http on loopback
        f"{_url(port)}/sandbox/config", data=b"{}", method="POST"
    )
    # A proxy from the environment would never find this machine's loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_ANSWER_SECONDS) as response:
            config: dict[str, Any] = json.load(response)
    except (OSError, ValueError):
        return False
    return config.get("state_path") == str(state)


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"
