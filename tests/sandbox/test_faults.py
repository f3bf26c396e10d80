"""Scripted faults of the endpoints: each does what its name says, and is charged as it says."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import httpx
import pytest

_NUMBERS = ["+14155550123", "+447400123456", "+4915112345678"]
_PRICE = 2_000


@pytest.fixture
def sandbox(start):
    return start(balance_micros=1_000_000)


def _spent(sandbox) -> int:
    spent: int = sandbox.control.report()["charged_micros"]
    return spent


def _identifiers(answer) -> list[str]:
    return [entry["identifier"] for entry in answer.json()["data"]["results"]]


@pytest.mark.parametrize(("kind", "charged"), [("reset_before", 0), ("reset_after", 3 * _PRICE)])
def test_a_reset_breaks_the_connection_before_or_after_the_charge(sandbox, kind, charged):
    """No answer comes either way; only the money tells the two apart."""
    sandbox.control.fault("batch-check", kind)
    with pytest.raises(httpx.ReadError):
        sandbox.caller.multi(_NUMBERS)
    assert _spent(sandbox) == charged
    assert sandbox.caller.multi(_NUMBERS).json()["code"] == 0


@pytest.mark.parametrize("processed", [True, False])
def test_an_html_page_can_hide_a_paid_answer_or_none(sandbox, processed):
    """A gateway's error page, status 502."""
    sandbox.control.fault("check", "html", processed=processed)
    answer = sandbox.caller.check(_NUMBERS[0])
    assert answer.status_code == 502
    assert answer.headers["Content-Type"] == "text/html"
    assert answer.text.startswith("<!doctype html>")
    assert _spent(sandbox) == _PRICE * processed


@pytest.mark.parametrize("processed", [True, False])
def test_an_empty_body_can_hide_a_paid_answer_or_none(sandbox, processed):
    """Status 200 and nothing else."""
    sandbox.control.fault("check", "empty", processed=processed)
    answer = sandbox.caller.check(_NUMBERS[0])
    assert (answer.status_code, answer.content) == (200, b"")
    assert _spent(sandbox) == _PRICE * processed


def test_a_cut_body_has_the_length_of_the_cut(sandbox):
    """It looks complete, and is no JSON."""
    sandbox.control.fault("batch-check", "cut", keep=0.5)
    answer = sandbox.caller.multi(_NUMBERS)
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting|delimiter"):
        answer.json()
    assert _spent(sandbox) == 3 * _PRICE


def test_a_cut_body_can_declare_the_whole_length(sandbox):
    """Then the connection ends too early."""
    sandbox.control.fault("batch-check", "cut", keep=0.5, declare="whole")
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        sandbox.caller.multi(_NUMBERS)


def test_data_can_be_null_or_missing(sandbox):
    """Code 0, charged, and nothing in it."""
    sandbox.control.fault("check", "data_null")
    sandbox.control.fault("check", "data_missing")
    answers = [sandbox.caller.check(_NUMBERS[0]).json() for _ in range(3)]
    assert answers[:2] == [{"code": 0, "msg": "ok", "data": None}, {"code": 0, "msg": "ok"}]
    assert answers[2]["data"]["identifier"] == _NUMBERS[0]
    assert _spent(sandbox) == 3 * _PRICE


@pytest.mark.parametrize(("by", "length"), [(-1, 2), (1, 4)])
def test_a_multi_check_can_have_the_wrong_length(sandbox, by, length):
    """Entries too few or too many."""
    sandbox.control.fault("batch-check", "wrong_length", by=by)
    assert len(_identifiers(sandbox.caller.multi(_NUMBERS))) == length


def test_an_answer_can_echo_another_number(sandbox):
    """One identifier is not the one that was asked for."""
    sandbox.control.fault("batch-check", "wrong_echo")
    sandbox.control.fault("check", "wrong_echo")
    first, *rest = _identifiers(sandbox.caller.multi(_NUMBERS))
    assert first != _NUMBERS[0]
    assert rest == _NUMBERS[1:]
    assert sandbox.caller.check(_NUMBERS[0]).json()["data"]["identifier"] != _NUMBERS[0]


