"""What each failure gets, as a table."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich import retry
from carrier_enrich.errors import (
    AnswerLost,
    BadApiKey,
    Busy,
    CheckTimedOut,
    LinkExpired,
    NotSent,
    OutOfBalance,
    QuotaUsedUp,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
    TaskFailed,
    UnexpectedAnswer,
)
from carrier_enrich.model import CallKind
from carrier_enrich.retry import AskLink, ChargeUnknown, GiveUp, Halve, Wait, WaitForTask

SINGLE, MULTI, BULK = CallKind.SINGLE_CHECK, CallKind.MULTI_CHECK, CallKind.BULK_TASK
CHECKS = (SINGLE, MULTI)
REPEATABLE = (BULK, "poll", "download", "balance")
OPERATIONS = (*CHECKS, *REPEATABLE)
KINDS = ServiceError.__subclasses__()


def decide(operation: retry.Operation, error: ServiceError, attempt: int = 1, **more: float):
    facts = {"deadline_left": 1e6, "numbers": 100, **more}
    return retry.decide(operation, error, attempt=attempt, **facts)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_busy_waits_what_the_service_asks(operation):
    """42901 and 50303 wait Retry-After, or 2 seconds and more where there is none."""
    assert decide(operation, Busy("", retry_after=7)) == Wait(7)
    assert decide(operation, Busy("", retry_after=9_999)) == Wait(300)
    assert [decide(operation, Busy(""), n) for n in (1, 2, 3)] == [Wait(2), Wait(4), Wait(8)]
    assert decide(operation, Busy(""), 10_000) == Wait(60)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", [Busy, ServiceUnavailable])
def test_waiting_ends_at_the_deadline(operation, kind):
    """A wait that would pass the deadline is not begun: the error is raised instead."""
    error = kind("", retry_after=30)
    assert decide(operation, error, deadline_left=30) == Wait(30)
    assert decide(operation, error, deadline_left=29.9) == GiveUp(error)


def test_timeouts():
    """50400 is sent again at once, twice; then a multi check is halved, others give up."""
    error = CheckTimedOut("", code=50400)
    for operation in CHECKS:
        assert [decide(operation, error, n) for n in (1, 2)] == [Wait(0), Wait(0)]
    assert decide(MULTI, error, 3) == Halve()
    assert decide(MULTI, error, 3, numbers=2) == Halve()
    assert decide(MULTI, error, 3, numbers=1) == GiveUp(error)
    assert decide(SINGLE, error, 3) == GiveUp(error)
    assert decide(SINGLE, error, 1, deadline_left=0) == GiveUp(error)


def test_quota():
    """42900 waits for an open task to end, where there is one and something is to be bought."""
    error = QuotaUsedUp("", code=42900)
    for operation in (*CHECKS, BULK):
        assert decide(operation, error, open_tasks=1) == WaitForTask()
        assert decide(operation, error, open_tasks=0) == GiveUp(error)
        assert decide(operation, error, open_tasks=1, deadline_left=0) == GiveUp(error)
    assert decide("balance", error, open_tasks=1) == GiveUp(error)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", [BadApiKey, OutOfBalance, TaskFailed])
def test_what_repeating_can_not_change(operation, kind):
    """A bad key, an empty balance and a failed task end the call at once."""
    error = kind("")
    assert decide(operation, error) == GiveUp(error)


def test_refusals():
    """A multi check refused for a number is narrowed down to it; other refusals end the call."""
    number = RequestRefused("", code=40002)
    assert decide(MULTI, number, numbers=2) == Halve()
    assert decide(MULTI, number, numbers=1) == GiveUp(number)
    assert decide(SINGLE, number) == GiveUp(number)
    for code in (40000, 40001):
        error = RequestRefused("", code=code)
        assert [decide(operation, error) for operation in OPERATIONS] == [GiveUp(error)] * 6


@pytest.mark.parametrize("operation", OPERATIONS)
def test_not_sent(operation):
    """A request that never left is sent again with back-off, until the deadline."""
    error = NotSent("")
    assert [decide(operation, error, n) for n in (1, 2, 3)] == [Wait(2), Wait(4), Wait(8)]
    assert decide(operation, error, deadline_left=1) == GiveUp(error)


def test_balance_gives_up_early():
    """The balance, with which a run begins, shows a wrong base URL within a minute."""
    for error in (NotSent(""), AnswerLost("")):
        waits = [decide("balance", error, n) for n in range(1, retry.BALANCE_MAX)]
        assert all(isinstance(wait, Wait) for wait in waits)
        assert sum(wait.seconds for wait in waits) < 60
        assert decide("balance", error, retry.BALANCE_MAX) == GiveUp(error)
        assert isinstance(decide("poll", error, 500), Wait)


@pytest.mark.parametrize("operation", CHECKS)
def test_lost_check(operation):
    """A check whose answer was lost is never sent again under its purchase."""
    error = AnswerLost("")
    asked_again = [decide(operation, error, n) for n in (1, 2, 3)]
    assert asked_again == [ChargeUnknown(seconds=s) for s in (2, 4, 8)]
    last = decide(operation, error, 4)
    assert isinstance(last, ChargeUnknown)
    assert isinstance(last.error, UnexpectedAnswer)
    assert decide(operation, error, 1, deadline_left=1) == ChargeUnknown(error)


@pytest.mark.parametrize("operation", [BULK, "poll"])
def test_lost_answer_of_what_may_be_repeated(operation):
    """A bulk submit (same key) and a poll are sent again after a lost answer."""
    error = AnswerLost("")
    assert [decide(operation, error, n) for n in (1, 2)] == [Wait(2), Wait(4)]
    assert decide(operation, error, 1, deadline_left=1) == GiveUp(error)


def test_download():
    """A cut download is tried once more from its link, then the task is asked for a new one."""
    assert decide("download", AnswerLost("")) == Wait(2)
    assert decide("download", AnswerLost(""), 2) == AskLink()
    expired = LinkExpired("")
    assert decide("download", expired) == AskLink()
    assert decide("download", expired, 50) == AskLink()
    assert decide("download", expired, deadline_left=0) == GiveUp(expired)


def test_unexpected_answers():
    """A contradicting answer closes a check as charge_unknown; a read is repeated three times."""
    error = UnexpectedAnswer("")
    for operation in CHECKS:
        assert decide(operation, error) == ChargeUnknown(error)
    for operation in REPEATABLE:
        assert all(isinstance(decide(operation, error, n), Wait) for n in (1, 2, 3))
        assert decide(operation, error, 4) == GiveUp(error)


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 1e9))
def test_back_off(attempt, jitter, retry_after):
    """Jitter only ever adds: nobody comes before the named moment, nor much after it."""
    base = retry.back_off(attempt, 0.0, retry_after)
    assert base == (min(retry_after, 300) if retry_after is not None else base)
    assert base <= retry.back_off(attempt, jitter, retry_after) <= base + max(1, base / 4)


FACTS = st.fixed_dictionaries(
    {
        "attempt": st.integers(1, 100),
        "deadline_left": st.floats(-10, 1e6) | st.just(math.inf),
        "numbers": st.integers(1, 100),
        "open_tasks": st.integers(0, 3),
        "jitter": st.floats(0, 1, exclude_max=True),
    }
)


@given(st.sampled_from(OPERATIONS), st.sampled_from(KINDS), st.sampled_from([None, 40002]), FACTS)
def test_invariants(operation, kind, code, facts):
    """No wait passes the deadline, and no check that may be charged is simply sent again."""
    error = kind("", code=code)
    decision = retry.decide(operation, error, **facts)
    if isinstance(decision, (Wait, ChargeUnknown)):
        assert decision.seconds <= max(facts["deadline_left"], 0)
    closes = operation in CHECKS and error.may_be_charged
    assert isinstance(decision, ChargeUnknown) == closes
    if isinstance(decision, Halve):
        assert operation is MULTI
        assert facts["numbers"] > 1
    if isinstance(decision, AskLink):
        assert operation == "download"
