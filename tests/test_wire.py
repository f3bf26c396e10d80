"""The protocol: what is sent, and what is read from every kind of answer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich import wire
from carrier_enrich.errors import (
    AnswerLost,
    BadApiKey,
    BadInput,
    Busy,
    CarrierEnrichError,
    CheckTimedOut,
    OutOfBalance,
    QuotaUsedUp,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
    UnexpectedAnswer,
)
from carrier_enrich.model import UNDETERMINED, Lookup, LookupStatus, Product, TaskStatus

NUMBER = 14155550123
OTHER = 442071838750
NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT

EXTRA = {
    "carrier": "Verizon",
    "number_type": "mobile",
    "country_code": "US",
    "region": "California",
    "city": "",
}
EMPTY = dict.fromkeys(EXTRA, "")
SHAPE_A = {
    "service_type": "carrier",
    "identifier": "+14155550123",
    "registered": True,
    "extra": EXTRA,
}
SHAPE_B = {
    "service_type": "carrier",
    "identifier": "+14155550123",
    "underlying_carrier": "",
    **EXTRA,
}
VERIZON = Lookup(
    LookupStatus.FOUND,
    carrier="Verizon",
    number_type="mobile",
    country_code="US",
    region="California",
)
TASK = {
    "id": "bt_01",
    "product": "carrier_batch",
    "status": "processing",
    "country": "US",
    "total": 1000,
    "created_at": "2025-01-02T03:04:05Z",
}


def envelope(data: object = None, code: object = 0, msg: object = "ok") -> bytes:
    return json.dumps({"code": code, "msg": msg, "data": data}).encode()


def single(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Lookup:
    return wire.read_single_check(status, headers or {}, body, NUMBER, NOW)


def multi(results: object, numbers: tuple[int, ...] = (NUMBER, OTHER), **data: object):
    body = envelope({"service_type": "carrier", "results": results, **data})
    return wire.read_multi_check(200, {}, body, numbers, NOW)


def task(**fields: object):
    return wire.read_bulk_task(200, {}, envelope({**TASK, **fields}), NOW)


# Requests


def test_single_check_request():
    """A single check sends its number in E.164 form, and waits longer than the service does."""
    request = wire.single_check(NUMBER)
    assert (request.method, request.path) == ("POST", "/api/v1/check")
    assert request.json == {"service_type": "carrier", "identifier": "+14155550123"}
    assert request.read_seconds > 60


def test_multi_check_request():
    """A multi check keeps the order of its numbers, and waits longer than the service does."""
    request = wire.multi_check([OTHER, NUMBER])
    assert (request.method, request.path) == ("POST", "/api/v1/batch-check")
    assert request.json == {
        "service_type": "carrier",
        "identifiers": ["+442071838750", "+14155550123"],
    }
    assert request.read_seconds > 300


@pytest.mark.parametrize("numbers", [[], [NUMBER, NUMBER], list(range(10**9, 10**9 + 101))])
def test_multi_check_refuses(numbers):
    """No multi check goes out with no number, with one twice, or with more than 100."""
    with pytest.raises(BadInput):
        wire.multi_check(numbers)


def test_submit_request():
    """A bulk submit has the product, then the country, then the file, and the key as a header."""
    request = wire.submit_bulk_task(Product.CARRIER_BATCH, "US", b"+14155550123\n", "key-1")
    assert request.form == (("service_type", "carrier_batch"), ("country", "US"))
    assert request.file == b"+14155550123\n"
    assert request.headers == {"Idempotency-Key": "key-1"}


@pytest.mark.parametrize(
    ("country", "file", "key"),
    [
        ("usa", b"+1\n", "k"),
        ("us", b"+1\n", "k"),
        ("U\n", b"+1\n", "k"),
        ("US", b"", "k"),
        ("US", b"x" * 20_000_001, "k"),
        ("US", b"+1\n", ""),
        ("US", b"+1\n", "k" * 129),
        ("US", b"+1\n", "k\r\nX-Evil: 1"),
        ("US", b"+1\n", "ключ"),
    ],
)
def test_submit_refuses(country, file, key):
    """A bulk submit outside the limits, or one that could bend a header, does not go out."""
    with pytest.raises(BadInput):
        wire.submit_bulk_task(Product.CARRIER_BATCH, country, file, key)


@given(st.text(min_size=1, max_size=40))
def test_task_id_stays_one_segment(task_id):
    """Whatever a task id holds, it can't change the path of the query."""
    try:
        path = wire.query_bulk_task(task_id).path
    except BadInput:
        assert not task_id.isprintable() or not task_id.strip(".")
        return
    prefix = "/api/v1/bulk-tasks/"
    assert path.startswith(prefix)
    assert not set(path.removeprefix(prefix)) & set("/?#\\ ")
    assert path.removeprefix(prefix) not in (".", "..")


