"""What is said of a run while it goes on, on a terminal, in a log and in a notebook."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.timing import Clock as Later
from support.timing import SwiftCourier

import carrier_enrich as ce
from carrier_enrich import Enricher, Settings
from carrier_enrich.engine.errands import Step
from carrier_enrich.engine.watch import Progress, TaskProgress
from carrier_enrich.progress import (
    Lines,
    LivePanel,
    NotebookPanel,
    line_of,
    rows_of,
    seconds_left,
    shown,
    watched,
)
from carrier_enrich.sandbox import SandboxConfig, running_sandbox
from carrier_enrich.tables import text_table

START = 1_000.0


class Clock:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self.now


def task(**changes: Any) -> TaskProgress:
    given: dict[str, Any] = {
        "purchase_id": 1,
        "country": "US",
        "numbers": 40_000,
        "step": Step.POLL,
        "since": START,
        "due": START + 30,
    }
    return TaskProgress(**{**given, **changes})


def progress(**changes: Any) -> Progress:
    given: dict[str, Any] = {
        "wanted": 1_000,
        "answered": 300,
        "waiting": 600,
        "awaited": 0,
        "checks": 1,
        "tasks": (),
        "spent": 400_000,
        "cap": 2_000_000,
        "balance": 9_000_000,
        "known": 100,
        "bought": 200,
        "requests": 5,
        "started_at": START,
    }
    return Progress(**{**given, **changes})


def text(moment: Progress, now: float = START + 10, expected: float | None = None) -> str:
    return text_table("", rows_of(moment, now, expected))


def test_rows_tell_calls_money_and_time() -> None:
    """The table has answers by origin, calls, spending under the cap, balance, and time left."""
    told = text(progress())
    for figure in ("300 of 1,000", "100", "200", "600", "1 check", "5 requests", "$0.40", "$2.00"):
        assert figure in told
    assert "about 35 s left" in told


def test_tasks_are_told_with_age_and_next_poll() -> None:
    """Each bulk task has its size, its age and when it is polled next."""
    told = text(progress(tasks=(task(),)), now=START + 12)
    assert "bulk task US" in told
    assert "40,000 numbers, 12 s old, next poll in 18 s" in told


@pytest.mark.parametrize(
    ("step", "due", "told"),
    [
        (Step.SEND, START, "being submitted"),
        (Step.POLL, START + 5, "being polled"),
        (Step.DOWNLOAD, START, "result is coming"),
    ],
)
def test_a_task_says_what_it_does_now(step: Step, due: float, told: str) -> None:
    """A task that is submitted, polled or downloaded just now says so."""
    assert told in text(progress(tasks=(task(step=step, due=due),)))


def test_many_tasks_are_counted() -> None:
    """More tasks than fit are counted instead of listed."""
    assert "and 4 more tasks" in text(progress(tasks=tuple(task() for _ in range(12))))


def test_settling_shows_tasks_without_numbers_wanted() -> None:
    """A run that only settles wants no numbers of its own and tells of its tasks alone."""
    moment = progress(wanted=0, answered=0, known=0, bought=0, tasks=(task(),))
    assert "answered" not in text(moment)
    assert line_of(moment, START).startswith("1 check in flight; 1 bulk task (40,000 numbers")


def test_time_left_follows_plan_then_pace() -> None:
    """What the plan expected counts while it holds, then the pace; tasks have no pace."""
    moment = progress()
    assert seconds_left(moment, START + 10, expected=60) == 50
    assert seconds_left(moment, START + 70, expected=60) == pytest.approx(700 * 70 / 200)
    assert seconds_left(moment, START + 10) == pytest.approx(35)
    assert seconds_left(replace(moment, tasks=(task(),)), START + 10) is None
    assert seconds_left(replace(moment, bought=0), START + 10) is None
    assert seconds_left(replace(moment, answered=1_000), START + 10) == 0


@given(
    answered=st.integers(0, 1_000),
    bought=st.integers(0, 1_000),
    now=st.floats(START - 10, START + 10**6),
    expected=st.none() | st.floats(0, 10**6),
)
def test_time_left_is_never_negative(
    answered: int, bought: int, now: float, expected: float | None
) -> None:
    """No clock and no pace makes the time left negative."""
    left = seconds_left(progress(answered=answered, bought=bought), now, expected)
    assert left is None or left >= 0


def test_lines_keep_their_distance() -> None:
    """Off a terminal the first state is told at once, and then one at most every few seconds."""
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, every=5, clock=clock)
    for second in range(12):
        clock.now = START + second
        lines(progress(answered=300 + second))
    told = stream.getvalue().splitlines()
    assert len(told) == 3
    assert told[0].startswith("carrier-enrich: 300 of 1,000 numbers answered (100 known before")
    lines(progress(answered=1_000))
    assert "1,000 of 1,000" in stream.getvalue().splitlines()[-1], "the end is always told"


def test_panel_shows_the_newest_state_and_ages_go_on() -> None:
    """The panel shows what came last, and counts down by the clock alone."""
    clock, stream = Clock(), io.StringIO()
    console = Console(file=stream, force_terminal=True, width=90)
    panel = LivePanel(console, clock=clock)
    with panel as watch:
        watch(progress(tasks=(task(),)))
        console.print(panel.picture())
        clock.now += 10
        console.print(panel.picture())
    told = stream.getvalue()
    assert "next poll in 30 s" in told
    assert "next poll in 20 s" in told


def test_panel_begins_before_the_first_state() -> None:
    """Before anything is known the panel says that it is starting."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=90)
    console.print(LivePanel(console).picture())
    assert "starting" in stream.getvalue()


