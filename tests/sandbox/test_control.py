"""The controls: report, requests, config."""

from __future__ import annotations

import hashlib
import socket

import httpx
import pytest

from carrier_enrich.sandbox import SandboxConfig, SandboxControl, running_sandbox

_NUMBER = "+14155550123"


def test_the_report_counts_requests_and_refusals(start):
    """By endpoint, and by code."""
    sandbox = start()
    sandbox.caller.check(_NUMBER)
    sandbox.caller.check("12")
    sandbox.caller.multi([_NUMBER])
    sandbox.caller.balance()
    report = sandbox.control.report()
    assert report["sandbox"] is True
    assert report["requests"] == {"check": 2, "batch-check": 1, "balance": 1}
    assert report["refusals"] == {"40002": 1}


def test_the_request_log_names_what_was_sent_but_not_the_key(start, numbers):
    """Header names, form fields in order, the key of idempotency, a digest of the body."""
    sandbox = start()
    sandbox.caller.submit(numbers(1_000), key="my-key")
    entry = sandbox.control.requests()[-1]
    file = "\n".join(numbers(1_000)).encode()
    assert (entry["method"], entry["path"]) == ("POST", "/api/v1/bulk-tasks")
    assert entry["form_fields"] == ["service_type", "country", "file"]
    assert entry["idempotency_key"] == "my-key"
    assert entry["body_digest"] == hashlib.sha256(file).hexdigest()
    assert entry["key_sent"] is True
    assert entry["key_elsewhere"] is False
    assert sandbox.running.api_key not in str(sandbox.control.requests())
    assert sandbox.running.api_key not in repr(sandbox.running)


def test_a_key_out_of_its_header_is_noticed(start):
    """In the address, the body or another header."""
    sandbox = start()
    client, key = sandbox.caller.client, sandbox.running.api_key
    client.get("/api/v1/balance", params={"api_key": key})
    client.get("/api/v1/balance", headers={"Authorization": f"Bearer {key}"})
    sandbox.caller.check(key)
    assert [entry["key_elsewhere"] for entry in sandbox.control.requests()] == [True] * 3
    assert sandbox.control.report()["keys"]["out_of_place"] == 3


def test_the_config_changes_while_it_runs(start):
    """Prices and shapes apply from the next request on."""
    sandbox = start(balance_micros=10_000)
    sandbox.control.configure(price_single_micros=3, shape="B")
    assert "carrier" in sandbox.caller.check(_NUMBER).json()["data"]
    assert sandbox.caller.balance() == 9_997


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonsense": 1}, "no such setting: nonsense"),
        ({"api_keys": ["a"]}, "fixed when the sandbox starts: api_keys"),
        ({"shape": "C"}, "shape must be one of A, B, mixed"),
        ({"price_single_micros": -1}, "must not be negative"),
        ({"price_single_micros": 0.5}, "whole number"),
        ({"task_seconds": None}, "must not be null"),
        ({"task_seconds": "long"}, "must be a number"),
        ({"enforce_limits": 1}, "true or false"),
        ({"result_columns": ["carrier"]}, "must hold identifier"),
        ({"result_columns": ["identifier", "colour"]}, "unknown names: colour"),
    ],
)
def test_a_change_that_can_not_be_is_refused(start, changes, message):
    """With a word on what is wrong; the config stays."""
    sandbox = start()
    with pytest.raises(ValueError, match=message):
        sandbox.control.configure(**changes)
    assert sandbox.caller.check(_NUMBER).json()["code"] == 0


def test_a_config_survives_json(tmp_path):
    """What `as_json` writes, `of` reads."""
    config = SandboxConfig(shape="mixed", state_path=tmp_path / "state", api_keys=("a", "b"))
    assert SandboxConfig.of(config.as_json()) == config


def test_a_taken_port_is_an_error():
    """Nobody gets a sandbox on a port where something else answers."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"), running_sandbox(port=port):
            pass


def test_each_account_has_its_balance(start, caller_of):
    """Keys are accounts; the report lists them in the order of the keys."""
    sandbox = start(api_keys=("one", "two"), balance_micros=10_000)
    other = caller_of(sandbox.running.base_url, "two")
    with other.client:
        sandbox.control.set_balance(77, account=1)
        assert (sandbox.caller.balance(), other.balance()) == (10_000, 77)
    accounts = sandbox.control.report()["accounts"]
    assert [account["balance_micros"] for account in accounts] == [10_000, 77]


def test_controls_need_no_key(start):
    """They are outside of the specification."""
    sandbox = start()
    url = f"{sandbox.running.base_url}/sandbox/report"
    assert httpx.get(url, trust_env=False, verify=False).json()["sandbox"] is True


def test_a_control_without_a_sandbox_is_an_os_error():
    """The caller learns that nobody is there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        SandboxControl(f"http://127.0.0.1:{port}").report()