def test_requests_hide_numbers():
    """No request shows a phone number in its repr."""
    shown = repr(
        [
            wire.single_check(NUMBER),
            wire.multi_check([NUMBER]),
            wire.submit_bulk_task(Product.CARRIER_BATCH, "US", wire.task_file([NUMBER]), "k"),
        ]
    )
    assert str(NUMBER) not in shown


@given(st.lists(st.integers(1, 10**15 - 1), max_size=50))
def test_task_file_round_trip(numbers):
    """The numbers of an uploaded file are the ones that were written, from a list or an array."""
    file = wire.task_file(numbers)
    assert file == b"".join(b"+%d\n" % number for number in numbers)
    assert wire.task_file(np.array(numbers, np.int64)) == file
    assert wire.numbers_of_file(file).tolist() == numbers


@pytest.mark.parametrize("file", [b"14155550123\n", b"+14155550123", b"+1\r\n", b"+x\n", b"+1_0\n"])
def test_numbers_of_another_file(file):
    """A file that `task_file` did not write is not read as one."""
    with pytest.raises(BadInput):
        wire.numbers_of_file(file)


# Single check


@pytest.mark.parametrize("data", [SHAPE_A, SHAPE_B, {**SHAPE_B, "registered": True}])
def test_both_shapes_say_the_same(data):
    """Shape A, shape B and a mix of them are read as the same lookup."""
    assert single(envelope(data)) == VERIZON


def test_underlying_carrier():
    """Shape B's underlying carrier is read, also beside a nested extra."""
    for data in ({**SHAPE_B, "underlying_carrier": "X"}, {**SHAPE_A, "underlying_carrier": "X"}):
        assert single(envelope(data)).underlying_carrier == "X"


def test_unallocated():
    """Registered false is unallocated; so is a shape B answer that says nothing but the country."""
    nothing = {**SHAPE_A, "registered": False, "extra": EMPTY}
    assert single(envelope(nothing)) == Lookup(LookupStatus.UNALLOCATED)
    flat = {"identifier": "+14155550123", **EMPTY, "country_code": "US"}
    assert single(envelope(flat)) == Lookup(LookupStatus.UNALLOCATED, country_code="US")
    flat = {"identifier": "+14155550123", **EMPTY, "city": "Oakland"}
    assert single(envelope(flat)) == Lookup(LookupStatus.FOUND, city="Oakland")


def test_registered_without_details_is_found():
    """A number of which the service says that it is registered is found, whatever is empty."""
    assert single(envelope({**SHAPE_A, "extra": EMPTY})) == Lookup(LookupStatus.FOUND)


@pytest.mark.parametrize("status", [200, 422, 500])
def test_undetermined_is_a_value(status):
    """42200 is a value, under whatever HTTP status and without data."""
    body = json.dumps({"code": 42200, "msg": "cannot be determined"}).encode()
    assert single(body, status) == UNDETERMINED


def test_texts_are_kept():
    """A text is kept as it is: only empty, blank and null are None, and NA is Namibia."""
    data = {**SHAPE_B, "country_code": "NA", "region": None, "city": " \t", "carrier": " Ünï "}
    lookup = single(envelope(data))
    assert (lookup.country_code, lookup.region, lookup.city) == ("NA", None, None)
    assert lookup.carrier == " Ünï "


def test_texts_can_be_stored():
    """Lone surrogates and NULs, which JSON can spell, do not reach a database."""
    lookup = single(envelope({**SHAPE_B, "carrier": "a\ud800b\x00"}))
    assert lookup.carrier == "a?b"


@pytest.mark.parametrize("echo", ["14155550123", "+1 415-555-0123", 14155550123])
def test_echo_is_compared_by_digits(echo):
    """The server may normalise the identifier: only its digits must be those that were asked."""
    assert single(envelope({**SHAPE_A, "identifier": echo})) == VERIZON


