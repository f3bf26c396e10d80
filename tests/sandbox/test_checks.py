"""Single and multi checks, and the balance read, as the specification has them."""

from __future__ import annotations

import pytest

from carrier_enrich.sandbox import allocation_of, is_undetermined

_NUMBER = "+14155550123"
_TEXTS = ("carrier", "number_type", "country_code", "region", "city")


def _undetermined(share: float) -> str:
    numbers = (f"+1212{2_000_000 + n}" for n in range(10_000))
    return next(number for number in numbers if is_undetermined(number, share))


def test_a_single_check_in_shape_a_nests_the_data(start):
    """Shape A has `registered` and the five fields in `extra`."""
    answer = start(shape="A").caller.check(_NUMBER)
    found = allocation_of(_NUMBER)
    assert answer.status_code == 200
    assert answer.headers["X-Sandbox"] == "true"
    assert answer.json() == {
        "code": 0,
        "msg": "ok",
        "data": {
            "service_type": "carrier",
            "identifier": _NUMBER,
            "registered": True,
            "extra": {name: getattr(found, name) for name in _TEXTS},
        },
    }


def test_a_single_check_in_shape_b_is_flat(start):
    """Shape B has six fields beside the common two, and no `registered`."""
    data = start(shape="B").caller.check(_NUMBER).json()["data"]
    found = allocation_of(_NUMBER)
    names = (*_TEXTS, "underlying_carrier")
    common = {"service_type": "carrier", "identifier": _NUMBER}
    assert data == common | {name: getattr(found, name) for name in names}


def test_mixed_shapes_alternate(start):
    """In a mixed sandbox single checks take turns, and so do the entries of a multi check."""
    caller = start(shape="mixed").caller
    singles = ["extra" in caller.check(_NUMBER).json()["data"] for _ in range(4)]
    entries = caller.multi([_NUMBER] * 4).json()["data"]["results"]
    assert singles == ["extra" in entry for entry in entries] == [True, False, True, False]


def test_a_number_that_is_not_registered_is_a_result_and_is_charged(start):
    """`registered` is false, all five fields are there as empty texts, and it costs the price."""
    caller = start(balance_micros=10_000).caller
    data = caller.check("+19995550123").json()["data"]
    assert data["registered"] is False
    assert data["extra"] == dict.fromkeys(_TEXTS, "")
    assert caller.balance() == 8_000


def test_a_single_check_normalises_its_number(start):
    """Separators go; the answer has the E.164 form."""
    caller = start().caller
    data = caller.check("+1 (415) 555-0123").json()["data"]
    assert data["identifier"] == _NUMBER


def test_an_undetermined_number_is_42200_without_data_and_without_charge(start):
    """HTTP 422, code 42200, no `data` at all, and the balance stays."""
    caller = start(undetermined_share=0.01).caller
    before = caller.balance()
    answer = caller.check(_undetermined(0.01))
    assert answer.status_code == 422
    assert answer.json()["code"] == 42200
    assert "data" not in answer.json()
    assert caller.balance() == before


def test_a_multi_check_answers_every_entry_in_order_and_charges_results_only(start):
    """Malformed and undetermined entries have `exists` false and nothing else."""
    caller = start(undetermined_share=0.01, price_multi_micros=7).caller
    before = caller.balance()
    submitted = [_NUMBER, "nonsense", "+447400123456", _undetermined(0.01), _NUMBER]
    data = caller.multi(submitted).json()["data"]
    entries = data["results"]
    assert [entry["identifier"] for entry in entries] == submitted
    assert [entry["exists"] for entry in entries] == [True, False, True, False, True]
    assert entries[1].keys() == entries[3].keys() == {"identifier", "exists"}
    assert (data["total"], data["succeeded"], data["failed"]) == (5, 3, 2)
    assert before - caller.balance() == 3 * 7


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"service_type": "other", "identifier": _NUMBER}, 40000),
        ({"identifier": _NUMBER}, 40000),
        ({"service_type": "carrier"}, 40000),
        ({"service_type": "carrier", "identifier": 14155550123}, 40000),
        ({"service_type": "carrier", "identifier": _NUMBER, "identifiers": [_NUMBER]}, 40000),
        ([_NUMBER], 40001),
        ({"service_type": "carrier", "identifier": "12"}, 40002),
        ({"service_type": "carrier", "identifier": "+1415555012a"}, 40002),
        ({"service_type": "carrier", "identifier": ""}, 40002),
    ],
)
def test_a_wrong_single_check_is_refused_by_its_code(start, body, code):
    """Each kind of wrong request has its code, null data, and costs nothing."""
    caller = start().caller
    before = caller.balance()
    answer = caller.post("check", body)
    assert answer.status_code == 400
    assert (answer.json()["code"], answer.json()["data"]) == (code, None)
    assert caller.balance() == before


