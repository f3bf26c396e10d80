"""The money gate decides by the plan alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from carrier_enrich.cli.gate import Ask, NotConfirmed, gate
from carrier_enrich.errors import OutOfBalance, OverBudget, PriceUnknown
from carrier_enrich.model import Call, CallKind
from carrier_enrich.planning import Plan


def plan_of(cost: int | None = 4_000, **changes: Any) -> Plan:
    calls = (Call(CallKind.MULTI_CHECK, np.arange(2), highest_cost=cost),)
    given: dict[str, Any] = {
        "rows": 2, "missing": 0, "invalid": {}, "distinct": 2, "known": 0, "paid": 0,
        "calls": calls, "balance": 9_000, "cap": None, "expected_seconds": None,
        "sandbox": False, "digest": "",
    }  # fmt: skip
    return Plan(**{**given, **changes})


@pytest.mark.parametrize(
    ("made", "question"),
    [
        (plan_of(), "Spend at most $0.004?"),
        (plan_of(cap=5_000), "Spend at most $0.004?"),
        (plan_of(None), "Spend up to $0.009 (the price of 2 numbers is not known)?"),
    ],
)
def test_the_question_names_the_most_it_may_cost(made: Plan, question: str) -> None:
    """Where somebody can be asked, the question holds the highest cost, or the whole balance."""
    assert gate(made, partial=False, yes=False, can_ask=True) == Ask(question)
    assert gate(made, partial=False, yes=True, can_ask=False) is None
    with pytest.raises(NotConfirmed, match="--yes"):
        gate(made, partial=False, yes=False, can_ask=False)


def test_a_free_plan_passes_the_gate() -> None:
    """What costs nothing needs nobody's consent."""
    assert gate(plan_of(calls=()), partial=False, yes=False, can_ask=False) is None


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (plan_of(cap=3_999), OverBudget),
        (plan_of(balance=3_999), OutOfBalance),
        (plan_of(None, cap=9_000), PriceUnknown),
    ],
)
def test_yes_overrides_no_limit(made: Plan, error: type[Exception]) -> None:
    """Over the cap or the balance no consent helps; a part that fits may be agreed to."""
    with pytest.raises(error, match="nothing was sent"):
        gate(made, partial=False, yes=True, can_ask=True)
    assert isinstance(gate(made, partial=True, yes=False, can_ask=True), Ask)