@pytest.mark.parametrize(
    "data",
    [
        {**SHAPE_A, "identifier": "+14155550124"},
        {**SHAPE_A, "identifier": None},
        {**SHAPE_A, "registered": "yes"},
        {**SHAPE_A, "extra": ["Verizon"]},
        {**SHAPE_A, "extra": {**EXTRA, "carrier": 7}},
        {**SHAPE_A, "carrier": "AT&T"},
        [SHAPE_A],
        "Verizon",
    ],
)
def test_contradictions(data):
    """An answer about another number, or of other types than specified, is not used."""
    with pytest.raises(UnexpectedAnswer) as caught:
        single(envelope(data))
    assert str(NUMBER) not in str(caught.value)


# Envelopes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502 Bad Gateway</html>",
        b'{"code": 0, "msg": "ok", "data": {"identif',
        b'"ok"',
        b"[]",
        b"null",
        b'{"message": "Internal server error"}',
        b'{"code": "ERR", "msg": "x", "data": {}}',
        b'{"code": null}',
        b'{"code": true, "data": {}}',
        b'{"code": NaN, "data": {}}',
        b'{"code": 1e999, "data": {}}',
        b'{"code": 0, "msg": "ok", "data": null}',
        b'{"code": 0, "msg": "ok"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("status", [200, 302, 502])
def test_no_envelope_is_an_answer_lost(body, status):
    """What is no whole envelope, or has no data, may hide a charge: the answer is lost."""
    with pytest.raises(AnswerLost):
        single(body, status)


def test_lost_answer_names_its_kind_not_its_content():
    """A lost answer's message has status, type and length, and nothing of the body."""
    with pytest.raises(AnswerLost) as caught:
        single(b"oops +14155550123", 502, {"Content-Type": "text/html"})
    message = str(caught.value)
    assert "502" in message
    assert "text/html" in message
    assert "17 bytes" in message
    assert "oops" not in message


@pytest.mark.parametrize("code", ["0", 0.0, 0])
def test_code_in_other_forms(code):
    """A code written as text or as an integral float is the same code."""
    assert single(envelope(SHAPE_A, code)) == VERIZON


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (40000, RequestRefused),
        (40001, RequestRefused),
        (40002, RequestRefused),
        (40100, BadApiKey),
        (40200, OutOfBalance),
        (42900, QuotaUsedUp),
        (42901, Busy),
        (50303, Busy),
        (50400, CheckTimedOut),
        (50300, ServiceUnavailable),
        (40399, UnexpectedAnswer),
        (1, UnexpectedAnswer),
        (-1, UnexpectedAnswer),
    ],
)
@pytest.mark.parametrize("status", [200, 404, 503])
def test_codes_decide(code, kind, status):
    """The envelope's code decides which error it is; the HTTP status does not."""
    body = json.dumps({"code": str(code), "msg": "why"}).encode()
    for read in (
        lambda: single(body, status),
        lambda: wire.read_multi_check(status, {}, body, [NUMBER], NOW),
        lambda: wire.read_bulk_task(status, {}, body, NOW),
        lambda: wire.read_balance(status, {}, body, NOW),
    ):
        with pytest.raises(ServiceError) as caught:
            read()
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert "why" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:50 -0000", 30.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        ("Tue, 14 Nov 2023 23:13:50 +0100", 30.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("inf", None),
        ("1e9", None),
        ("9" * 400, None),
        ("Tue, 99 Nov 2023 22:13:50 GMT", None),
    ],
)
def test_retry_after(value, seconds):
    """Retry-After is read as seconds or as a date, and is None where it is neither."""
    with pytest.raises(Busy) as caught:
        single(envelope(code=42901), 429, {"retry-AFTER": value})
    assert caught.value.retry_after == seconds


def test_no_retry_after():
    """Without the header there is no time to wait from it."""
    with pytest.raises(Busy) as caught:
        single(envelope(code=50303))
    assert caught.value.retry_after is None


def test_a_gateway_may_ask_to_wait():
    """The Retry-After of a gateway that sent no envelope is kept."""
    with pytest.raises(AnswerLost) as caught:
        single(b"busy", 503, {"Retry-After": "9"})
    assert caught.value.retry_after == 9


