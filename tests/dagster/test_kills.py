"""Real processes, killed: nothing is submitted twice, nothing is bought twice, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest

from carrier_enrich.sandbox import SandboxConfig, running_sandbox

SCRIPT = Path(__file__).with_name("deployment.py")
SECONDS = 500.0

pytestmark = pytest.mark.slow


@dataclass
class Deployment:
    """A Dagster instance with its runs as processes."""

    home: Path
    environ: dict[str, str]
    instance: dg.DagsterInstance
    runs: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str, name: str = "") -> subprocess.Popen[bytes]:
        """A run as a process group of its own."""
        with (self.home / f"run{len(self.runs)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", str(SCRIPT), *arguments],
                env={**self.environ, "NAME": name},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.runs.append(process)
        return process

    def succeeded(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether a run ends well."""
        return process.wait(SECONDS) == 0

    def pid_of(self, step: str) -> int:
        """The process of a step of the newest run."""
        (run,) = self.instance.get_runs(limit=1)
        for entry in self.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_START):
            event = entry.dagster_event
            if event is not None and event.step_key == step and event.pid is not None:
                return event.pid
        raise AssertionError(f"{step} has not started")

    def enriched(self) -> list[dict]:
        """The rows of the newest enriched file."""
        key = dg.AssetKey("crm_enriched")
        event = self.instance.get_latest_materialization_event(key).asset_materialization
        return pq.read_table(event.metadata["file"].value).to_pylist()


@pytest.fixture
def service():
    # The tasks end when the test says so.
    with running_sandbox(SandboxConfig(task_seconds=3_600.0, poll_seconds=0.5)) as running:
        yield running


@pytest.fixture
def deployment(service, export, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("CARRIER_ENRICH_")} | {
        "DAGSTER_HOME": str(home),
        "EXPORT": str(export),
        "CARRIER_ENRICH_BASE_URL": service.base_url,
        "CARRIER_ENRICH_API_KEY": service.api_key,
        "CARRIER_ENRICH_LEDGER": str(tmp_path / "ledger.db"),
        "CARRIER_ENRICH_POLL_SECONDS": "0.5",
        "CARRIER_ENRICH_PRICE_SINGLE_USD": "0.002",
        "CARRIER_ENRICH_PRICE_MULTI_USD": "0.002",
    }
    with dg.DagsterInstance.from_config(str(home)) as instance:
        made = Deployment(home, environ, instance)
        yield made
        for process in made.runs:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)


def wait_until(holds, what: str) -> None:
    """Until something that other processes bring about is true."""
    until, pause = time.monotonic() + SECONDS, threading.Event()
    while not holds():
        assert time.monotonic() < until, what
        pause.wait(0.1)


def polled(service) -> bool:
    return any(task["polls"] >= 2 for task in service.control.report()["tasks"])


def bought_once(service) -> bool:
    report = service.control.report()
    return (
        [task["submissions"] for task in report["tasks"]] == [1]
        and set(report["charges"].values()) == {1}
        and report["limits"]["early_polls"] == 0
        and report["limits"]["max_multis_at_once"] == 1
    )


def test_a_killed_step_comes_back_without_a_second_submission(deployment, service):
    """SIGKILL of the polling step: Dagster starts it again, and it goes on with the same task."""
    run = deployment.start("run")
    wait_until(lambda: polled(service), "no poll")
    os.kill(deployment.pid_of("bulk_task_results"), signal.SIGKILL)
    service.control.finish_tasks()

    assert deployment.succeeded(run)
    assert bought_once(service)
    assert len(deployment.enriched()) == 1_154


def test_a_run_without_money_fails_and_is_repeated_from_there(deployment, service):
    """Money that runs out in the middle fails the run; repeated, it pays for the rest only."""
    service.control.configure(task_seconds=0.5)
    service.control.fault("batch-check", "code", code=40200, times=None)
    run = deployment.start("run")
    assert not deployment.succeeded(run)
    (failed,) = deployment.instance.get_runs(limit=1)
    assert service.control.report(summary=True)["requests"]["bulk-submit"] == 1
    service.control.clear_faults()

    assert deployment.succeeded(deployment.start("rerun", failed.run_id))
    assert bought_once(service)
    assert len(deployment.enriched()) == 1_154


def test_a_new_run_goes_on_where_everything_was_killed(deployment, service):
    """SIGKILL of the run with all its steps: the next run collects what that one had paid for."""
    run = deployment.start("run")
    wait_until(lambda: polled(service), "no poll")
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(30)
    service.control.finish_tasks()

    assert deployment.succeeded(deployment.start("run"))
    assert bought_once(service)
    assert {row["lookup_status"] for row in deployment.enriched()} >= {"found", "missing"}


def test_a_terminated_run_says_what_is_still_open(deployment, service):
    """An interrupt stops the run; its log names the open task, and the next run collects it."""
    run = deployment.start("run")
    wait_until(lambda: polled(service), "no poll")
    run.send_signal(signal.SIGINT)
    assert not deployment.succeeded(run)
    (stopped,) = deployment.instance.get_runs(limit=1)
    lines = [entry.message for entry in deployment.instance.all_logs(stopped.run_id)]
    assert any("1 purchases (1,050 numbers)" in line for line in lines)

    service.control.finish_tasks()
    assert deployment.succeeded(deployment.start("run"))
    assert bought_once(service)


def test_four_runs_at_once_buy_every_number_once(deployment, service):
    """Four processes over one export share one ledger: one task, one check a number."""
    service.control.configure(task_seconds=1.0)
    runs = [deployment.start("run", name=str(at)) for at in range(4)]
    assert all(deployment.succeeded(run) for run in runs)
    assert bought_once(service)
