"""What each error says: what happened, what it cost, what to do; and no secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.error_causes import Stage
from support.error_lines import CASES, Case
from support.timing import Clock

from carrier_enrich import errors
from carrier_enrich.cli.running import lines_of
from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.sandbox import SandboxConfig, running_sandbox


def family(kind: type[CarrierEnrichError]) -> set[type[CarrierEnrichError]]:
    """An error class and everything below it, of the tree that `errors` draws."""
    below = [
        family(child) for child in kind.__subclasses__() if child.__module__ == errors.__name__
    ]
    return {kind}.union(*below)


def test_every_error_of_the_tree_has_a_cause_here():
    """Each class that can be raised is triggered below; only the two that group others are not."""
    grouping = {CarrierEnrichError, errors.ServiceError}
    assert family(CarrierEnrichError) - grouping <= {case.error for case in CASES}


def test_the_tree_that_is_drawn_is_the_tree_that_is():
    """The drawing at the top of the module names each class, and nothing else."""
    drawn = re.findall(r"^(?:[│├└─ ]*)([A-Z]\w+)(?:  .*)?$", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(kind.__name__ for kind in family(CarrierEnrichError))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.error.__name__}: {case.cause}")
def test_an_error_says_what_happened_what_it_cost_and_what_to_do(case: Case, tmp_path: Path):
    """The line of an error says all three, and neither holds the key nor a whole number."""
    with running_sandbox(SandboxConfig(undetermined_share=0.0)) as sandbox:
        stage = Stage(sandbox, tmp_path, Clock())
        with pytest.raises(case.error) as caught:
            case.trigger(stage)
        assert type(caught.value) is case.error
        line = "\n".join(lines_of(caught.value))
        secrets = (sandbox.api_key, "key-of-nobody-at-all")
    for part in (case.happened, case.cost, case.advice):
        assert part in line
    assert not any(secret in line for secret in secrets)
    assert not re.search(r"\d{8,}", line.replace(str(tmp_path), ""))