@pytest.mark.parametrize(
    "msg",
    [
        "bad number +14155550123",
        "bad number 1 (415) 555-0123",
        "bad number 1.415.555.0123",
        "bad key sk_live_0a1b2c3d4e5f6a7b8c9d",
        "x" * 5_000,
        "line\r\nbreak \x1b[31m",
        12345,
        None,
    ],
)
def test_foreign_messages_are_made_harmless(msg):
    """No phone number, token, control character or long text of the service gets into an error."""
    with pytest.raises(RequestRefused) as caught:
        single(envelope(code=40002, msg=msg))
    said = str(caught.value).removeprefix("40002")
    assert len(said) < 300
    assert said.isprintable()
    for secret in ("0123", "415", "sk_live", "12345"):
        assert secret not in said


def test_a_field_named_twice():
    """An object that names a field twice contradicts itself; neither value is used."""
    body = b'{"code": 0, "data": {"balance_micros": 1, "balance_micros": 2}}'
    with pytest.raises(UnexpectedAnswer):
        wire.read_balance(200, {}, body, NOW)


# Multi check


def test_multi_check_is_aligned():
    """Each number of a multi check has its own answer, in both shapes and without one."""
    flat = {key: value for key, value in SHAPE_B.items() if key != "service_type"}
    results = [
        {**flat, "exists": True},
        {"identifier": "+442071838750", "exists": False},
        {"identifier": "3", "exists": True, "registered": False, "extra": EMPTY},
    ]
    answers = multi(results, (NUMBER, OTHER, 3), total=3, succeeded=2, failed=1)
    assert answers == [VERIZON, UNDETERMINED, Lookup(LookupStatus.UNALLOCATED)]


FIRST = {"identifier": "+14155550123", "exists": False}
SECOND = {"identifier": "+442071838750", "exists": False}


@pytest.mark.parametrize(
    ("results", "total"),
    [
        ([FIRST], 2),
        ([FIRST, SECOND, SECOND], 2),
        ([SECOND, FIRST], 2),
        ([FIRST, FIRST], 2),
        ([FIRST, SECOND], 3),
        ([FIRST, {"identifier": "+442071838750"}], 2),
        ([FIRST, {"identifier": "+442071838750", "exists": "no"}], 2),
        ([FIRST, {"exists": False}], 2),
        ([FIRST, None], 2),
        ({"0": FIRST, "1": SECOND}, 2),
        ([FIRST, SECOND], "two"),
    ],
)
def test_multi_check_contradictions(results, total):
    """Nothing is joined on trust: length, order and echo must all be those of the request."""
    with pytest.raises(UnexpectedAnswer):
        multi(results, total=total)


def test_multi_check_without_results():
    """A multi check whose results are missing is lost: it may have been charged."""
    with pytest.raises(AnswerLost):
        multi(None)


def test_multi_check_undetermined_as_a_whole():
    """42200 for a multi check leaves each of its numbers undetermined."""
    body = json.dumps({"code": 42200, "msg": ""}).encode()
    answers = wire.read_multi_check(422, {}, body, [NUMBER, OTHER], NOW)
    assert answers == [UNDETERMINED, UNDETERMINED]


@given(st.permutations(list(range(10**9, 10**9 + 8))), st.data())
def test_multi_check_never_joins_by_position(sent, data):
    """Answers in any other order than the numbers' are refused; in theirs, each gets its own."""
    answered = data.draw(st.permutations(sent))
    results = [
        {"identifier": f"+{number}", "exists": True, "registered": True, "carrier": str(number)}
        for number in answered
    ]
    if answered == sent:
        lookups = multi(results, tuple(sent))
        assert [lookup.carrier for lookup in lookups] == [str(number) for number in sent]
    else:
        with pytest.raises(UnexpectedAnswer):
            multi(results, tuple(sent))


# Bulk tasks and balance


def test_bulk_task_while_processing():
    """A processing task has no counts and no link."""
    found = task(preparing=True)
    assert (found.id, found.status, found.total) == ("bt_01", TaskStatus.PROCESSING, 1000)
    assert (found.success_cnt, found.result_url, found.preparing) == (None, None, True)


