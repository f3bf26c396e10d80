"""Bulk tasks as the specification has them: forms, exclusions, keys, links and files."""

from __future__ import annotations

import csv
import io
import zipfile
from urllib.parse import urlsplit

import httpx
import pytest

from carrier_enrich.sandbox import allocation_of, is_undetermined

_COLUMNS = [
    "identifier",
    "carrier",
    "underlying_carrier",
    "number_type",
    "country_code",
    "region",
    "city",
]


def _table(content: bytes, **form: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), **form))


def _row_of(number: str) -> list[str]:
    found = allocation_of(number)
    return [number.removeprefix("+"), *(getattr(found, name) for name in _COLUMNS[1:])]


def test_a_submitted_task_is_processing_with_its_full_cost_reserved(start, numbers):
    """The answer to a submit has the task's fields, and the balance lacks the whole file."""
    caller = start(price_carrier_batch_micros=3, task_seconds=60).caller
    before = caller.balance()
    task = caller.submit(numbers(1_000)).json()["data"]
    assert task.pop("id")
    assert task.pop("created_at").endswith("Z")
    assert task == {
        "product": "carrier_batch",
        "status": "processing",
        "country": "US",
        "total": 1_000,
        "submitted_lines": 1_000,
        "invalid_cnt": 0,
        "no_code_cnt": 0,
        "other_country_cnt": 0,
        "duplicate_cnt": 0,
        "preparing": True,
    }
    assert before - caller.balance() == 3_000


def test_a_task_ends_when_its_time_has_come(start, numbers, clock):
    """Until then it is processing; then it is charged for what was checked."""
    caller = start(task_seconds=100, price_carrier_batch_micros=2).caller
    before = caller.balance()
    task_id = caller.submit(numbers(1_000)).json()["data"]["id"]
    clock.move(99)
    assert caller.query(task_id).json()["data"]["status"] == "processing"
    clock.move(1)
    task = caller.query(task_id).json()["data"]
    assert (task["status"], task["success_cnt"], task["failure_cnt"]) == ("success", 1_000, 0)
    assert before - caller.balance() == 2_000


def test_excluded_lines_are_counted_and_not_charged(start, numbers):
    """Total is the submitted lines less the four counts; only checked numbers cost."""
    caller = start(price_carrier_batch_micros=10, undetermined_share=0.01).caller
    before = caller.balance()
    good = numbers(1_000)
    lines = [*good, "+447400123456", "+442079460958", "2125550123", "rubbish", "+12", good[0]]
    task = caller.finished(lines)
    counts = {name: count for name, count in task.items() if name.endswith("_cnt")}
    undetermined = sum(is_undetermined(number, 0.01) for number in good)
    assert undetermined > 0
    assert counts == {
        "other_country_cnt": 2,
        "no_code_cnt": 1,
        "invalid_cnt": 2,
        "duplicate_cnt": 1,
        "success_cnt": 1_000 - undetermined,
        "failure_cnt": undetermined,
    }
    assert (task["submitted_lines"], task["total"], task["preparing"]) == (1_006, 1_000, False)
    assert before - caller.balance() == 10 * (1_000 - undetermined)


def test_the_country_completes_numbers_in_a_global_task(start, numbers):
    """Lines without a country code are taken as numbers of the country."""
    caller = start().caller
    lines = [number.removeprefix("+1") for number in numbers(1_000)]
    task = caller.finished(lines, product="global_carrier_batch")
    assert (task["total"], task["success_cnt"]) == (1_000, 1_000)
    assert "submitted_lines" not in task
    assert "preparing" not in task


@pytest.mark.parametrize(("way", "checked"), [("check", 1_001), ("fail", 1_000)])
def test_a_global_task_checks_foreign_numbers_or_fails_them(start, numbers, way, checked):
    """The specification leaves open what becomes of another country's numbers."""
    caller = start(global_foreign=way).caller
    lines = [*numbers(1_000), "+447400123456"]
    task = caller.finished(lines, product="global_carrier_batch")
    assert (task["success_cnt"], task["failure_cnt"]) == (checked, 1_001 - checked)


def test_a_global_task_can_refuse_foreign_numbers(start, numbers):
    """The file is validated against the country: that can mean a refusal."""
    caller = start(global_foreign="refuse").caller
    lines = [*numbers(1_000), "+447400123456"]
    answer = caller.submit(lines, product="global_carrier_batch")
    assert answer.json()["code"] == 40000


def test_a_carrier_batch_result_is_a_csv_of_the_checked_numbers(start, numbers):
    """Documented columns, digits without plus, no row for an undetermined number."""
    caller = start(undetermined_share=0.01).caller
    task = caller.finished(numbers(1_000))
    header, *rows = _table(caller.download(task).content)
    assert header == _COLUMNS
    assert rows == [_row_of(n) for n in numbers(1_000) if not is_undetermined(n, 0.01)]
    assert len(rows) == task["success_cnt"]


