"""The gate: cap, balance, and what is in flight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger.shop import NOW, Shop, answers, some, task

from carrier_enrich.errors import LedgerError, OutOfBalance, OverBudget, PriceUnknown
from carrier_enrich.ledger import Balance, Budget
from carrier_enrich.model import CallKind

CHECK = CallKind.MULTI_CHECK


def block(i: int) -> int:
    return 14_155_550_000 + 1_000 * i


def test_the_balance_is_spent_to_the_last_micro_and_no_further(shop: Shop) -> None:
    """A call whose highest cost is exactly what is left goes out; one micro more does not."""
    with pytest.raises(OutOfBalance, match=r"balance is \$0.009999"):
        shop.intend(some(10), balance=Balance(9_999, NOW))
    assert shop.intend(some(10), balance=Balance(10_000, NOW)).highest_cost == 10_000


def test_the_cap_is_spent_to_the_last_micro_and_no_further(shop: Shop) -> None:
    """The same for the cap."""
    with pytest.raises(OverBudget, match=r"the cap of \$0.009999"):
        shop.intend(some(10), budget=Budget("small", 9_999))
    shop.intend(some(10), budget=Budget("exact", 10_000))
    with pytest.raises(OverBudget, match=r"\$0.01 of the cap of \$0.01 is spent"):
        shop.intend(some(10, block(1)), budget=Budget("exact", 10_000))


def test_a_refusal_writes_nothing(shop: Shop) -> None:
    """A call that the gate refuses leaves no purchase, no bytes, and its numbers claimable."""
    with pytest.raises(OutOfBalance):
        shop.intend(some(10), balance=Balance(1, NOW))
    assert shop.ledger.purchases.open() == []
    assert len(shop.claim(some(10))) == 10


def test_what_is_in_flight_counts_against_the_balance(shop: Shop) -> None:
    """A balance that was read before a call ended does not show its cost, so it is counted."""
    balance = Balance(15_000, NOW)
    purchase = shop.intend(some(10), CHECK, balance=balance)
    with pytest.raises(OutOfBalance, match=r"of which \$0.01 may go to calls under way"):
        shop.intend(some(10, block(1)), CHECK, balance=balance)
    shop.now = NOW + 1
    shop.collect(purchase, answers(some(10)), 10_000)
    # Read before the answer: may not show the cost yet.
    with pytest.raises(OutOfBalance):
        shop.intend(some(10, block(1)), CHECK, balance=Balance(15_000, NOW + 1))
    # Read after it: shows it.
    shop.intend(some(10, block(1)), CHECK, balance=Balance(15_000, NOW + 2))


def test_a_submitted_task_shows_in_later_balances(shop: Shop) -> None:
    """The service reserves a task's cost at the submit: a later balance must not count it twice."""
    purchase = shop.intend(some(10), balance=Balance(10_000, NOW))
    with pytest.raises(OutOfBalance):
        shop.intend(some(10, block(1)), balance=Balance(10_000, NOW + 9))
    shop.ledger.purchases.submitted(purchase, task(10), NOW + 10)
    shop.intend(some(10, block(1)), balance=Balance(10_000, NOW + 11))


@pytest.mark.parametrize("way", ["refused", "failed"])
def test_what_came_back_is_free_again(shop: Shop, way: str) -> None:
    """A refused call and a failed task cost nothing, under the cap and the balance."""
    budget = Budget("b", 10_000)
    purchase = shop.intend(some(10), budget=budget, balance=Balance(10_000, NOW))
    if way == "refused":
        shop.ledger.purchases.refused(purchase, "no", NOW)
    else:
        submitted = shop.ledger.purchases.submitted(purchase, task(10), NOW)
        shop.ledger.purchases.failed(submitted, NOW)
    assert shop.ledger.purchases.spent("b") == 0
    shop.intend(some(10, block(1)), budget=budget, balance=Balance(10_000, NOW))


def test_a_lost_charge_stays_spent(shop: Shop) -> None:
    """What may have been charged counts at its highest cost against the cap."""
    budget = Budget("b", 10_000)
    purchase = shop.intend(some(10), CHECK, budget=budget)
    shop.ledger.purchases.charge_unknown(purchase, "lost", NOW)
    with pytest.raises(OverBudget):
        shop.intend(some(1), CHECK, budget=budget, claim=False)


def test_what_was_not_charged_is_free_under_the_cap(shop: Shop) -> None:
    """A collected call counts with what it was charged, not with what it might have been."""
    budget = Budget("b", 10_000)
    shop.collect(shop.intend(some(10), CHECK, budget=budget), answers(some(10)), 4_000)
    assert shop.ledger.purchases.spent("b") == 4_000
    assert shop.ledger.purchases.room(budget, Balance(10**9, NOW + 1)) == 6_000
    assert shop.ledger.purchases.room(budget, Balance(5_000, NOW + 1)) == 5_000
    assert shop.ledger.purchases.room(budget, Balance(5_000, NOW)) == 0


def test_runs_and_accounts_share_a_budget_by_its_name(new_run: Callable[..., Shop]) -> None:
    """One cap holds over all runs that spend under its name, of whatever account or service."""
    budget = Budget("quarter", 10_000)
    new_run().intend(some(6), budget=budget)
    second = new_run(account="second")
    second.intend(some(3, block(1)), budget=budget)
    third = new_run(service="elsewhere", account="third")
    with pytest.raises(OverBudget):
        third.intend(some(2), budget=budget)
    third.intend(some(1), budget=budget)
    assert third.ledger.purchases.spent("quarter") == 10_000


