"""Never overspend: the cap, the balance, unknown prices, and others who spend too."""

from __future__ import annotations

import threading

import pandas as pd
import pytest

from carrier_enrich import Enricher, errors
from carrier_enrich.engine.courier import ThreadCourier


def frame_of(phones: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"phone": phones})


def statuses(out: pd.DataFrame) -> dict[str, int]:
    return out["lookup_status"].value_counts().to_dict()


def test_over_the_cap_nothing_is_sent(make, sandbox, numbers):
    """A plan that may pass the cap raises before the first request that costs."""
    enricher = make()
    with pytest.raises(errors.OverBudget, match=r"\$0\.60.*\$0\.50"):
        enricher.enrich(frame_of(numbers(300)), "phone", max_cost_usd="0.5")
    report = sandbox.control.report(summary=True)
    assert report["charged_micros"] == report["reserved_micros"] == 0
    assert set(report["requests"]) == {"balance"}


def test_over_the_balance_nothing_is_sent(make, sandbox, numbers):
    """A plan that may pass the balance raises before the first request that costs."""
    sandbox.control.set_balance(500_000)
    with pytest.raises(errors.OutOfBalance, match=r"\$0\.60.*\$0\.50"):
        make().enrich(frame_of(numbers(300)), "phone")
    assert set(sandbox.control.report(summary=True)["requests"]) == {"balance"}


@pytest.mark.parametrize("limit", ["cap", "balance"])
def test_a_part_is_bought_to_the_last_number_that_fits(make, sandbox, numbers, limit):
    """With on_limit="partial" as many numbers as fit are bought, the rest is not_checked."""
    if limit == "balance":
        sandbox.control.set_balance(501_999)
    enricher = make()
    cap = "0.501999" if limit == "cap" else None
    out = enricher.enrich(frame_of(numbers(300)), "phone", max_cost_usd=cap, on_limit="partial")
    assert statuses(out) == {"found": 250, "not_checked": 50}
    receipt = enricher.receipt
    assert receipt.adds_up, receipt.problems()
    assert receipt.charged == 500_000
    assert receipt.unanswered == 50
    assert receipt.stopped

    sandbox.control.set_balance(10_000_000)
    rest = make()
    assert statuses(rest.enrich(frame_of(numbers(300)), "phone")) == {"found": 300}
    assert rest.receipt.bought == 50


def test_what_is_not_charged_makes_room_under_the_cap(make, sandbox, numbers):
    """Undetermined numbers cost nothing, so the cap buys on until it is really used."""
    sandbox.control.configure(undetermined_share=0.5)
    enricher = make()
    out = enricher.enrich(frame_of(numbers(300)), "phone", max_cost_usd="0.4", on_limit="partial")
    assert statuses(out).get("not_checked", 0) == 0
    assert enricher.receipt.charged <= 400_000


@pytest.mark.parametrize("partial", ["raise", "partial"])
def test_an_unknown_price_fails_closed_under_a_cap(make, sandbox, numbers, partial):
    """Under a cap a price that is not known stops the run before anything is sent."""
    enricher = make(price_multi_usd=None, price_single_usd=None)
    frame = frame_of(numbers(30))
    if partial == "raise":
        with pytest.raises(errors.PriceUnknown, match="PRICE_MULTI_USD"):
            enricher.enrich(frame, "phone", max_cost_usd="5")
    else:
        out = enricher.enrich(frame, "phone", max_cost_usd="5", on_limit="partial")
        assert statuses(out) == {"not_checked": 30}
    assert sandbox.control.report(summary=True)["charged_micros"] == 0


def test_an_unknown_price_without_a_cap_is_named(make, numbers):
    """Without a cap the run goes on, and plan and receipt say that the price is not known."""
    enricher = make(price_multi_usd=None, price_single_usd=None)
    frame = frame_of(numbers(30))
    plan = enricher.plan(frame, "phone")
    assert plan.highest_cost is None
    assert "not known" in str(plan)
    assert statuses(enricher.enrich(frame, "phone")) == {"found": 30}
    assert enricher.receipt.unpriced == 30
    assert enricher.receipt.charged == 0
    assert enricher.receipt.balance_agrees is None