def test_bulk_task_after_success():
    """A finished task has its counts, what it excluded, and a link that its repr hides."""
    found = task(
        status="success",
        success_cnt=900,
        failure_cnt="40",
        result_url="https://files.example/r?sig=abc",
        submitted_lines=1060,
        invalid_cnt=10,
        no_code_cnt=20,
        other_country_cnt=30,
        duplicate_cnt=0,
        preparing=False,
    )
    assert (found.success_cnt, found.failure_cnt, found.excluded) == (900, 40, 60)
    assert found.result_url == "https://files.example/r?sig=abc"
    assert "sig=abc" not in repr(found)


def test_bulk_task_with_little():
    """A task that is paid for is not lost for a descriptive field that is missing."""
    body = envelope({"id": 17, "status": "failed", "total": None})
    found = wire.read_bulk_task(200, {}, body, NOW)
    assert (found.id, found.status, found.total, found.country) == ("17", TaskStatus.FAILED, 0, "")


@pytest.mark.parametrize(
    "fields",
    [
        {"id": None},
        {"id": ""},
        {"id": ".."},
        {"id": "a\nb"},
        {"id": ["bt_01"]},
        {"status": "done"},
        {"status": None},
        {"status": 1},
        {"total": "many"},
        {"total": 1.5},
        {"total": True},
        {"total": 2**63},
        {"success_cnt": -1},
        {"preparing": "yes"},
        {"result_url": 5},
    ],
)
def test_bulk_task_contradictions(fields):
    """A task without a usable id or status, or with a field of another type, is not used."""
    with pytest.raises(UnexpectedAnswer):
        task(**fields)


def test_bulk_task_must_be_the_one_asked_for():
    """The answer to a query is about the task that was asked for."""
    body = envelope(TASK)
    assert wire.read_bulk_task(200, {}, body, NOW, task_id="bt_01").id == "bt_01"
    with pytest.raises(UnexpectedAnswer):
        wire.read_bulk_task(200, {}, body, NOW, task_id="bt_02")


@pytest.mark.parametrize(("value", "micros"), [(1_500_000, 1_500_000), ("7", 7), (0, 0), (-5, -5)])
def test_balance(value, micros):
    """The balance is micros of USD."""
    assert wire.read_balance(200, {}, envelope({"balance_micros": value}), NOW) == micros


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({}, AnswerLost),
        ({"balance_micros": None}, AnswerLost),
        ({"balance_micros": 1.5}, UnexpectedAnswer),
        ({"balance_micros": "1.50"}, UnexpectedAnswer),
        (5, UnexpectedAnswer),
    ],
)
def test_no_balance(data, kind):
    """A balance that is missing or no whole number of micros is an error, never a guess."""
    with pytest.raises(kind):
        wire.read_balance(200, {}, envelope(data), NOW)


# Anything at all

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["+14155550123", "success", 14155550123, 42200, 50303, 10**400])
)
FIELDS = ["identifier", "exists", "registered", "extra", "results", "total", *EXTRA]
OTHERS = ["code", "msg", "data", "id", "status", "balance_micros", "result_url", "success_cnt"]
NAMES = st.sampled_from([*FIELDS, *OTHERS])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)
BODIES = (
    st.binary(max_size=60)
    | VALUES.map(lambda value: json.dumps(value).encode())
    | VALUES.map(envelope)
    | st.dictionaries(NAMES, VALUES, max_size=6).map(envelope)
)
HEADERS = st.dictionaries(
    st.sampled_from(["Retry-After", "content-type", "Date"]), st.text(max_size=30), max_size=3
)


@given(st.integers(100, 999), HEADERS, BODIES)
def test_any_answer_is_a_value_or_an_error_of_ours(status, headers, body):
    """Whatever comes back, each reader returns a value or raises a CarrierEnrichError."""
    readers = (
        lambda: wire.read_single_check(status, headers, body, NUMBER, NOW),
        lambda: wire.read_multi_check(status, headers, body, [NUMBER, OTHER], NOW),
        lambda: wire.read_bulk_task(status, headers, body, NOW),
        lambda: wire.read_balance(status, headers, body, NOW),
    )
    for read in readers:
        try:
            said = "" if read() is not None else "nothing"
        except CarrierEnrichError as error:
            said = str(error)
        assert said != "nothing"
        assert str(NUMBER) not in said
