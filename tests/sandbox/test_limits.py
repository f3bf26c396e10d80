"""The limits on requests in flight, under many threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from email.utils import parsedate_to_datetime

import pytest

_NUMBER = "+14155550123"
_SECONDS = 0.8


def _codes(answers):
    return sorted(answer.json()["code"] for answer in answers)


def test_five_single_checks_run_and_the_sixth_is_42901_at_once(start):
    """The refusal has a Retry-After header and costs nothing."""
    sandbox = start(single_seconds=_SECONDS, balance_micros=10_000_000)
    with ThreadPoolExecutor(8) as threads:
        checks = [threads.submit(sandbox.caller.check, _NUMBER) for _ in range(8)]
        answers = [check.result() for check in as_completed(checks)]
    assert [answer.json()["code"] for answer in answers] == [42901] * 3 + [0] * 5
    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.headers["Retry-After"] for answer in refused} == {"1"}
    limits = sandbox.control.report()["limits"]
    assert (limits["max_in_flight"], limits["refused_42901"]) == (6, 3)
    assert sandbox.caller.balance() == 10_000_000 - 5 * 2_000


def test_a_second_multi_check_is_42901_while_single_checks_go_on(start):
    """One multi check at a time; it takes one of the five slots."""
    sandbox = start(single_seconds=_SECONDS, multi_seconds=_SECONDS)
    caller = sandbox.caller
    with ThreadPoolExecutor(6) as threads:
        multis = [threads.submit(caller.multi, [_NUMBER]) for _ in range(2)]
        singles = [threads.submit(caller.check, _NUMBER) for _ in range(4)]
        assert _codes(future.result() for future in multis) == [0, 42901]
        assert _codes(future.result() for future in singles) == [0] * 4
    assert sandbox.control.report()["limits"]["max_multis_at_once"] == 2


def test_limits_are_per_account(start, caller_of):
    """Another account has slots of its own."""
    sandbox = start(api_keys=("one", "two"), multi_seconds=_SECONDS)
    other = caller_of(sandbox.running.base_url, "two")
    with other.client, ThreadPoolExecutor(2) as threads:
        multis = [threads.submit(c.multi, [_NUMBER]) for c in (sandbox.caller, other)]
        assert _codes(future.result() for future in multis) == [0, 0]


def test_limits_that_are_not_enforced_are_counted_all_the_same(start):
    """So a client's politeness can be measured without being refused."""
    sandbox = start(single_seconds=_SECONDS, enforce_limits=False)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: sandbox.caller.check(_NUMBER), range(8)))
    assert _codes(answers) == [0] * 8
    assert sandbox.control.report()["limits"]["max_in_flight"] == 8


def test_checks_in_flight_never_overspend(start):
    """Five at once with money for two: two are charged, three are refused."""
    sandbox = start(single_seconds=_SECONDS, balance_micros=4_500)
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: sandbox.caller.check(_NUMBER), range(5)))
    assert _codes(answers) == [0, 0, 40200, 40200, 40200]
    assert sandbox.caller.balance() == 500


def test_the_balance_read_and_bulk_tasks_need_no_slot(start, numbers):
    """Only single and multi checks count."""
    sandbox = start(multi_seconds=_SECONDS)
    with ThreadPoolExecutor(1) as threads:
        multi = threads.submit(sandbox.caller.multi, [_NUMBER])
        assert sandbox.caller.submit(numbers(1_000)).json()["code"] == 0
        assert sandbox.caller.balance() > 0
        assert multi.result().json()["code"] == 0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_has_one_of_its_two_forms(start, clock, form):
    """Whole seconds, or the date so far from now."""
    sandbox = start(retry_after_form=form, retry_after_seconds=7.2, single_seconds=_SECONDS)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: sandbox.caller.check(_NUMBER), range(6)))
    told = next(answer.headers["Retry-After"] for answer in answers if answer.status_code == 429)
    seconds = int(told) if form == "seconds" else parsedate_to_datetime(told).timestamp() - clock()
    assert seconds == 8


def test_one_key_sent_at_once_by_many_threads_makes_one_task(start, numbers):
    """However the submissions race, the cost is reserved once."""
    sandbox = start(price_carrier_batch_micros=1, task_seconds=60, balance_micros=1_500)
    lines = numbers(1_000)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: sandbox.caller.submit(lines, key="k"), range(6)))
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    assert sandbox.caller.balance() == 500


def test_a_bulk_task_leaves_the_checks_in_flight_their_money(start, numbers):
    """What a running check may cost can't be reserved, nor taken from outside."""
    sandbox = start(multi_seconds=_SECONDS, balance_micros=2_000, price_carrier_batch_micros=2)
    with ThreadPoolExecutor(1) as threads:
        multi = threads.submit(sandbox.caller.multi, [_NUMBER])
        while sandbox.caller.balance() == 2_000:
            continue
        assert sandbox.caller.submit(numbers(1_000)).json()["code"] == 40200
        sandbox.control.set_balance(0)
        assert multi.result().json()["code"] == 0
    report = sandbox.control.report()
    assert (report["balance_micros"], report["charged_micros"]) == (0, 2_000)
    assert report["granted_micros"] == 2_000
