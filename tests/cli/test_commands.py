"""Each command as its users meet it: real processes, exit codes, the two streams."""

from __future__ import annotations

import codecs
import json
import subprocess
from pathlib import Path
from typing import Any

import phonenumbers
import pyarrow.parquet
import pytest
from support.commands import SECONDS, started

from carrier_enrich.cli.running import run


def test_plan_is_free_and_says_everything(ce: Any, sandbox: Any, small: str) -> None:
    """`plan` prints what would be bought, charges nothing, and writes nothing but its answer."""
    before = sandbox.control.report(summary=True)
    shown = ce("plan", small, "--phone", "phone")
    assert shown.code == 0
    assert shown.err == ""
    for told in ("to buy", "$0.004", "balance after", "sandbox"):
        assert told in shown.out
    plain = ce("plan", small, "--phone", "phone", "--json").document["plan"]
    assert plain["to_buy"] == 2
    assert plain["highest_cost_micros"] == 4_000
    after = sandbox.control.report(summary=True)
    assert after["charged_micros"] == before["charged_micros"]
    assert set(after["requests"]) <= {*before["requests"], "balance"}


def test_plan_that_does_not_fit_ends_with_4(ce: Any, small: str) -> None:
    """A script can stop at a plan that passes the cap; the plan is printed all the same."""
    ended = ce("plan", small, "--phone", "phone", "--max-cost", "0.003")
    assert ended.code == 4
    assert "more than the cap" in ended.out


def test_nothing_is_bought_unconfirmed(ce: Any, sandbox: Any, small: str, tmp_path: Path) -> None:
    """Off a terminal, without --yes: exit 3, one line, nothing charged, no file."""
    before = sandbox.control.report(summary=True)["charged_micros"]
    ended = ce("enrich", small, "out.csv", "--phone", "phone", "--quiet")
    assert ended.code == 3
    assert ended.out == ""
    assert ended.err == (
        "carrier-enrich: 2 numbers to buy would spend at most $0.004 of play money; nothing was "
        "sent: add --yes to agree\n"
    )
    assert not (tmp_path / "out.csv").exists()
    assert sandbox.control.report(summary=True)["charged_micros"] == before


def test_bought_once_then_free(ce: Any, sandbox: Any, small: str, tmp_path: Path) -> None:
    """The first run buys and says so; the second needs no --yes, costs nothing and says so."""
    before = sandbox.control.report(summary=True)["charged_micros"]
    first = ce(
        "enrich", small, "out.csv", "--phone", "phone", "--yes", "--report", "r.html", "--json"
    )
    assert first.code == 0
    receipt = first.document["receipt"]
    assert receipt["bought"] == 2
    assert receipt["adds_up"] is True
    assert first.document["target"] == "out.csv"
    assert "to buy" in first.err
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "name,phone,carrier,number_type,region,lookup_status"
    assert [line.split(",")[0] for line in lines[1:]] == ["Ann", "Bob", "Cem", "Dan", "Eve"]
    assert [line.rsplit(",")[-1] for line in lines[1:]] == [
        "found",
        "found",
        "missing",
        "found",
        "invalid",
    ]
    assert "made up" in (tmp_path / "r.html").read_text()

    second = ce("enrich", small, "again.parquet", "--phone", "phone")
    assert second.code == 0
    assert "Nothing was bought. 3 cells answered without paying again" in second.out
    assert sandbox.control.report(summary=True)["charged_micros"] == before + 4_000


def test_excel_safe_marks_phones(ce: Any, small: str, tmp_path: Path) -> None:
    """--excel-safe marks phones and encoding; its numbers are read again just the same."""
    done = ce("enrich", small, "o.csv", "--phone", "phone", "--yes", "--excel-safe", "-q")
    assert done.code == 0
    written = (tmp_path / "o.csv").read_bytes()
    assert written.startswith(codecs.BOM_UTF8)
    rows = written.decode("utf-8-sig").splitlines()
    assert rows[1].startswith("Ann,'+1 415 555 0101,")
    assert rows[3].startswith("Cem,,")
    again = ce("enrich", "o.csv", "p.csv", "--phone", "phone", "--prefix", "new_", "--json")
    assert again.document["receipt"]["bought"] == 0
    plain = ce("enrich", small, "plain.csv", "--phone", "phone", "-q")
    assert plain.code == 0
    assert (tmp_path / "plain.csv").read_bytes().startswith(b"name,phone,")


