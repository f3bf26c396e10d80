"""A whole Dagster deployment as people start it, and what its GraphQL answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
    ... on InvalidSubsetError { message }
  }
}"""
_RUNS = "{ runsOrError { ... on Runs { results { runId } } } }"
_RUN = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
_BACKFILL = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""
_BACKFILL_STATUS = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status } ... on PythonError { message } } }"""
_REPOSITORIES = """{ repositoriesOrError { ... on RepositoryConnection {
  nodes { name location { name } } } } }"""
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")
_BACKFILL_ENDED = ("COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED")


@dataclass(frozen=True, slots=True)
class DevServer:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def query(self, text: str, **variables: Any) -> Any:
        """What GraphQL answers."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self.url}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def launch(
        self,
        job: str,
        config: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> str:
        """The id of a run of a job, started as the Launchpad does it."""
        repository = self.query(_REPOSITORIES)["repositoriesOrError"]["nodes"][0]
        params = {
            "selector": {
                "repositoryName": repository["name"],
                "repositoryLocationName": repository["location"]["name"],
                "pipelineName": job,
            },
            "mode": "default",
            "runConfigData": config or {},
            "executionMetadata": {
                "tags": [{"key": k, "value": v} for k, v in (tags or {}).items()]
            },
        }
        started = self.query(_LAUNCH, params=params)["launchRun"]
        assert started["__typename"] == "LaunchRunSuccess", started
        return str(started["run"]["runId"])

    def runs(self) -> set[str]:
        """The ids of all runs there are."""
        found = self.query(_RUNS)["runsOrError"]["results"]
        return {str(run["runId"]) for run in found}

    def newer(self, runs: set[str], seconds: float = 300.0) -> str:
        """The id of a run that is none of these, once there is one."""

        def found() -> str:
            return "yes" if self.runs() - runs else ""

        _until(found, ("yes",), seconds, "the launch of a run")
        return min(self.runs() - runs)

    def ended(self, run_id: str, seconds: float = 300.0) -> str:
        """How a run has ended."""

        def status() -> str:
            return str(self.query(_RUN, id=run_id)["runOrError"]["status"])

        return _until(status, _ENDED, seconds, f"run {run_id}")

    def backfill(self, assets: Sequence[Sequence[str]], partitions: Sequence[str]) -> str:
        """The id of a backfill of assets, started as their page does it."""
        params = {
            "assetSelection": [{"path": list(path)} for path in assets],
            "partitionNames": list(partitions),
        }
        started = self.query(_BACKFILL, params=params)["launchPartitionBackfill"]
        assert started["__typename"] == "LaunchBackfillSuccess", started
        return str(started["backfillId"])

    def backfilled(self, backfill_id: str, seconds: float) -> str:
        """How a backfill has ended."""

        def status() -> str:
            found = self.query(_BACKFILL_STATUS, id=backfill_id)
            return str(found["partitionBackfillOrError"]["status"])

        return _until(status, _BACKFILL_ENDED, seconds, f"backfill {backfill_id}")


@contextmanager
def dev_server(
    folder: Path, command: tuple[str, ...] = ("dg", "dev"), root: Path = ROOT, **environ: str
) -> Iterator[DevServer]:
    """Serve the project of a folder, with its log in another, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CARRIER_ENRICH_")}
    env = {**inherited, "DAGSTER_DISABLE_TELEMETRY": "1", **environ}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    with (folder / "dev.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--host", "127.0.0.1"],
            cwd=root,
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A test runner in the background of a shell ignores SIGINT, and so would the server.
            preexec_fn=_interruptible,  # noqa: PLW1509 - before any thread is started
        )
    server = DevServer(f"http://127.0.0.1:{port}", process)
    try:
        _wait(server, folder / "dev.log")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(server: DevServer, log: Path) -> None:
    def serves() -> str:
        assert server.process.poll() is None, log.read_text(errors="replace")[-4000:]
        try:
            found = server.query(_REPOSITORIES)["repositoriesOrError"].get("nodes")
        except OSError:
            return ""
        return "yes" if found else ""

    _until(serves, ("yes",), 300.0, f"the server of {log}")


def _until(status: Callable[[], str], ends: Sequence[str], seconds: float, what: str) -> str:
    until, pause = time.monotonic() + seconds, threading.Event()
    while time.monotonic() < until:
        if (found := status()) in ends:
            return found
        pause.wait(0.3)
    raise AssertionError(f"{what} is not at its end after {seconds} s")
