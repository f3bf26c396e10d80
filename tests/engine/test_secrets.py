"""The API key goes to the base URL's origin and nowhere else; numbers are masked in messages."""

from __future__ import annotations

import logging
import sqlite3
import stat
import traceback

import pandas as pd
import pytest

from carrier_enrich import Enricher, Settings, errors
from carrier_enrich.sandbox import SandboxConfig, running_sandbox

KEY = "key-that-must-not-leak-7f3a"


@pytest.fixture
def elsewhere():
    """A sandbox whose result links lead to another origin."""
    config = SandboxConfig(api_keys=(KEY,), link_on_second_port=True, undetermined_share=0.0)
    with running_sandbox(config) as running:
        yield running


def enricher_for(running, folder, **changes) -> Enricher:
    given = {
        "base_url": running.base_url,
        "api_key": KEY,
        "ledger": str(folder / "private" / "ledger.db"),
        "poll_seconds": 0.05,
        "price_multi_usd": "0.002",
        "price_single_usd": "0.002",
    }
    return Enricher(Settings.of({}, **{**given, **changes}))


def everything_written(folder) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_key_is_in_nothing_that_a_run_writes_or_sends_elsewhere(
    elsewhere, tmp_path, numbers, caplog, capsys
):
    """After bulk, checks and failures: no file, log, repr or foreign request holds the key."""
    caplog.set_level(logging.DEBUG)
    frame = pd.DataFrame({"phone": numbers(1_000) + numbers(30, "GB")})
    for on, kind in [
        ("result", "link_expired"),
        ("bulk-query", "redirect"),
        ("bulk-submit", "redirect"),
        ("batch-check", "redirect"),
        ("balance", "redirect"),
        ("result", "redirect"),
    ]:
        elsewhere.control.fault(on, kind, **({"http": 307} if kind == "redirect" else {}))
    with enricher_for(elsewhere, tmp_path) as enricher:
        out = enricher.enrich(frame, "phone")
        assert (out["lookup_status"] == "found").all()
        shown = repr(enricher) + repr(enricher.settings) + str(enricher.receipt.to_dict())
        shown += repr(enricher._client) + str(out.attrs)
    keys = elsewhere.control.report(summary=True)["keys"]
    assert keys == {"sent_to_results": 0, "sent_elsewhere": 0, "out_of_place": 0}
    captured = capsys.readouterr()
    written = everything_written(tmp_path)
    assert b"ledger" in written or written
    for text in (shown, caplog.text, captured.out, captured.err):
        assert KEY not in text
    assert KEY.encode() not in written


def test_a_fault_shows_neither_key_nor_number(elsewhere, tmp_path, numbers):
    """No exception, in its whole chain with all frames' values, prints the key or a number."""
    frame = pd.DataFrame({"phone": numbers(20)})
    for code in (40100, 40000, 40200, 42900):
        elsewhere.control.fault(
            "batch-check", "code", code=code, msg=f"bad {frame['phone'][0]} {KEY}"
        )
        with (
            enricher_for(elsewhere, tmp_path) as enricher,
            pytest.raises(errors.ServiceError) as caught,
        ):
            enricher.enrich(frame, "phone")
        shown = "".join(traceback.format_exception(caught.value))
        assert frame["phone"][0] not in shown
        assert frame["phone"][0].removeprefix("+") not in shown
        error: BaseException | None = caught.value
        while error is not None:
            assert KEY not in repr(error)
            error = error.__cause__ or error.__context__


def test_ledger_and_spool_are_private(elsewhere, tmp_path, numbers):
    """Ledger, its side files and kept result files can be read by the user alone."""
    elsewhere.control.fault("result", "not_a_table", times=None)
    with enricher_for(elsewhere, tmp_path) as enricher, pytest.raises(errors.BadResultFile):
        enricher.enrich(pd.DataFrame({"phone": numbers(1_000)}), "phone")
    files = [path for path in (tmp_path / "private").rglob("*") if path.is_file()]
    assert any(path.suffix == ".result" for path in files)
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    with sqlite3.connect(tmp_path / "private" / "ledger.db") as ledger:
        assert ledger.execute("SELECT COUNT(*) FROM purchases").fetchone() == (1,)


def test_plain_http_to_another_machine_is_refused_unless_named():
    """A key in clear on a network needs the user's word."""
    with pytest.raises(errors.BadSettings, match="plain http"):
        Settings.of({}, base_url="http://lookup.example", api_key=KEY)
    assert Settings.of({}, base_url="http://lookup.example", api_key=KEY, allow_plain_http=True)
