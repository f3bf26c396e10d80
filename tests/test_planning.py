"""A plan says what enriching would send and cost, in figures that follow from its calls."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.model import Call, CallKind, Product
from carrier_enrich.planning import Plan
from carrier_enrich.tables import duration, grid, percent, text_bar


def call(kind: CallKind, numbers: int, cost: int | None, country: str | None = None) -> Call:
    product = Product.GLOBAL_CARRIER_BATCH if kind is CallKind.BULK_TASK else None
    return Call(kind, np.arange(1, numbers + 1), product, country, cost)


def plan(*calls: Call, **changes: Any) -> Plan:
    given: dict[str, Any] = {
        "rows": 2_000,
        "missing": 7,
        "invalid": {"precision_lost": 3},
        "distinct": 1_500,
        "known": 200,
        "paid": 0,
        "calls": calls,
        "balance": 100_000_000,
        "cap": None,
        "expected_seconds": None,
        "sandbox": False,
        "digest": "d",
    }
    return Plan(**{**given, **changes})


BULK = call(CallKind.BULK_TASK, 1_200, 1_200_000, "US")
MULTI = call(CallKind.MULTI_CHECK, 100, 200_000)
UNPRICED = call(CallKind.MULTI_CHECK, 50, None)


def test_cost_is_the_sum_of_the_calls() -> None:
    """Numbers to buy and highest cost add up over the calls, and so do they by kind."""
    made = plan(BULK, MULTI, MULTI)
    assert made.to_buy == 1_400
    assert made.highest_cost == 1_600_000
    groups = made.calls_by_kind()
    assert sum(group["numbers"] or 0 for group in groups.values()) == made.to_buy
    assert sum(group["highest_cost_micros"] or 0 for group in groups.values()) == made.highest_cost
    assert groups["multi_check"]["calls"] == 2


@pytest.mark.parametrize(
    ("calls", "cap", "balance", "fits"),
    [
        ((BULK,), None, 1_200_000, True),
        ((BULK,), None, 1_199_999, False),
        ((BULK,), 1_200_000, 9_000_000, True),
        ((BULK,), 1_199_999, 9_000_000, False),
        ((UNPRICED,), None, 9_000_000, True),
        ((UNPRICED,), 9_000_000, 9_000_000, False),
        ((), 0, None, True),
    ],
)
def test_fits_is_exact_to_the_micro(
    calls: tuple[Call, ...], cap: int | None, balance: int | None, fits: bool
) -> None:
    """A plan fits up to the cap and the balance exactly; under a cap an unknown price does not."""
    assert plan(*calls, cap=cap, balance=balance).fits is fits


def test_text_names_every_figure() -> None:
    """The text has the way from rows to money: all that is bought, and what is left after it."""
    text = str(plan(BULK, MULTI, cap=2_000_000, expected_seconds=75))
    for figure in ("2,000", "1,500", "200", "1,300", "$1.40", "$2.00", "$98.60", "1 min 15 s"):
        assert figure in text
    assert "bulk task US" in text
    assert "precision lost" in text


def test_unknown_price_is_named() -> None:
    """Numbers at unknown prices are counted; the cost says that it is only what is known."""
    text = str(plan(BULK, UNPRICED))
    assert "as far as known" in text
    assert "50 numbers" in text
    assert "balance after" not in text


def test_free_plan_says_so() -> None:
    """Where everything is known, the plan says that nothing is to be bought."""
    made = plan(known=1_500, balance=None)
    assert made.highest_cost == 0
    assert "nothing is to be bought" in str(made)


def test_misfit_is_told_in_words() -> None:
    """A plan over its cap says so, and so does one over the balance."""
    assert "more than the cap" in str(plan(BULK, cap=1))
    assert "more than the balance" in str(plan(BULK, balance=1))


def test_sandbox_is_loud() -> None:
    """A plan for the sandbox says so in its title, as text and in a notebook."""
    made = plan(BULK, sandbox=True)
    assert "sandbox" in str(made).splitlines()[0]
    assert "sandbox" in made._repr_html_()


def test_json_is_plain() -> None:
    """The plan's dict survives JSON unchanged and names amounts by their unit."""
    plain = plan(BULK, UNPRICED).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["highest_cost_micros"] is None
    assert plain["unpriced"] == 50


def test_html_escapes_what_it_shows() -> None:
    """A reason with markup in it is shown as text."""
    assert "<b>" not in plan(invalid={"<b>bad": 1})._repr_html_()


@given(share=st.floats(0, 1), width=st.integers(1, 80))
def test_bars_stay_within_their_width(share: float, width: int) -> None:
    """A bar never is wider than it may be, and something above nothing never looks like it."""
    bar = text_bar(share, width)
    assert len(bar) <= width
    assert bool(bar) == (share > 0)


@given(whole=st.integers(1, 10**9), data=st.data())
def test_per_cent_never_hides_a_rest(whole: int, data: st.DataObject) -> None:
    """Only nothing is 0 %, and only all is 100 %."""
    part = data.draw(st.integers(0, whole))
    told = percent(part, whole)
    assert (told == "0 %") == (part == 0)
    assert (told == "100 %") == (part == whole)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0.0 s"),
        (0.44, "0.4 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7_810, "2 h 10 min"),
    ],
)
def test_durations_read_well(seconds: float, told: str) -> None:
    """Times are told in the two units that matter."""
    assert duration(seconds) == told


def test_grid_aligns_figures_right() -> None:
    """In a grid, columns of figures end at one place and columns of words begin at one."""
    lines = grid(("what", "n"), [("a", "1"), ("bb", "1,000")]).splitlines()
    assert lines == ["what      n", "a         1", "bb    1,000"]