def test_results_can_be_shuffled(sandbox):
    """All entries, another order."""
    sandbox.control.fault("batch-check", "shuffled")
    assert _identifiers(sandbox.caller.multi(_NUMBERS)) == _NUMBERS[::-1]


def test_a_result_can_stand_twice(sandbox):
    """One in the place of another: the length is right."""
    sandbox.control.fault("batch-check", "doubled")
    assert _identifiers(sandbox.caller.multi(_NUMBERS)) == [*_NUMBERS[:2], _NUMBERS[0]]


@pytest.mark.parametrize("code", [42900, 42901, 50300, 50303, 50400, 40100, 40200])
def test_any_code_can_be_answered(sandbox, code):
    """With the message and status that are asked for, and nothing charged."""
    sandbox.control.fault("check", "code", code=code, msg="as asked", http=503)
    answer = sandbox.caller.check(_NUMBERS[0])
    assert answer.status_code == 503
    assert answer.json() == {"code": code, "msg": "as asked", "data": None}
    assert "Retry-After" not in answer.headers
    assert _spent(sandbox) == 0


@pytest.mark.parametrize(("asked", "told"), [(7, "7"), (0, "0"), ("soon", "soon"), (None, None)])
def test_retry_after_can_be_seconds_garbage_or_absent(sandbox, asked, told):
    """Whatever the script says."""
    sandbox.control.fault("check", "code", code=50303, retry_after=asked)
    assert sandbox.caller.check(_NUMBERS[0]).headers.get("Retry-After") == told


def test_retry_after_can_be_a_date(sandbox, clock):
    """So many seconds from now."""
    options = {"retry_after": 90, "retry_after_form": "date"}
    sandbox.control.fault("check", "code", code=50303, **options)
    told = sandbox.caller.check(_NUMBERS[0]).headers["Retry-After"]
    assert parsedate_to_datetime(told).timestamp() == clock() + 90


def test_a_code_that_nobody_knows_can_be_answered(sandbox):
    """The specification lists none such."""
    sandbox.control.fault("balance", "unknown_code")
    answer = sandbox.caller.client.get("/api/v1/balance")
    assert answer.json()["code"] == 59999


def test_a_redirect_leads_where_it_is_told(start):
    """By default to the other origin, which notes whether a key came along."""
    sandbox = start(link_on_second_port=True)
    sandbox.control.fault("balance", "redirect")
    sandbox.control.fault("balance", "redirect", http=302, location="/elsewhere")
    first, second = (sandbox.caller.client.get("/api/v1/balance") for _ in range(2))
    elsewhere = sandbox.running.elsewhere
    assert (first.status_code, first.headers["Location"]) == (307, f"{elsewhere}/api/v1/balance")
    assert (second.status_code, second.headers["Location"]) == (302, "/elsewhere")


@pytest.mark.parametrize("drip", [True, False])
def test_a_slow_answer_takes_its_seconds_and_is_right(sandbox, drip):
    """Late as a whole, or drop by drop."""
    sandbox.control.fault("check", "slow", seconds=0.3, drip=drip)
    answer = sandbox.caller.check(_NUMBERS[0])
    assert answer.json()["code"] == 0
    assert answer.elapsed.total_seconds() >= 0.28


def test_a_slow_check_passes_its_time_limit(start):
    """Then it is 50400, as without a script."""
    sandbox = start(multi_limit_seconds=0.05)
    sandbox.control.fault("batch-check", "slow", seconds=5)
    assert sandbox.caller.multi(_NUMBERS).json()["code"] == 50400


def test_faults_strike_as_often_and_as_late_as_asked(sandbox):
    """`after` matches pass, then `times` are struck, then all is well."""
    sandbox.control.fault("check", "code", times=2, after=1, code=50300)
    codes = [sandbox.caller.check(_NUMBERS[0]).json()["code"] for _ in range(5)]
    assert codes == [0, 50300, 50300, 0, 0]
    assert sandbox.control.report()["faults"][0]["struck"] == 2