def test_a_global_result_is_a_zip_of_the_same_columns(start, numbers):
    """One member by default, or several that share the rows."""
    sandbox = start(zip_members=3, zip_member_suffix=".txt")
    task = sandbox.caller.finished(numbers(1_000), product="global_carrier_batch")
    archive = zipfile.ZipFile(io.BytesIO(sandbox.caller.download(task).content))
    tables = [_table(archive.read(name)) for name in archive.namelist()]
    assert archive.namelist() == ["result_1.txt", "result_2.txt", "result_3.txt"]
    assert [table[0] for table in tables] == [_COLUMNS] * 3
    assert [row for table in tables for row in table[1:]] == [_row_of(n) for n in numbers(1_000)]


def test_the_form_of_a_result_file_can_be_any_that_is_reasonable(start, numbers):
    """Order, case, byte order mark, line ends, plus sign and delimiter are not promised."""
    sandbox = start(
        result_columns=("city", "identifier", "carrier"),
        result_header="upper",
        result_bom=True,
        result_crlf=True,
        result_plus=True,
        result_delimiter=";",
    )
    content = sandbox.caller.download(sandbox.caller.finished(numbers(1_000))).content
    assert content.startswith(b"\xef\xbb\xbfCITY;IDENTIFIER;CARRIER\r\n")
    found = allocation_of(numbers(1)[0])
    assert _table(content, delimiter=";")[1] == [found.city, numbers(1)[0], found.carrier]


def test_the_same_key_is_the_same_task_and_one_reservation(start, numbers):
    """Even once it has finished, and even with another file: the original task."""
    sandbox = start(task_seconds=60, price_carrier_batch_micros=1)
    caller = sandbox.caller
    before = caller.balance()
    first = caller.submit(numbers(1_000), key="k").json()["data"]
    assert caller.submit(numbers(1_000), key="k").json()["data"] == first
    sandbox.control.finish_tasks()
    again = caller.submit(numbers(1_200), key="k").json()["data"]
    assert (again["id"], again["status"]) == (first["id"], "success")
    assert before - caller.balance() == 1_000
    report = sandbox.control.report()
    assert [task["submissions"] for task in report["tasks"]] == [3]


def test_a_key_belongs_to_its_account(start, caller_of, numbers):
    """Two accounts may use the same key; neither sees the other's task."""
    sandbox = start(api_keys=("one", "two"))
    with caller_of(sandbox.running.base_url, "two").client as client:
        other = caller_of(sandbox.running.base_url, "two")
        mine = sandbox.caller.submit(numbers(1_000), key="k").json()["data"]
        theirs = other.submit(numbers(1_000), key="k").json()["data"]
        assert mine["id"] != theirs["id"]
        answer = client.get(f"/api/v1/bulk-tasks/{mine['id']}")
        assert (answer.status_code, answer.json()["code"]) == (404, 40000)
        other.client.close()


def test_without_a_key_every_submit_is_a_task(start, numbers):
    """An empty key is none."""
    caller = start().caller
    ids = {caller.submit(numbers(1_000), key=key).json()["data"]["id"] for key in (None, None, "")}
    assert len(ids) == 3


@pytest.mark.parametrize(("length", "code"), [(128, 0), (129, 40000)])
def test_a_key_has_up_to_128_characters(start, numbers, length, code):
    """One more is refused."""
    assert start().caller.submit(numbers(1_000), key="k" * length).json()["code"] == code


@pytest.mark.parametrize(
    ("product", "count", "code"),
    [
        ("carrier_batch", 999, 40000),
        ("carrier_batch", 1_000, 0),
        ("global_carrier_batch", 999, 40000),
        ("global_carrier_batch", 100_001, 40000),
        ("carrier_batch", 100_001, 0),
        ("carrier_batch", 500_001, 40000),
        ("single", 1_000, 40000),
    ],
)
def test_each_product_has_its_number_limits(start, numbers, product, count, code):
    """Fewer or more numbers, or another product, are refused before anything is reserved."""
    sandbox = start(balance_micros=10**12)
    answer = sandbox.caller.submit(numbers(count), product=product)
    assert answer.json()["code"] == code
    assert bool(sandbox.control.report(summary=True)["tasks"]) is (code == 0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("country", "US"), ("file", None)], "service_type"),
        ([("service_type", "carrier_batch"), ("file", None)], "country"),
        ([("service_type", "carrier_batch"), ("country", "XX"), ("file", None)], "country"),
        ([("service_type", "carrier_batch"), ("country", "US")], "file"),
        ([("service_type", "carrier_batch"), ("file", None), ("country", "US")], "precede"),
    ],
)
def test_a_form_must_be_whole_and_in_order(start, numbers, parts, message):
    """`country` precedes `file`, and nothing may be missing: otherwise 40000."""
    content = "\n".join(numbers(1_000)).encode()
    files = [
        (name, ("n.txt", content) if text is None else (None, text.encode()))
        for name, text in parts
    ]
    sandbox = start()
    answer = sandbox.caller.client.post("/api/v1/bulk-tasks", files=files)
    assert answer.json()["code"] == 40000
    assert message in answer.json()["msg"]
    assert sandbox.control.requests()[-1]["form_fields"] == [name for name, _ in parts]