def test_an_unknown_price_fails_closed_under_a_cap_only(shop: Shop) -> None:
    """With a cap an unknown price is refused; without one any balance above zero lets it go."""
    with pytest.raises(PriceUnknown, match="the price of a bulk_task is not known"):
        shop.intend(some(10), cost=None, budget=Budget("b", 10**9))
    with pytest.raises(OutOfBalance):
        shop.intend(some(10), cost=None, balance=Balance(0, NOW))
    assert shop.intend(some(10), cost=None, budget=Budget("b")).highest_cost is None
    with pytest.raises(PriceUnknown, match="of unknown price were bought under this budget"):
        shop.intend(some(10, block(1)), budget=Budget("b", 10**9))


def test_a_call_buys_only_what_its_run_has_claimed(new_run: Callable[..., Shop]) -> None:
    """Numbers that are unclaimed, another's, or in a purchase already can't be bought."""
    shop, other = new_run(), new_run()
    with pytest.raises(LedgerError, match="10 numbers of a call are not claimed"):
        shop.intend(some(10), claim=False)
    other.claim(some(4))
    with pytest.raises(LedgerError, match="4 numbers of a call"):
        shop.intend(some(10))
    mine = some(6, 14_155_550_004)
    shop.intend(mine, claim=False)
    with pytest.raises(LedgerError, match="6 numbers of a call"):
        shop.intend(mine, claim=False)
    with pytest.raises(LedgerError, match="without numbers"):
        shop.intend(some(0), claim=False)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 9),
            st.sampled_from(["open", "refused", "lost", "collected"]),
            st.integers(0, 9),
        ),
        max_size=12,
    ),
    st.integers(0, 40_000),
    st.integers(0, 40_000),
)
def test_spending_never_passes_the_cap_or_the_balance(
    shop: Shop, calls: list[tuple[int, str, int]], cap: int, micros: int
) -> None:
    """Whatever is bought and however it ends, costs stay within both limits at every moment."""
    shop.run_id = shop.ledger.leases.begin(shop.now)
    budget = Budget(f"run-{shop.run_id}", cap)
    balance = Balance(micros, shop.now)
    spent = exposed = 0
    for i, (count, end, charged_for) in enumerate(calls):
        numbers = some(count, block(100 * shop.run_id + i))
        fits = spent + count * 1_000 <= cap and exposed + count * 1_000 <= micros and micros > 0
        if not fits:
            with pytest.raises((OverBudget, OutOfBalance)):
                shop.intend(numbers, CHECK, budget=budget, balance=balance)
            continue
        purchase = shop.intend(numbers, CHECK, budget=budget, balance=balance)
        cost = count * 1_000
        if end == "refused":
            shop.ledger.purchases.refused(purchase, "no", shop.now)
            continue
        exposed += cost
        if end == "lost":
            shop.ledger.purchases.charge_unknown(purchase, "lost", shop.now)
        if end == "collected":
            cost = min(count, charged_for) * 1_000
            shop.collect(purchase, answers(numbers), cost)
        spent += cost
        assert shop.ledger.purchases.spent(budget.name) == spent <= cap
    for purchase in shop.ledger.purchases.open():
        shop.ledger.purchases.refused(purchase, "end of the example", shop.now)
    shop.end()
    shop.now += 10


@pytest.mark.parametrize("end", ["collected", "failed", "charge_unknown", "refused"])
def test_a_key_is_used_once_for_each_purchase_that_ended(
    new_run: Callable[..., Shop], end: str
) -> None:
    """The generation rises after an end that used the key, and not after a refusal."""
    shop = new_run()
    first = shop.intend(some(10))
    assert (first.generation, len(first.idempotency_key) <= 128) == (1, True)
    match end:
        case "refused":
            shop.ledger.purchases.refused(first, "no", NOW)
        case "charge_unknown":
            shop.ledger.purchases.charge_unknown(first, "lost", NOW)
        case _:
            submitted = shop.ledger.purchases.submitted(first, task(10), NOW)
            if end == "failed":
                shop.ledger.purchases.failed(submitted, NOW)
            else:
                finished = shop.ledger.purchases.finished(submitted, task(10))
                shop.collect(finished, answers(some(10)))
    second = shop.intend(some(10))
    rises = end != "refused"
    assert second.generation == (2 if rises else 1)
    assert (second.idempotency_key != first.idempotency_key) == rises


def test_another_ledger_finds_the_same_key(new_run: Callable[..., Shop]) -> None:
    """The key rests on service, product, country and bytes: not on ledger, account or time."""
    shop, later = new_run(account="a"), new_run(account="b", now=NOW + 9)
    mine = shop.intend(some(10))
    assert mine.idempotency_key == (
        "carrier-enrich-cf46ed90749528bc04e96184322d180fb235f9e427656e698c6caf1866c68746-1"
    )
    shop.ledger.purchases.refused(mine, "no", NOW)
    shop.end()
    assert later.intend(some(10)).idempotency_key == mine.idempotency_key
    elsewhere = new_run(service="other", account="c").intend(some(10))
    assert elsewhere.idempotency_key != mine.idempotency_key
