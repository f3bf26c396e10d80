"""Causes of errors that real runs meet, each done for real on a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from carrier_enrich import CarrierClient, Enricher, Settings, errors
from carrier_enrich.cli.gate import gate
from carrier_enrich.sandbox import RunningSandbox
from carrier_enrich.wire import task_file
from support.timing import Clock, SwiftCourier

#: Numbers of a multi check, and as many as make a bulk task.
FEW = [14_155_550_100 + at for at in range(3)]
MANY = [14_155_550_000 + at for at in range(1_000)]

DAY = 86_400.0


@dataclass
class Stage:
    """A sandbox, a ledger, and a clock that never sleeps."""

    sandbox: RunningSandbox
    folder: Path
    clock: Clock

    def enricher(self, **changes: Any) -> Enricher:
        given = {
            "base_url": self.sandbox.base_url,
            "api_key": self.sandbox.api_key,
            "ledger": str(self.folder / "ledger.db"),
            "price_single_usd": "0.002",
            "price_multi_usd": "0.002",
        }
        settings = Settings.of({}, **{**given, **changes})
        return Enricher(settings, clock=self.clock, courier=SwiftCourier)

    def enrich(self, numbers: list[int], options: Any = None, **changes: Any) -> None:
        """Enrich numbers and say nothing; `changes` are of the settings."""
        with self.enricher(**changes) as enricher:
            enricher.enrich(frame(numbers), "phone", **(options or {}))

    def failing(self, on: str, kind: str, times: int | None = None, **options: Any) -> None:
        self.sandbox.control.fault(on, kind, times=times, **options)


def frame(numbers: list[int]) -> pa.Table:
    return pa.table({"phone": [f"+{number}" for number in numbers]})


def code(number: int, **options: Any) -> dict[str, Any]:
    return {"code": number, **options}


def under_fault(
    numbers: list[int], on: str, kind: str, times: int | None = None, **options: Any
) -> Callable[[Stage], None]:
    """Enrich while the service fails in one way."""
    settings = options.pop("settings", {})

    def trigger(stage: Stage) -> None:
        stage.failing(on, kind, times, **options)
        stage.enrich(numbers, **settings)

    return trigger


def other_data(stage: Stage) -> None:
    with stage.enricher() as enricher:
        plan = enricher.plan(frame(FEW), "phone")
        enricher.enrich(frame(FEW[:2]), "phone", plan=plan)


def another_program(stage: Stage) -> None:
    (stage.folder / "notes.db").write_text("not a database, but somebody's notes\n" * 9)
    stage.enrich(FEW, ledger=str(stage.folder / "notes.db"))


def submit_never_confirmed(stage: Stage) -> None:
    """A submit whose answers are lost until the deadline, and a run on the day after tomorrow."""
    stage.failing("bulk-submit", "reset_after")
    with suppress(errors.ServiceError, errors.PaidWorkOpen, errors.DeadlinePassed):
        stage.enrich(MANY, deadline_seconds=60)
    stage.clock.advance(2 * DAY)
    stage.enrich(MANY)


def in_the_middle_of(stage: Stage, interrupt: Callable[[], None]) -> None:
    """Let something happen while the check of another run is out."""
    happened: list[bool] = []

    def watch(progress: Any) -> None:
        if progress.checks and not happened:
            happened.append(True)
            interrupt()

    with stage.enricher() as enricher:
        enricher.enrich(frame(FEW), "phone", progress=watch)


def another_run_is_slow(stage: Stage) -> None:
    in_the_middle_of(stage, lambda: stage.enrich(FEW, deadline_seconds=5))


def asleep_for_two_minutes(stage: Stage) -> None:
    def sleep_and_lose_it() -> None:
        stage.clock.advance(120)
        stage.enrich(FEW)

    in_the_middle_of(stage, sleep_and_lose_it)


def old_link(stage: Stage) -> None:
    """The download of a finished task by hand, with a link that is too old."""
    stage.failing("result", "link_expired")
    stage.sandbox.control.configure(task_seconds=0.0, poll_seconds=0.0)
    with CarrierClient(stage.sandbox.base_url, stage.sandbox.api_key) as client:
        task = client.submit_bulk_task("global_carrier_batch", "US", task_file(MANY), "some-key")
        stage.sandbox.control.finish_tasks()
        client.download_result(client.bulk_task(task.id), stage.folder / "result.zip")


def nobody_to_ask(stage: Stage) -> None:
    with stage.enricher() as enricher:
        gate(enricher.plan(frame(FEW), "phone"), partial=False, yes=False, can_ask=False)


def poor(stage: Stage) -> None:
    stage.sandbox.control.set_balance(1_000)
    stage.enrich(FEW)