class Cell:
    """A notebook's cell: keeps what was put into it."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def __call__(self, content: object) -> Cell:
        """Put something in for the first time."""
        self.update(content)
        return self

    def update(self, content: object) -> None:
        """Put something else in."""
        self.shown.append(content)


def test_notebook_renews_one_cell() -> None:
    """A notebook's cell is filled once and then renewed, not too often, the end always."""
    clock, cell = Clock(), Cell()
    panel = NotebookPanel(cell, every=1.0, clock=clock)
    panel(progress())
    panel(progress(answered=400))
    clock.now += 1
    panel(progress(answered=500))
    panel(progress(answered=1_000))
    assert len(cell.shown) == 3
    assert "500 of 1,000" in cell.shown[1]._repr_html_()
    assert "1,000 of 1,000" in repr(cell.shown[-1])


def test_the_form_fits_the_place() -> None:
    """Silence gives no watcher at all, and a stream that is no terminal gives plain lines."""
    with shown(io.StringIO(), quiet=True) as watch:
        assert watch is None
    with shown(io.StringIO()) as watch:
        assert isinstance(watch, Lines)


def test_progress_is_true_a_callable_or_silence() -> None:
    """`progress=True` shows the run in the form that fits, a callable is called, else silence."""
    seen: list[Progress] = []
    with watched(seen.append) as watch:
        assert watch is not None
        watch(progress())
    assert seen == [progress()]
    with watched(True) as watch:
        assert watch is not None
    for silent in (None, False):
        with watched(silent) as watch:
            assert watch is None


def test_a_library_call_is_silent_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`enrich` says nothing by itself; with progress=True it tells the run on standard error."""
    phones = pa.table({"phone": ["+14155550101", "+14155550102"]})
    with running_sandbox(SandboxConfig(undetermined_share=0.0)) as sandbox:
        settings = Settings.of(
            {},
            base_url=sandbox.base_url,
            api_key=sandbox.api_key,
            ledger=str(tmp_path / "ledger.db"),
            price_multi_usd="0.002",
        )
        ce.enrich(phones.slice(0, 1), "phone", settings=settings)
        assert capsys.readouterr() == ("", "")
        ce.enrich(phones, "phone", settings=settings, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("carrier-enrich: 2 of 2 numbers answered (1 known")


def test_the_last_state_agrees_with_the_receipt(tmp_path: Path) -> None:
    """What is shown at the end of a run is what its receipt says: numbers, money, requests."""
    seen: list[Progress] = []
    rows = [f"+1415{number}" for number in range(5_550_000, 5_551_200)]
    rows += [f"+4475{number:08d}" for number in range(15_000_000, 15_000_150)]
    with running_sandbox(SandboxConfig(undetermined_share=0.1, task_seconds=0.0)) as sandbox:
        settings = Settings.of(
            {},
            base_url=sandbox.base_url,
            api_key=sandbox.api_key,
            ledger=str(tmp_path / "ledger.db"),
            price_multi_usd="0.002",
            price_single_usd="0.002",
            max_cost_usd="5",
        )
        with Enricher(settings, clock=Later(), courier=SwiftCourier) as enricher:
            enricher.enrich(pa.table({"phone": rows[:60]}), "phone")
            enricher.enrich(pa.table({"phone": rows}), "phone", progress=seen.append)
            receipt = enricher.receipt
    assert receipt is not None
    last = seen[-1]
    assert (last.known, last.bought) == (receipt.known, receipt.bought) == (60, 1_290)
    assert last.answered == last.wanted == receipt.distinct
    assert last.spent == receipt.charged
    # The balance is read once more for the receipt when everything is done.
    assert last.requests == sum(receipt.requests.values()) - 1
    assert all(earlier.answered <= later.answered for earlier, later in pairwise(seen))
    assert all(moment.spent <= (moment.cap or 0) for moment in seen)
    assert any(moment.tasks for moment in seen)