def test_a_refusal_for_balance_narrows_to_what_fits(make, sandbox, numbers):
    """40200 at unknown prices: in part mode smaller checks go on while they fit."""
    sandbox.control.set_balance(61_000)
    enricher = make(price_multi_usd=None, price_single_usd=None)
    out = enricher.enrich(frame_of(numbers(100)), "phone", on_limit="partial")
    assert statuses(out)["found"] >= 25
    assert statuses(out)["not_checked"] == 100 - statuses(out)["found"]
    assert sandbox.control.report(summary=True)["refusals"]["40200"] <= 8
    assert enricher.receipt.stopped


def test_a_balance_that_falls_is_noticed_before_the_next_call(make, sandbox, numbers):
    """Somebody else spends in the middle: no refusal is met, what came is kept, the rest told."""
    enricher = make()
    seen: list[int] = []

    def others_spend(progress) -> None:
        seen.append(progress.answered)
        if progress.answered >= 200:
            sandbox.control.set_balance(100_000)

    with pytest.raises(errors.OutOfBalance):
        enricher.enrich(frame_of(numbers(600)), "phone", progress=others_spend)
    report = sandbox.control.report(summary=True)
    assert report["refusals"].get("40200", 0) == 0
    bought = report["charged"]["numbers"]
    assert 200 <= bought <= 300

    sandbox.control.set_balance(10_000_000)
    again = make()
    assert statuses(again.enrich(frame_of(numbers(600)), "phone")) == {"found": 600}
    assert again.receipt.known == bought


def test_money_that_others_spend_is_flagged(make, sandbox, numbers):
    """Where the balance moves by more than was charged, the receipt says that others spend."""
    enricher = make()

    def others_spend(progress) -> None:
        if progress.answered == 100:
            sandbox.control.set_balance(50_000_000)

    enricher.enrich(frame_of(numbers(200)), "phone", progress=others_spend)
    assert enricher.receipt.balance_agrees is False
    assert enricher.receipt.charged == 400_000
    assert "others spend too" in str(enricher.receipt)


def test_runs_at_once_never_pass_the_balance_together(make, sandbox, numbers):
    """Four threads with a balance for two: the service never has to refuse, each says its end."""
    sandbox.control.set_balance(1_000_000 + 900_000)
    sandbox.control.configure(task_seconds=0.2)
    base = make().settings
    ends: list[str] = []

    def run(country: str) -> None:
        settings = type(base).of(
            {}, base_url=base.base_url, api_key=base.api_key, ledger=base.ledger, poll_seconds=0.1
        )
        with Enricher(settings, courier=ThreadCourier) as enricher:
            try:
                enricher.enrich(frame_of(numbers(1_000, country)), "phone")
                ends.append("bought")
            except errors.OutOfBalance:
                ends.append("out of balance")

    threads = [threading.Thread(target=run, args=(c,)) for c in ("US", "GB", "DE", "FR")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends.count("bought") == 1
    assert len(ends) == 4
    report = sandbox.control.report(summary=True)
    assert report["balance_micros"] == 900_000
    assert report["refusals"].get("40200", 0) == 0


def test_an_intention_too_old_to_repeat_stops_with_a_command(make, sandbox, clock, numbers):
    """A submit of unknown outcome, a day old, is not sent again: the line names the way out."""
    sandbox.control.fault("bulk-submit", "reset_after", times=None)
    frame = frame_of(numbers(1_000))
    with pytest.raises(errors.AnswerLost):
        make(deadline_seconds=120).enrich(frame, "phone")
    sandbox.control.clear_faults()
    clock.advance(90_000)
    requests = sandbox.control.report(summary=True)["requests"]
    with pytest.raises(errors.IntentionTooOld, match=r"settle --give-up \d+"):
        make().enrich(frame, "phone")
    assert sandbox.control.report(summary=True)["requests"] == requests
