"""Money is never made or lost, whatever is asked in whatever order."""

from __future__ import annotations

import contextlib

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_NUMBERS = [f"+1212{2_000_000 + n}" for n in range(60)] + ["+19995550123", "nonsense"]

_check = st.tuples(st.just("check"), st.sampled_from(_NUMBERS))
_multi = st.tuples(st.just("multi"), st.lists(st.sampled_from(_NUMBERS), min_size=1, max_size=20))
_bulk = st.tuples(
    st.just("bulk"), st.sampled_from(["", "task_fails", "task_never_ends", "exclude"])
)
_finish = st.tuples(st.just("finish"), st.none())
_top_up = st.tuples(st.just("balance"), st.integers(0, 3_000_000))
_fault = st.tuples(
    st.just("fault"),
    st.sampled_from(["reset_before", "reset_after", "html", "empty", "cut", "data_null"]),
)
_steps = st.lists(st.one_of(_check, _multi, _bulk, _finish, _top_up, _fault), max_size=12)


@pytest.fixture
def sandbox(start):
    return start(undetermined_share=0.2, balance_micros=1_000_000)


def _take(sandbox, step, value, lines):
    caller, control = sandbox.caller, sandbox.control
    match step:
        case "check":
            caller.check(value)
        case "multi":
            caller.multi(value)
        case "bulk":
            control.clear_faults()
            if value:
                control.fault("bulk-submit", value)
            caller.submit(lines)
        case "finish":
            control.finish_tasks()
        case "balance":
            control.set_balance(value)
        case "fault":
            control.fault("batch-check", value)
            with contextlib.suppress(httpx.TransportError):
                caller.multi(_NUMBERS[:10])
            control.clear_faults()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_steps)
def test_granted_is_balance_plus_reserved_plus_charged(sandbox, numbers, steps):
    """After any sequence of calls, failures and gifts the account adds up to the micro."""
    lines = numbers(1_000)
    for step, value in steps:
        _take(sandbox, step, value, lines)
        report = sandbox.control.report()
        held = report["balance_micros"] + report["reserved_micros"] + report["charged_micros"]
        assert held == report["granted_micros"]
        assert report["balance_micros"] >= 0
        assert sum(report["charges"].values()) == report["charged"]["charges"]
    sandbox.control.finish_tasks()
    report = sandbox.control.report()
    kinds = report["charged_micros_by_kind"]
    assert report["reserved_micros"] == 0
    assert sum(kinds.values()) == report["charged_micros"]
    by_checks = kinds.get("single_check", 0) + kinds.get("multi_check", 0)
    assert by_checks == report["charged"]["charges_by_checks"] * 2_000
    assert kinds.get("carrier_batch", 0) == report["charged"]["charges_by_tasks"] * 800
    refunded = sum(task["refunded_micros"] for task in report["tasks"])
    assert refunded == report["refunded_micros"]


def test_the_report_counts_charges_per_number(start, numbers):
    """By checks and tasks, in all, and how many numbers were charged more than once."""
    sandbox = start()
    lines = numbers(1_000)
    sandbox.caller.check(lines[0])
    sandbox.caller.multi([lines[1], lines[1], "+447400123456"])
    sandbox.caller.finished(lines)
    report = sandbox.control.report()
    assert report["charges"]["12122000000"] == 2
    assert report["charges"]["12122000001"] == 3
    assert report["charges"]["447400123456"] == 1
    assert report["charged"] == {
        "numbers": 1_001,
        "numbers_by_checks": 3,
        "numbers_by_tasks": 1_000,
        "numbers_more_than_once": 2,
        "charges": 1_004,
        "charges_by_checks": 4,
        "charges_by_tasks": 1_000,
    }
    assert "charges" not in sandbox.control.report(summary=True)
    assert sandbox.control.charges()[12122000000] == 2


def test_somebody_else_may_spend_from_the_account(start):
    """A balance that is set from outside is what the next call meets."""
    sandbox = start(balance_micros=10_000)
    sandbox.control.set_balance(1_000)
    assert sandbox.caller.balance() == 1_000
    assert sandbox.caller.check("+14155550123").json()["code"] == 40200
    sandbox.control.set_balance(2_000)
    assert sandbox.caller.check("+14155550123").json()["code"] == 0
    assert sandbox.caller.balance() == 0