def test_a_fault_without_end_strikes_until_it_is_cleared(sandbox):
    """`times` null is for ever."""
    sandbox.control.fault("check", "code", times=None, code=50300)
    assert {sandbox.caller.check(_NUMBERS[0]).json()["code"] for _ in range(4)} == {50300}
    sandbox.control.clear_faults()
    assert sandbox.caller.check(_NUMBERS[0]).json()["code"] == 0


def test_a_fault_that_spoils_answers_waits_for_one(sandbox):
    """A refused request has nothing to spoil, and does not use the fault up."""
    sandbox.control.fault("check", "reset_after")
    assert sandbox.caller.check("12").json()["code"] == 40002
    with pytest.raises(httpx.ReadError):
        sandbox.caller.check(_NUMBERS[0])


def test_a_lost_submit_made_its_task(sandbox, numbers):
    """Sent again with its key, it is answered with the task that is there already."""
    sandbox.control.fault("bulk-submit", "reset_after")
    with pytest.raises(httpx.ReadError):
        sandbox.caller.submit(numbers(1_000), key="k")
    task = sandbox.caller.submit(numbers(1_000), key="k").json()["data"]
    report = sandbox.control.report()
    assert [(known["id"], known["submissions"]) for known in report["tasks"]] == [(task["id"], 2)]


def test_a_task_can_fail_and_is_refunded(sandbox, numbers):
    """All of it, and no link is given."""
    sandbox.control.fault("bulk-submit", "task_fails")
    task = sandbox.caller.finished(numbers(1_000))
    assert task["status"] == "failed"
    assert "result_url" not in task
    assert sandbox.caller.balance() == 1_000_000


def test_a_task_can_go_on_for_ever(sandbox, numbers, clock):
    """Until it is ended by hand."""
    sandbox.control.fault("bulk-submit", "task_never_ends")
    task = sandbox.caller.submit(numbers(1_000)).json()["data"]
    clock.move(10**6)
    assert sandbox.caller.query(task["id"]).json()["data"]["status"] == "processing"
    sandbox.control.finish_tasks()
    assert sandbox.caller.query(task["id"]).json()["data"]["status"] == "success"


@pytest.mark.parametrize("on", ["bulk-submit", "bulk-query"])
@pytest.mark.parametrize("status", ["processing", "success"])
def test_a_task_can_look_finished_while_it_prepares(sandbox, numbers, on, status):
    """Counts that still move, `preparing` true, for so many polls."""
    times = 2 if on == "bulk-query" else 1
    sandbox.control.fault(on, "preparing", polls=2, status=status, times=times)
    task_id = sandbox.caller.submit(numbers(1_000)).json()["data"]["id"]
    polls = [sandbox.caller.query(task_id).json()["data"] for _ in range(3)]
    assert [(poll["status"], poll["preparing"]) for poll in polls] == [
        (status, True),
        (status, True),
        ("success", False),
    ]
    assert [poll["success_cnt"] for poll in polls] == [500, 500, 1_000]


@pytest.mark.parametrize("count_as", ["other_country", "invalid", "no_code", "duplicate"])
def test_a_task_can_leave_numbers_out(sandbox, numbers, count_as):
    """They are counted as excluded, are in no row, and cost nothing."""
    sandbox.control.fault("bulk-submit", "exclude", count=30, **{"as": count_as})
    task = sandbox.caller.finished(numbers(1_000))
    assert task[f"{count_as}_cnt"] == 30
    assert (task["total"], task["success_cnt"]) == (970, 970)
    assert len(sandbox.caller.download(task).text.splitlines()) == 971
    assert _spent(sandbox) == 970 * 800


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"on": "check", "kind": "nonsense"}, "no such kind"),
        ({"on": "balance", "kind": "shuffled"}, "can be on: batch-check"),
        ({"on": "check", "kind": "slow", "minutes": 1}, "no option minutes"),
        ({"on": "check", "kind": "html", "times": "often"}, "times"),
        ({"on": "bulk-submit", "kind": "exclude", "as": "rude"}, "as must be one of"),
    ],
)
def test_a_fault_that_can_not_be_is_refused_with_what_can(sandbox, asked, message):
    """A slip in a test's script shows at once."""
    on, kind = asked.pop("on"), asked.pop("kind")
    with pytest.raises(ValueError, match=message):
        sandbox.control.fault(on, kind, **asked)
