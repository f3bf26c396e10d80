"""A service, exports, and whole Dagster deployments for these tests."""

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from carrier_enrich.dagster import (
    CarrierEnrichResource,
    build_enrichment_assets,
    build_export_asset,
)
from carrier_enrich.files import write_table
from carrier_enrich.sandbox import RunningSandbox, SandboxConfig, running_sandbox

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
_RUN = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")


@dataclass(frozen=True)
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
        repository = self.query(
            "{ repositoriesOrError { ... on RepositoryConnection { "
            "nodes { name location { name } } } } }"
        )["repositoriesOrError"]["nodes"][0]
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

    def ended(self, run_id: str, seconds: float = 120.0) -> str:
        """How a run has ended."""
        until = time.monotonic() + seconds
        pause = threading.Event()
        while time.monotonic() < until:
            status = str(self.query(_RUN, id=run_id)["runOrError"]["status"])
            if status in _ENDED:
                return status
            pause.wait(0.3)
        raise AssertionError(f"run {run_id} is still going after {seconds} s")


#: So many US numbers that they go to a bulk task.
US_NUMBERS = 1_050

CONFIG = SandboxConfig(task_seconds=0.2, poll_seconds=0.1)


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    with running_sandbox(CONFIG) as running:
        yield running


@pytest.fixture
def carrier(sandbox: RunningSandbox, tmp_path: Path) -> CarrierEnrichResource:
    return CarrierEnrichResource(
        base_url=sandbox.base_url,
        api_key=sandbox.api_key,
        ledger=str(tmp_path / "ledger.db"),
        folder=str(tmp_path / "files"),
        poll_seconds=CONFIG.poll_seconds,
        price_single_usd=0.002,
        price_multi_usd=0.002,
    )


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def contacts() -> pa.Table:
    """1,050 US numbers for a bulk task, 60 British ones for checks, doubles and junk."""
    us = [f"+1212{5550000 + i}" for i in range(US_NUMBERS)]
    gb = [f"07400 {123000 + i}" for i in range(60)]
    phones = [*us, *gb, *us[:40], None, "", "n/a", "1.41556E+10"]
    names = ["United States"] * US_NUMBERS + ["United Kingdom"] * 60 + ["US"] * 44
    return pa.table({"id": range(len(phones)), "phone": phones, "country": names})


@pytest.fixture
def few(contacts: pa.Table) -> pa.Table:
    """The British numbers and the blanks: checks only."""
    return pa.concat_tables([contacts.slice(US_NUMBERS, 60), contacts.slice(len(contacts) - 4)])


@pytest.fixture
def export(contacts: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "export.parquet"
    write_table(contacts, path)
    return path


@pytest.fixture
def small_export(few: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "small.parquet"
    write_table(few, path)
    return path


@pytest.fixture
def graph() -> Callable[..., list[dg.AssetsDefinition]]:
    """The assets over a file."""

    def build(path: Path, **options: Any) -> list[dg.AssetsDefinition]:
        crm_export = build_export_asset(lambda _: path)
        options = {"phone": "phone", "country_column": "country", **options}
        return [crm_export, *build_enrichment_assets(crm_export, **options)]

    return build


@pytest.fixture(scope="session")
def dev_server() -> Callable[..., Any]:
    """Serves the project of a folder, with its state in another."""
    return _dev_server


@contextmanager
def _dev_server(
    folder: Path, command: tuple[str, ...] = ("dg", "dev"), root: Path = ROOT, **environ: str
) -> Iterator[DevServer]:
    """Serve the project of a folder, with its state in another."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CARRIER_ENRICH_")}
    bin_folder = str(Path(sys.executable).parent)
    env = {
        **inherited,
        "PATH": f"{bin_folder}{os.pathsep}{inherited.get('PATH', '')}",
        "DAGSTER_DISABLE_TELEMETRY": "1",
        **environ,
    }
    with (folder / "dev.log").open("wb") as log:
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
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(server: DevServer, log: Path) -> None:
    until, pause = time.monotonic() + 90, threading.Event()
    while time.monotonic() < until:
        assert server.process.poll() is None, log.read_text(errors="replace")[-4000:]
        try:
            locations = server.query(
                "{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }"
            )
            if locations["repositoriesOrError"].get("nodes"):
                return
        except OSError:
            pass
        pause.wait(0.3)
    raise AssertionError(log.read_text(errors="replace")[-4000:])