@pytest.mark.parametrize(
    ("arguments", "changes", "code", "told"),
    [
        (["--max-cost", "0.003"], {}, 4, "over the cap of $0.003; nothing was sent"),
        ([], {"api_key": "key-of-the-poor"}, 4, "the balance is $0.001; nothing was sent"),
        (["--max-cost", "1"], {"price_multi_usd": None}, 4, "no cap can be kept"),
        ([], {"api_key": "key-of-nobody"}, 6, "40100"),
        ([], {"base_url": "http://127.0.0.1:9"}, 6, "nothing was sent"),
        ([], {"api_key": None}, 2, "CARRIER_ENRICH_API_KEY"),
        ([], {"base_url": None, "poll_seconds": None}, 2, "CARRIER_ENRICH_BASE_URL"),
    ],
)
def test_each_refusal_has_its_code_and_one_line(
    ce: Any,
    small: str,
    *,
    arguments: list[str],
    changes: dict[str, Any],
    code: int,
    told: str,
) -> None:
    """Every refusal ends with its documented code, one clear line, and one JSON document."""
    ended = ce(
        "enrich", small, "o.csv", "--phone", "phone", "--yes", "-q", "--json", *arguments, **changes
    )
    assert ended.code == code
    first, *notes = ended.err.splitlines()
    assert first.startswith("carrier-enrich: ")
    assert [note.strip() for note in notes] == ended.document["error"]["notes"]
    assert told in ended.err
    error = ended.document["error"]
    assert error["exit_code"] == code
    assert error["message"] in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--phone", "fone"], "did you mean 'phone'"),
        (["--phone", "phone", "--max-cost", "much"], "not an amount of USD"),
        (["--phone", "phone", "--columns", "carrier,carier"], "'carier' is none of carrier"),
        (["--phone", "phone", "--country", "Atlantis"], "unknown country"),
        (["--phone", "phone", "--report", "page.pdf"], ".html"),
        (["--phone", "phone", "--excel-safe"], "for CSV"),
        (["--phone", "phone", "--nonsense"], "No such option"),
        ([], "Missing option '--phone'"),
    ],
)
def test_bad_use_ends_with_2(
    small: str, tmp_path: Path, capsys: Any, arguments: list[str], told: str
) -> None:
    """Bad use and bad input are a line, its cost, and one JSON document, before any request."""
    files = [str(tmp_path / small), str(tmp_path / "o.parquet")]
    assert run(["enrich", *files, "--yes", "-q", "--json", *arguments]) == 2
    said = capsys.readouterr()
    line, *cost = said.err.splitlines()
    assert told in line
    assert cost in ([], ["  nothing was sent, so nothing was charged"])
    assert json.loads(said.out)["error"]["exit_code"] == 2


def test_source_is_never_overwritten(small: str, tmp_path: Path) -> None:
    """A target that is the source is refused, under any spelling of its path."""
    before = (tmp_path / small).read_text()
    other = tmp_path / "link.csv"
    other.symlink_to(tmp_path / small)
    assert run(["enrich", str(tmp_path / small), str(other), "--phone", "phone", "--yes"]) == 2
    assert (tmp_path / small).read_text() == before


def test_a_part_where_asked_for(ce: Any, small: str, tmp_path: Path) -> None:
    """--on-limit partial writes the file with not_checked rows, and says why it stopped."""
    ended = ce(
        "enrich", small, "o.csv", "--phone", "phone", "--yes", "--max-cost", "0.002",
        "--on-limit", "partial", "--json",
    )  # fmt: skip
    assert ended.code == 0
    assert ended.document["receipt"]["stopped"]
    assert (tmp_path / "o.csv").read_text().count("not_checked") >= 1


def test_balance_and_settle_with_nothing_open(ce: Any) -> None:
    """`balance` tells the money, and `settle` that there is nothing to do."""
    assert ce("balance", api_key="key-of-the-poor").out == "$0.001 of play money (sandbox)\n"
    plain = ce("balance", "--json", api_key="key-of-the-poor").document
    assert plain == {"balance_micros": 1_000, "sandbox": True}
    assert ce("settle").out == "Nothing was open.\n"


def test_ledger_export(ce: Any, small: str, tmp_path: Path) -> None:
    """What was bought can be had as Parquet: the answers, and the purchases."""
    assert ce("ledger", "export", "empty.parquet", "--json").document["rows"] == 0
    assert ce("enrich", small, "o.csv", "--phone", "phone", "--yes").code == 0
    assert "2 answers" in ce("ledger", "export", "answers.parquet").out
    answers = pyarrow.parquet.read_table(tmp_path / "answers.parquet")
    assert answers["number"].to_pylist() == ["+14155550101", "+14155550102"]
    assert set(answers["status"].to_pylist()) == {"found"}
    assert set(answers["numbering"].to_pylist()) == {f"phonenumbers {phonenumbers.__version__}"}
    assert answers.schema.equals(pyarrow.parquet.read_schema(tmp_path / "empty.parquet"))
    assert ce("ledger", "export", "bought.parquet", "--purchases").code == 0
    bought = pyarrow.parquet.read_table(tmp_path / "bought.parquet")
    assert sum(bought["charged_micros"].to_pylist()) == 4_000
    assert ce("ledger", "export", "answers.xlsx").code == 2


def test_sandbox_says_where_and_how(settings: dict[str, str], ce: Any) -> None:
    """`sandbox` tells what to set, answers there, and ends well on SIGTERM."""
    process = started(["sandbox", "--balance", "7", "--json"], settings, stdout=subprocess.PIPE)
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            break
    ready = json.loads(text)
    assert ready["sandbox"] is True
    url = ready["environment"]["CARRIER_ENRICH_BASE_URL"]
    key = ready["environment"]["CARRIER_ENRICH_API_KEY"]
    assert ce("balance", base_url=url, api_key=key).out.startswith("$7.00")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert ce("sandbox", "--set", "no_such=1").code == 2
    assert ce("sandbox", "--balance", "-1").code == 2


@pytest.mark.slow
def test_demo_needs_nothing_and_says_what_it_is(ce: Any, tmp_path: Path) -> None:
    """`demo` runs without any setting, prints what people like to see, and is loud about it."""
    nothing = dict.fromkeys(
        ("base_url", "api_key", "ledger", "price_single_usd", "price_multi_usd", "poll_seconds")
    )
    shown = ce("demo", "--folder", "d", "--report", "d.html", **nothing)
    assert shown.code == 0
    for told in ("Phone cells by status", "Top carriers", "Number types", "saved", "SANDBOX"):
        assert told in shown.out
    assert pyarrow.parquet.read_metadata(tmp_path / "d" / "crm_enriched.parquet").num_rows == 6_000
    assert "made up" in (tmp_path / "d.html").read_text()
