"""Every move of a purchase, legal and not, on each database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ledger.shop import Shop, answers, some, task

from carrier_enrich.errors import LedgerError, RunTakenOver
from carrier_enrich.ledger import Purchase, State
from carrier_enrich.ledger.states import MOVES, OPEN, check_move, origins
from carrier_enrich.model import CallKind, LookupStatus, TaskStatus

WAYS = {
    State.INTENDED: (),
    State.SUBMITTED: (State.SUBMITTED,),
    State.FINISHED: (State.SUBMITTED, State.FINISHED),
    State.COLLECTED: (State.SUBMITTED, State.FINISHED, State.COLLECTED),
    State.REFUSED: (State.REFUSED,),
    State.FAILED: (State.SUBMITTED, State.FAILED),
    State.CHARGE_UNKNOWN: (State.CHARGE_UNKNOWN,),
}
TARGETS = [state for state in State if state is not State.INTENDED]


def move(shop: Shop, purchase: Purchase, target: State) -> Purchase:
    purchases = shop.ledger.purchases
    match target:
        case State.SUBMITTED:
            return purchases.submitted(purchase, task(3, TaskStatus.PROCESSING), shop.now)
        case State.FINISHED:
            return purchases.finished(purchase, task(3))
        case State.COLLECTED:
            return shop.collect(purchase, answers(some(3)), 3_000)
        case State.REFUSED:
            return purchases.refused(purchase, "no", shop.now)
        case State.FAILED:
            return purchases.failed(purchase, shop.now)
        case State.CHARGE_UNKNOWN:
            return purchases.charge_unknown(purchase, "lost", shop.now)
        case _:
            raise ValueError(target)


def brought_to(shop: Shop, state: State) -> Purchase:
    purchase = shop.intend(some(3))
    for step in WAYS[state]:
        purchase = move(shop, purchase, step)
    assert purchase.state is state
    return purchase


@pytest.mark.parametrize("origin", State)
def test_every_move_is_made_or_refused_as_the_table_says(shop: Shop, origin: State) -> None:
    """From each state exactly the moves of the table are made; any other changes nothing."""
    for target in TARGETS:
        purchase = brought_to(shop, origin)
        late = target is State.COLLECTED and origin in (State.COLLECTED, State.CHARGE_UNKNOWN)
        if target in MOVES[origin]:
            assert move(shop, purchase, target).state is target
        elif late:
            assert move(shop, purchase, target) == purchase
        else:
            with pytest.raises(LedgerError, match=f"can't go from {origin} to {target}"):
                move(shop, purchase, target)
            assert shop.ledger.purchases.get(purchase.id) == purchase
        still = shop.ledger.purchases.get(purchase.id)
        if still.state in OPEN:
            shop.end()
            shop.ledger.purchases.give_up(still.id, shop.now)
            shop.run_id = shop.ledger.leases.begin(shop.now)


def test_the_table_agrees_with_itself() -> None:
    """The open states are those with a way out, and `origins` is the table read backwards."""
    assert set(OPEN) == {State.INTENDED, State.SUBMITTED, State.FINISHED}
    for origin in State:
        for target in State:
            legal = target in MOVES[origin]
            assert legal == (origin in origins(target))
            if legal:
                check_move(origin, target)
            else:
                with pytest.raises(LedgerError):
                    check_move(origin, target)


def test_a_refused_collect_records_no_answer(shop: Shop) -> None:
    """Answers and the move are one transaction: where the move is illegal nothing is written."""
    purchase = brought_to(shop, State.REFUSED)
    with pytest.raises(LedgerError):
        shop.collect(purchase, answers(some(3)))
    assert len(shop.recall(some(3))) == 0


def test_what_a_move_records_comes_back(shop: Shop) -> None:
    """Task id, counts, charge, note and moments are kept exactly."""
    purchase = shop.intend(some(3))
    shop.now += 5
    submitted = move(shop, purchase, State.SUBMITTED)
    assert (submitted.task_id, submitted.polled_at) == ("t-1", shop.now)
    finished = move(shop, submitted, State.FINISHED)
    assert (finished.success_count, finished.excluded_count) == (3, 0)
    collected = shop.ledger.purchases.collected(
        finished, answers(some(3)), charged=2_000, now=shop.now, note="ünïcode \0 \ud800"
    )
    assert collected == shop.ledger.purchases.get(purchase.id)
    assert (collected.charged, collected.note) == (2_000, "ünïcode \ufffd ?")


def test_bytes_are_kept_until_the_end(shop: Shop) -> None:
    """An open purchase gives back its exact bytes; a closed one has none."""
    purchase = shop.intend(some(3))
    body = b"+14155550000\n+14155550001\n+14155550002"
    assert shop.ledger.purchases.body(purchase) == body
    move(shop, purchase, State.REFUSED)
    with pytest.raises(LedgerError, match="its bytes are gone"):
        shop.ledger.purchases.body(purchase)


def test_a_late_answer_is_knowledge(shop: Shop) -> None:
    """An answer to a purchase that was closed as lost is recorded, and the purchase stays lost."""
    purchase = shop.intend(some(3), CallKind.MULTI_CHECK)
    lost = move(shop, purchase, State.CHARGE_UNKNOWN)
    assert shop.collect(purchase, answers(some(3))) == lost
    assert len(shop.recall(some(3))) == 3


def test_only_the_owner_moves_a_purchase(new_run: Callable[..., Shop]) -> None:
    """After another run has adopted it, the first can record answers, and do nothing else."""
    first, second = new_run(), new_run()
    purchase = first.intend(some(3))
    first.end()
    (adopted,) = second.ledger.purchases.adopt(second.run_id, [CallKind.BULK_TASK])
    assert (adopted.id, adopted.run_id) == (purchase.id, second.run_id)
    for target in (State.SUBMITTED, State.REFUSED, State.CHARGE_UNKNOWN):
        with pytest.raises(RunTakenOver):
            move(first, purchase, target)
    assert first.collect(purchase, answers(some(3))) == adopted
    assert len(second.recall(some(3))) == 3
    assert move(second, adopted, State.SUBMITTED).state is State.SUBMITTED


@pytest.mark.parametrize("origin", [State.SUBMITTED, State.FINISHED])
def test_giving_up_a_task_collects_it_at_its_highest_cost(shop: Shop, origin: State) -> None:
    """A task that is paid for is closed with charge_unknown for every number, and never again."""
    purchase = brought_to(shop, origin)
    shop.end()
    given_up = shop.ledger.purchases.give_up(purchase.id, shop.now)
    assert (given_up.state, given_up.charged) == (State.COLLECTED, purchase.highest_cost)
    known = shop.recall(some(3))
    np.testing.assert_array_equal(known.numbers, some(3))
    assert [lookup.status for lookup in known.lookups] == [LookupStatus.CHARGE_UNKNOWN]
    assert shop.ledger.purchases.open() == []


def test_giving_up_a_submit_frees_its_numbers(new_run: Callable[..., Shop]) -> None:
    """A submit of unknown outcome is closed as charge_unknown; its numbers may be bought again."""
    shop = new_run()
    purchase = shop.intend(some(3))
    shop.end()
    given_up = shop.ledger.purchases.give_up(purchase.id, shop.now)
    assert (given_up.state, given_up.charged) == (State.CHARGE_UNKNOWN, None)
    assert len(shop.recall(some(3))) == 0
    again = new_run()
    assert again.intend(some(3)).generation == purchase.generation + 1


def test_nothing_is_given_up_that_is_not_open(new_run: Callable[..., Shop]) -> None:
    """Unknown, closed, another account's, or in a living run's hands: refused with the reason."""
    shop, other = new_run(), new_run(account="other")
    purchase = shop.intend(some(3))
    give_up = shop.ledger.purchases.give_up
    with pytest.raises(LedgerError, match="a run is at work on purchase"):
        give_up(purchase.id, shop.now)
    with pytest.raises(LedgerError, match="has no purchase"):
        other.ledger.purchases.give_up(purchase.id, shop.now)
    with pytest.raises(LedgerError, match="has no purchase 999"):
        give_up(999, shop.now)
    closed = move(shop, purchase, State.REFUSED)
    with pytest.raises(LedgerError, match="is refused: nothing to give up"):
        give_up(closed.id, shop.now)


def test_open_purchases_are_the_account_s_own(new_run: Callable[..., Shop]) -> None:
    """`open` lists what is not at its end, oldest first, of this account alone."""
    shop, other = new_run(), new_run(account="other")
    kept: list[Any] = [shop.intend(some(3, 14_155_550_000 + 10 * i)).id for i in range(3)]
    theirs = other.intend(some(3, 14_155_560_000))
    move(shop, shop.ledger.purchases.get(kept.pop(1)), State.REFUSED)
    assert [purchase.id for purchase in shop.ledger.purchases.open()] == kept
    assert [purchase.id for purchase in other.ledger.purchases.open()] == [theirs.id]