@pytest.mark.parametrize(
    ("name", "code"), [("a.txt", 0), ("a.CSV", 0), ("a.xlsx", 40000), ("txt", 40000)]
)
def test_a_file_is_txt_or_csv_by_its_name(start, numbers, name, code):
    """Other endings are refused."""
    assert start().caller.submit(numbers(1_000), name=name).json()["code"] == code


def test_a_file_beyond_the_size_limit_is_refused(start, numbers):
    """The limit counts bytes of the file."""
    size = len("\n".join(numbers(1_000)))
    assert start(max_file_bytes=size).caller.submit(numbers(1_000)).json()["code"] == 0
    assert start(max_file_bytes=size - 1).caller.submit(numbers(1_000)).json()["code"] == 40000


def test_a_body_that_is_no_form_is_refused(start):
    """JSON is not how a file is submitted."""
    assert start().caller.post("bulk-tasks", {"service_type": "carrier_batch"}).json()["code"] == (
        40000
    )


def test_a_file_that_the_balance_does_not_cover_is_40200(start, numbers):
    """Nothing is reserved and no task is made."""
    sandbox = start(balance_micros=999, price_carrier_batch_micros=1)
    assert sandbox.caller.submit(numbers(1_000)).json()["code"] == 40200
    assert sandbox.caller.balance() == 999
    assert sandbox.control.report()["tasks"] == []


def test_too_many_unfinished_tasks_are_42900(start, numbers):
    """Once one has ended there is room again; the same key is no new task."""
    sandbox = start(max_open_tasks=1, task_seconds=60)
    caller = sandbox.caller
    assert caller.submit(numbers(1_000), key="a").json()["code"] == 0
    assert caller.submit(numbers(1_000), key="b").json()["code"] == 42900
    assert caller.submit(numbers(1_000), key="a").json()["code"] == 0
    sandbox.control.finish_tasks()
    assert caller.submit(numbers(1_000), key="b").json()["code"] == 0


def test_each_query_gives_a_link_of_its_own_that_expires(start, numbers, clock):
    """A link lives for its time; a later query gives another that works."""
    caller = start(link_seconds=60).caller
    task = caller.finished(numbers(1_000))
    later = caller.query(task["id"]).json()["data"]
    assert later["result_url"] != task["result_url"]
    clock.move(59)
    assert caller.download(task).status_code == 200
    clock.move(1)
    assert caller.download(task).status_code == 410
    assert caller.download(caller.query(task["id"]).json()["data"]).status_code == 200


def test_a_link_can_lead_to_another_origin_that_serves_nothing_else(start, numbers):
    """There the key has no business, and the report says whether it went there."""
    sandbox = start(link_on_second_port=True)
    caller = sandbox.caller
    link = caller.finished(numbers(1_000))["result_url"]
    origin = f"http://{urlsplit(link).netloc}"
    assert origin == sandbox.running.elsewhere != sandbox.running.base_url
    assert httpx.get(link, trust_env=False, verify=False).status_code == 200
    assert sandbox.control.report()["keys"] == {
        "sent_to_results": 0,
        "sent_elsewhere": 0,
        "out_of_place": 0,
    }
    caller.client.get(link)
    caller.client.get(f"{origin}/api/v1/balance?key={caller.api_key}")
    keys = sandbox.control.report()["keys"]
    assert keys == {"sent_to_results": 1, "sent_elsewhere": 2, "out_of_place": 1}


def test_polls_that_come_too_early_are_counted_and_answered(start, numbers, clock):
    """Counted per task, with the shortest gap; a poll on the dot is on time."""
    sandbox = start(poll_seconds=30, task_seconds=600)
    caller = sandbox.caller
    first = caller.submit(numbers(1_000)).json()["data"]["id"]
    second = caller.submit(numbers(1_000)).json()["data"]["id"]
    caller.query(first)
    clock.move(30)
    caller.query(first)
    caller.query(second)
    assert sandbox.control.report()["limits"]["early_polls"] == 0
    clock.move(12)
    assert caller.query(first).json()["code"] == 0
    report = sandbox.control.report()
    assert report["limits"]["early_polls"] == 1
    assert report["limits"]["shortest_poll_gap"] == 12
    assert [task["polls"] for task in report["tasks"]] == [3, 1]


def test_a_large_task_does_not_keep_others_waiting(start, numbers):
    """While it works, checks and balance reads are answered."""
    sandbox = start(balance_micros=10**9)
    sandbox.caller.submit(numbers(200_000))
    assert sandbox.caller.check("+14155550123").json()["code"] == 0
    assert sandbox.caller.balance() == 10**9 - 200_000 * 800 - 2_000
    assert [task["status"] for task in sandbox.control.report(summary=True)["tasks"]] == [
        "processing"
    ]
