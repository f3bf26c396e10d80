"""The sandbox as a process of its own: how it starts, remembers, is killed, and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from carrier_enrich.sandbox import SandboxConfig, SandboxControl, running_sandbox, serve

_PACKAGE = Path(__file__).parents[2] / "carrier_enrich" / "sandbox"


class Process:
    """A sandbox that another Python runs."""

    def __init__(self, *arguments: str, **config: object) -> None:
        command = [sys.executable, "-m", "carrier_enrich.sandbox", *arguments]
        command += ["--config", json.dumps({"undetermined_share": 0.0} | config)]
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=_PACKAGE.parents[1]
        )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line.startswith("sandbox ready http://127.0.0.1:")
        self.base_url = line.split()[-1]
        self.control = SandboxControl(self.base_url)

    def kill(self) -> None:
        """SIGKILL, which no process can prepare for."""
        self.popen.kill()
        self.popen.wait(30)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.terminate()
        self.popen.wait(30)
        assert self.popen.stdout is not None
        self.popen.stdout.close()


@pytest.fixture
def process() -> Iterator[Callable[..., Process]]:
    with ExitStack() as cleanup:

        def started(*arguments: str, **config: object) -> Process:
            return cleanup.enter_context(Process(*arguments, **config))

        yield started


def test_a_killed_sandbox_knows_its_tasks_money_and_keys_again(
    process, caller_of, numbers, tmp_path
):
    """After SIGKILL a new process on the same file goes on, even if result files are gone."""
    state = ("--state", str(tmp_path / "state.db"))
    config = {"task_seconds": 3600, "price_carrier_batch_micros": 1, "balance_micros": 100_000}
    first = process(*state, **config)
    caller = caller_of(first.base_url, "sandbox-key")
    with caller.client:
        caller.check("+14155550123")
        open_task = caller.submit(numbers(1_000), key="open").json()["data"]
        first.control.configure(task_seconds=0)
        done_task = caller.finished(numbers(1_500), key="done")
        before = first.control.report()
    first.kill()
    for rows in (tmp_path / "state.db.results").iterdir():
        rows.unlink()

    second = process(*state, **config)
    caller = caller_of(second.base_url, "sandbox-key")
    with caller.client:
        after = second.control.report()
        kept = ("charges", "charged", "balance_micros", "granted_micros", "reserved_micros")
        assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
        assert after["balance_micros"] == 100_000 - 2_000 - 1_500 - 1_000
        assert caller.submit(numbers(1_000), key="open").json()["data"] == open_task
        found = caller.query(done_task["id"]).json()["data"]
        assert found["status"] == "success"
        assert len(caller.download(found).text.splitlines()) == 1_501
        second.control.finish_tasks()
        assert caller.query(open_task["id"]).json()["data"]["status"] == "success"
        report = second.control.report()
        assert report["charged_micros"] == 2_000 + 1_500 + 1_000
        assert report["reserved_micros"] == 0


def test_a_task_told_to_fail_fails_after_a_restart_too(process, caller_of, numbers, tmp_path):
    """What was scripted for a task is kept with it."""
    state = ("--state", str(tmp_path / "state.db"))
    first = process(*state, task_seconds=3600)
    first.control.fault("bulk-submit", "task_fails")
    caller = caller_of(first.base_url, "sandbox-key")
    with caller.client:
        task = caller.submit(numbers(1_000)).json()["data"]
    first.kill()
    second = process(*state)
    second.control.finish_tasks()
    caller = caller_of(second.base_url, "sandbox-key")
    with caller.client:
        assert caller.query(task["id"]).json()["data"]["status"] == "failed"
        assert caller.balance() == 100_000_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(process, number):
    """Exit code 0, and nothing more on standard output."""
    running = process()
    running.popen.send_signal(number)
    assert running.popen.wait(30) == 0
    assert running.popen.stdout.read() == ""


def test_it_ends_by_itself_when_nobody_calls(process):
    """After `idle_exit_seconds` the process is gone, with exit code 0."""
    assert process(idle_exit_seconds=0.3).popen.wait(30) == 0


def test_a_port_can_be_asked_for(process):
    """The same one that another sandbox had a moment ago, say."""
    first = process()
    port = first.base_url.rpartition(":")[2]
    first.popen.terminate()
    first.popen.wait(30)
    assert process("--port", port).base_url == first.base_url


@pytest.mark.parametrize(
    "config", ['{"nonsense": 1}', '{"shape": "C"}', "[1", '{"zip_members": 0}']
)
def test_a_config_that_can_not_be_is_bad_use(config):
    """Exit code 2 with a word on what is wrong, and nothing is served."""
    command = [sys.executable, "-m", "carrier_enrich.sandbox", "--config", config]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=_PACKAGE.parents[1], timeout=300
    )
    assert done.returncode == 2
    assert "--config" in done.stderr
    assert done.stdout == ""


def test_only_loopback_is_served():
    """Another interface is refused before a socket is opened."""
    with pytest.raises(ValueError, match="loopback"):
        serve(SandboxConfig(), host="0.0.0.0", port=0)


def test_importing_the_package_is_light():
    """Neither the web framework nor the number tables load before they are used."""
    code = (
        "import sys, carrier_enrich.sandbox as s; s.SandboxConfig; s.SandboxControl;"
        "print(sorted({m.partition('.')[0] for m in sys.modules}"
        " & {'starlette', 'uvicorn', 'phonenumbers', 'httpx'}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(_PACKAGE.parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"


def test_it_is_an_independent_reading():
    """No module of the sandbox imports anything of the package outside of it."""
    lines = [
        line
        for path in sorted(_PACKAGE.glob("*.py"))
        for line in path.read_text().splitlines()
        if line.lstrip().startswith(("import ", "from ")) and "carrier_enrich" in line
    ]
    assert lines
    assert [line for line in lines if "carrier_enrich.sandbox" not in line] == []


def test_it_says_everywhere_that_it_is_a_sandbox(start):
    """Endpoints, controls, downloads and errors carry `X-Sandbox: true`."""
    caller = start().caller
    paths = ["/api/v1/balance", "/sandbox/report", "/results/none", "/nowhere", "/api/v1/check"]
    answers = [caller.client.get(path) for path in paths]
    assert [answer.headers.get("X-Sandbox") for answer in answers] == ["true"] * len(paths)


def test_it_ends_with_its_context():
    """Once the context is left, nobody listens any more."""
    with running_sandbox() as sandbox:
        url = f"{sandbox.base_url}/sandbox/report"
        assert httpx.get(url, trust_env=False, verify=False).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, verify=False)