@pytest.mark.parametrize(
    ("identifiers", "code"),
    [([], 40000), ([_NUMBER] * 101, 40000), (_NUMBER, 40000), ([1, 2], 40000), (None, 40000)],
)
def test_a_multi_check_takes_1_to_100_texts(start, identifiers, code):
    """Anything else is refused as a whole."""
    body = {"service_type": "carrier", "identifiers": identifiers}
    assert start().caller.post("batch-check", body).json()["code"] == code


def test_a_multi_check_of_100_is_taken(start, numbers):
    """The limit itself is allowed."""
    assert start().caller.multi(numbers(100)).json()["data"]["succeeded"] == 100


def test_a_malformed_number_can_refuse_its_multi_check(start):
    """Where it is so configured, one malformed number makes the whole answer 40002."""
    caller = start(malformed_refuses_multi=True).caller
    before = caller.balance()
    assert caller.multi([_NUMBER, "nonsense"]).json()["code"] == 40002
    assert caller.balance() == before


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_sent_as_json_is_40001(start, media):
    """The content type must be `application/json`."""
    sandbox = start()
    answer = sandbox.caller.client.post(
        "/api/v1/check",
        content=b'{"service_type": "carrier", "identifier": "+14155550123"}',
        headers={"Content-Type": media},
    )
    assert answer.json()["code"] == 40001


def test_broken_json_is_40001(start):
    """A body that is cut is no JSON."""
    answer = start().caller.client.post(
        "/api/v1/check", content=b'{"service_', headers={"Content-Type": "application/json"}
    )
    assert answer.json()["code"] == 40001


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}])
def test_a_missing_or_wrong_key_is_40100_everywhere(start, caller_of, headers):
    """No endpoint answers without a key."""
    sandbox = start()
    caller = caller_of(sandbox.running.base_url, "wrong")
    with caller.client as client:
        client.headers = headers
        answers = [
            caller.check(_NUMBER),
            caller.multi([_NUMBER]),
            caller.submit([_NUMBER]),
            caller.query("task_0"),
            client.get("/api/v1/balance"),
        ]
    assert [answer.json()["code"] for answer in answers] == [40100] * 5
    assert {answer.status_code for answer in answers} == {401}


def test_a_balance_that_may_not_suffice_is_40200_before_anything_is_charged(start):
    """The highest possible cost counts, whatever the numbers turn out to be."""
    caller = start(balance_micros=5_999, price_multi_micros=2_000, price_single_micros=6_000).caller
    assert caller.multi([_NUMBER, "nonsense", "nonsense"]).json()["code"] == 40200
    assert caller.check(_NUMBER).json()["code"] == 40200
    assert caller.balance() == 5_999
    assert caller.multi([_NUMBER, "nonsense"]).json()["code"] == 0
    assert caller.balance() == 3_999


@pytest.mark.parametrize("endpoint", ["check", "batch-check"])
def test_a_check_beyond_its_time_limit_is_50400_without_charge(start, endpoint):
    """The whole multi check fails, with nothing charged."""
    sandbox = start(
        single_seconds=9, single_limit_seconds=0.01, multi_seconds=9, multi_limit_seconds=0.01
    )
    caller = sandbox.caller
    before = caller.balance()
    answer = caller.check(_NUMBER) if endpoint == "check" else caller.multi([_NUMBER])
    assert (answer.status_code, answer.json()["code"]) == (504, 50400)
    assert caller.balance() == before


def test_errors_can_come_with_status_200(start):
    """Statuses other than that of 42200 are not specified, so a client can't rely on them."""
    sandbox = start(error_status="ok", undetermined_share=1.0)
    answer = sandbox.caller.check("12")
    assert (answer.status_code, answer.json()["code"]) == (200, 40002)
    assert sandbox.caller.check(_NUMBER).status_code == 422


def test_an_unknown_path_is_an_envelope_too(start):
    """Whatever is asked for, the answer has the envelope and says that it is a sandbox."""
    answer = start().caller.client.get("/api/v1/nothing")
    assert (answer.status_code, answer.json()["code"]) == (404, 40000)
    assert answer.headers["X-Sandbox"] == "true"
