"""Real processes, killed: nothing is submitted twice, nothing is bought twice, nothing is lost."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
from support.dagster_dev import ROOT, dev_server

from carrier_enrich.sandbox import SandboxConfig, running_sandbox

LOG = logging.getLogger(__name__)
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
        """The process of a step of the newest run; 0 where it has not started."""
        (run,) = self.instance.get_runs(limit=1)
        for entry in self.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_START):
            event = entry.dagster_event
            if event is not None and event.step_key == step and event.pid is not None:
                return event.pid
        return 0

    def has_started(self, step: str) -> bool:
        """Whether the newest run has come to a step."""
        return self.pid_of(step) > 0

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
            # Steps outlive a run that was killed.
            with suppress(ProcessLookupError):
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
    """Whether the service has counted one submission, one charge a number, and no limit passed.

    Its count is shown by ``pytest --log-cli-level=INFO``.
    """
    report = service.control.report()
    limits, tasks = report["limits"], report["tasks"]
    LOG.info(
        "submissions of each task %s, polls %s, charges %s, requests %s, refusals %s, limits %s",
        [task["submissions"] for task in tasks],
        [task["polls"] for task in tasks],
        report["charged"],
        report["requests"],
        report["refusals"],
        limits,
    )
    return (
        [task["submissions"] for task in tasks] == [1]
        and set(report["charges"].values()) == {1}
        and limits["early_polls"] == limits["refused_42901"] == 0
        and limits["max_multis_at_once"] == 1
        and limits["max_in_flight"] <= 5
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


def test_a_killed_run_leaves_a_step_behind_that_nobody_pays_for(deployment, service):
    """SIGKILL of the run worker alone: its orphaned step and the next run share one task."""
    run = deployment.start("run")
    wait_until(lambda: polled(service), "no poll")
    orphan = deployment.pid_of("bulk_task_results")
    run.kill()
    run.wait(30)
    again = deployment.start("run")
    wait_until(lambda: len(deployment.instance.get_runs()) == 2, "no second run")
    wait_until(lambda: deployment.has_started("bulk_task_results"), "it does not wait for the task")
    os.kill(orphan, 0)
    service.control.finish_tasks()

    assert deployment.succeeded(again)
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
    """Four processes over one export share one ledger: one task, one check a number, four files."""
    service.control.configure(task_seconds=1.0)
    runs = [deployment.start("run", name=str(at)) for at in range(4)]
    ended_well = [deployment.succeeded(run) for run in runs]
    assert ended_well == [True] * 4
    assert bought_once(service)

    files = list(deployment.home.rglob("crm_enriched.parquet"))
    statuses = [pq.read_table(file)["lookup_status"].to_pylist() for file in files]
    assert [len(rows) for rows in statuses] == [1_154] * 4
    assert "not_checked" not in {status for rows in statuses for status in rows}


def test_a_deployment_that_was_killed_goes_on_when_it_is_started_again(
    deployment, service, tmp_path
):
    """SIGKILL of server, daemon, run worker and steps; after `dg dev` one run collects the task."""
    environ = deployment.environ | {"CRM_EXPORT": deployment.environ["EXPORT"]}
    config = {"ops": {"lookup_plan": {"config": {"phone": ["phone"]}}}}
    shutil.copy(ROOT / "dagster_project" / "deploy" / "local" / "dagster.yaml", deployment.home)
    with dev_server(tmp_path, **environ) as server:
        server.launch("enrich_crm", config)
        wait_until(lambda: polled(service), "no poll")
        kill_everything(server.process.pid)
        server.process.wait(30)
    service.control.finish_tasks()

    with dev_server(tmp_path, **environ) as server:
        assert server.ended(server.launch("enrich_crm", config), SECONDS) == "SUCCESS"
    assert bought_once(service)
    assert len(deployment.enriched()) == 1_154


def kill_everything(root: int) -> None:
    """SIGKILL a process and all that came of it, wherever their groups are."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name, which may hold blanks: state, parent.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
