"""A receipt's lines add up, or it says which do not."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.model import LookupStatus
from carrier_enrich.receipt import Receipt
from carrier_enrich.tables import Row, evened, money


def receipt(**changes: Any) -> Receipt:
    given: dict[str, Any] = {
        "rows": 100,
        "phone_columns": 1,
        "cells": {"found": 90, "missing": 5, "invalid": 5},
        "distinct": 60,
        "known": 20,
        "bought": 40,
        "collected": 0,
        "shared": 0,
        "unanswered": 0,
        "requests": {"multi_check": 1, "balance": 2},
        "refusals": {},
        "estimated": 80_000,
        "charged": 76_000,
        "charged_by_kind": {"multi_check": 76_000},
        "not_charged": 4_000,
        "charge_unknown": 0,
        "charge_unknown_numbers": 0,
        "still_open": 0,
        "unpriced": 0,
        "saved": 100_000,
        "saved_cells": 50,
        "balance_before": 1_000_000,
        "balance_after": 924_000,
        "open_purchases": 0,
        "duration_seconds": 1.5,
        "stopped": None,
        "sandbox": False,
    }
    return Receipt(**{**given, **changes})


def test_a_good_receipt_adds_up() -> None:
    """A receipt whose figures agree has no problems."""
    assert receipt().problems() == ()
    assert receipt().adds_up


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"cells": {"found": 99}}, "one status"),
        ({"known": 21}, "one origin"),
        ({"still_open": 1}, "estimate"),
        ({"charged_by_kind": {"multi_check": 1}}, "sum over the kinds"),
        ({"saved_cells": -1}, "less than nothing"),
    ],
)
def test_what_does_not_add_up_is_named(changes: dict[str, Any], problem: str) -> None:
    """Each broken identity is named, in the receipt's own text too."""
    broken = receipt(**changes)
    assert not broken.adds_up
    assert len(broken.problems()) == 1
    assert problem in broken.problems()[0]
    assert broken.problems()[0] in str(broken)


@given(
    cells=st.dictionaries(st.sampled_from([s.value for s in LookupStatus]), st.integers(0, 10**6)),
    origins=st.tuples(*[st.integers(0, 10**6)] * 5),
    money=st.tuples(*[st.integers(0, 10**9)] * 4),
)
def test_figures_that_agree_always_add_up(
    cells: dict[str, int], origins: tuple[int, ...], money: tuple[int, ...]
) -> None:
    """Whatever the figures are: where the identities hold, nothing is reported."""
    known, bought, collected, shared, unanswered = origins
    charged, not_charged, unknown, still_open = money
    made = receipt(
        rows=sum(cells.values()),
        cells=cells,
        distinct=sum(origins),
        known=known,
        bought=bought,
        collected=collected,
        shared=shared,
        unanswered=unanswered,
        estimated=sum(money),
        charged=charged,
        charged_by_kind={"bulk_task": charged},
        not_charged=not_charged,
        charge_unknown=unknown,
        still_open=still_open,
    )
    assert made.problems() == ()
    assert made.reused == known + collected + shared


def test_match_rate_leaves_empty_cells_out() -> None:
    """The match rate is the share of found among the cells that hold something."""
    assert receipt().match_rate == pytest.approx(90 / 95)
    assert receipt(rows=3, cells={"missing": 3}).match_rate is None


@pytest.mark.parametrize(
    ("changes", "agrees"),
    [
        ({}, True),
        ({"balance_after": 900_000}, False),
        ({"balance_after": None}, None),
        ({"unpriced": 3}, None),
        ({"open_purchases": 1}, None),
        ({"charge_unknown_numbers": 2}, None),
    ],
)
def test_balance_is_compared_where_it_can_be(changes: dict[str, Any], agrees: bool | None) -> None:
    """The balance's fall is held against the charge, except where that can't be told."""
    assert receipt(**changes).balance_agrees is agrees


def test_a_balance_that_disagrees_is_explained() -> None:
    """A fall that is larger or smaller than the charge is told with what it may mean."""
    assert "others spend too" in str(receipt(balance_after=900_000))
    assert "paid for already" in str(receipt(balance_after=990_000))


def test_reuse_is_as_loud_as_purchase() -> None:
    """The headline tells in one breath what was bought and what was not paid for again."""
    assert receipt().headline == (
        "40 numbers bought for $0.076. 50 cells answered without paying again, $0.10 saved."
    )
    free = receipt(bought=0, known=60, estimated=0, charged=0, charged_by_kind={}, not_charged=0)
    assert free.headline.startswith("Nothing was bought. 50 cells")


def test_text_shows_every_figure_that_says_something() -> None:
    """Refusals, open work, lost answers, unknown prices, cap and stop all have their line."""
    text = str(
        receipt(
            refusals={42901: 3, 0: 2},
            open_purchases=2,
            still_open=5_000,
            estimated=85_000 + 7_000,
            charge_unknown=7_000,
            charge_unknown_numbers=4,
            unpriced=6,
            cap=2_000_000,
            stopped="the balance is used up",
        )
    )
    for told in (
        "answered with 42901",
        "without an answer",
        "carrier-enrich settle",
        "$0.005",
        "$0.007: 4 numbers",
        "6 numbers",
        "$2.00",
        "the balance is used up",
    ):
        assert told in text


def test_dict_is_plain_and_named_by_unit() -> None:
    """The dict survives JSON unchanged; every amount of money ends in _micros."""
    plain = receipt(refusals={42901: 3}, cap=5).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["charged_micros"] == 76_000
    assert plain["cap_micros"] == 5
    assert plain["refusals"] == {"42901": 3}
    assert plain["adds_up"] is True


def test_dict_brings_the_receipt_back() -> None:
    """A receipt can be made again from its dict, also after JSON."""
    made = receipt(refusals={42901: 3}, cap=5)
    assert Receipt.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_sandbox_is_loud() -> None:
    """A receipt from the sandbox says so in its title, as text and in a notebook."""
    made = replace(receipt(), sandbox=True)
    assert "sandbox" in str(made).splitlines()[0]
    assert "sandbox" in made._repr_html_()
    assert "sandbox" not in str(receipt())


@given(st.lists(st.integers(-(10**12), 10**12) | st.none(), max_size=6))
def test_amounts_of_a_group_have_equal_decimals(amounts: list[int | None]) -> None:
    """Amounts that stand under each other show the same decimals, and none is changed by it."""
    rows = evened([Row("amount", money(micros)) for micros in amounts])
    shown = [row.value for row in rows if row.value and row.value != "not known"]
    assert len({len(value.partition(".")[2]) for value in shown}) <= 1
    read = [Decimal(value.replace("$", "").replace(",", "")) * 10**6 for value in shown]
    assert read == [micros for micros in amounts if micros is not None]


def test_an_indented_label_stays_indented_in_html() -> None:
    """What belongs to the line above stands under it, also where HTML swallows spaces."""
    made = receipt(charged=3, charged_by_kind={"multi_check": 1, "bulk_task": 2})
    assert "&nbsp;by bulk task" in made._repr_html_()
    assert "\n    by bulk task" in str(made)
