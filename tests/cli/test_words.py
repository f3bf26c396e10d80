"""What the program says: help, completion, errors with advice, and never a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from support.commands import COMMAND, SECONDS

from carrier_enrich import errors
from carrier_enrich.advice import advice_on
from carrier_enrich.cli.running import judged, run


def test_no_secret_is_told(ce: Any, small: str) -> None:
    """Neither the key nor a whole number stands in what commands say, with --debug neither."""
    said = ""
    for extra in ([], ["--debug", "--json"]):
        ran = ce("enrich", small, "o.csv", "--phone", "phone", "--yes", *extra)
        said += ran.out + ran.err
    wrong = ce("balance", "--debug", api_key="key-of-nobody-at-all")
    said += wrong.out + wrong.err + ce("tasks").out
    for secret in ("key-of-the-tests", "key-of-nobody-at-all", "4155550101", "555 0101"):
        assert secret not in said


def test_help_loads_nothing_heavy() -> None:
    """Help is quick because it imports neither frames, nor HTTP, nor databases, nor the panel."""
    heavy = ["numpy", "pyarrow", "httpx", "sqlalchemy", "phonenumbers", "rich", "pandas"]
    code = (
        "import sys; from carrier_enrich.cli.running import run; run(['--help']); "
        f"sys.exit(str([m for m in {heavy} if m in sys.modules]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert ended.stderr == "[]\n"
    assert "carrier-enrich demo" in ended.stdout


@pytest.mark.parametrize(
    "command", [["demo"], ["plan"], ["enrich"], ["settle"], ["sandbox"], ["ledger", "export"]]
)
def test_help_teaches_by_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's help ends with examples that begin with the command itself."""
    assert run([*command, "--help"]) == 0
    help_text = capsys.readouterr().out
    examples = help_text[help_text.index("Examples:") :]
    assert f"carrier-enrich {' '.join(command)}" in examples


def test_completion_is_offered(settings: dict[str, str]) -> None:
    """The shell's completion script comes from the program itself."""
    ended = subprocess.run(
        COMMAND,
        env={**settings, "_CARRIER_ENRICH_COMPLETE": "zsh_source"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert "compdef" in ended.stdout


@pytest.mark.parametrize(
    "kind",
    [errors.LedgerError, *errors.ServiceError.__subclasses__()],
    ids=lambda kind: kind.__name__,
)
def test_what_the_service_says_gets_advice(kind: type[errors.CarrierEnrichError]) -> None:
    """Errors that repeat others' words are completed by what they cost and what to do."""
    error = kind("x", code=40000) if issubclass(kind, errors.ServiceError) else kind("x")
    advice = advice_on(error)
    assert advice is not None
    if issubclass(kind, errors.ServiceError) and kind.may_be_charged:
        assert "may have been charged" in advice
    assert advice_on(errors.OutOfBalance("3 numbers may cost more; nothing was sent")) is None


def test_a_fault_of_the_program_is_one_line_without_data() -> None:
    """An error that nobody foresaw is told by kind and place, never by its text."""
    with pytest.raises(KeyError) as raised:
        {}["+14155550101"]
    code, message = judged(raised.value)
    assert code == 1
    assert "KeyError at test_words.py:" in message
    assert "4155550101" not in message
