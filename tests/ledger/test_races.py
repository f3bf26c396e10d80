"""Many processes and threads on one ledger: money, claims, slots and polls stay exact."""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from ledger.race import race
from ledger.shop import NOW, PLENTY, Shop, answers, some, task

from carrier_enrich.errors import OutOfBalance, OverBudget
from carrier_enrich.ledger import Balance, Budget, Ledger
from carrier_enrich.ledger.leases import MULTI_SLOT
from carrier_enrich.model import CallKind

CHECK = CallKind.MULTI_CHECK


@contextmanager
def shop_on(url: str, account: str = "account", service: str = "service") -> Iterator[Shop]:
    with Ledger.open(url, service=service, account=account) as ledger:
        yield Shop(ledger, ledger.leases.begin(NOW))


def spend_once(url: str, index: int, budget: Budget, balance: Balance, account: str) -> int:
    """Try to buy with all that is left; 1 where it was possible."""
    with shop_on(url, account) as shop:
        numbers = some(10, 14_155_550_000 + 1_000 * index)
        try:
            shop.intend(numbers, CHECK, budget=budget, balance=balance)
        except (OutOfBalance, OverBudget):
            return 0
        return 1


@pytest.mark.parametrize("limit", ["cap", "balance", "cap over accounts"])
def test_exactly_one_gets_the_last_money(ledger_url: str, limit: str) -> None:
    """Of eight processes that want all that is left at once, one is let through."""
    budget = Budget("shared", 10_000) if "cap" in limit else Budget("free")
    balance = PLENTY if "cap" in limit else Balance(10_000, NOW)

    def work(index: int) -> int:
        account = f"account-{index}" if "accounts" in limit else "account"
        return spend_once(ledger_url, index, budget, balance, account)

    assert sorted(race(work)) == [0] * 7 + [1]


def test_threads_share_the_last_money_too(ledger_url: str) -> None:
    """The same for threads of one process, each with a ledger of its own."""

    def work(index: int) -> int:
        return spend_once(ledger_url, index, Budget("b", 10_000), PLENTY, "account")

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(4))) == [0, 0, 0, 1]


def test_many_may_open_a_new_ledger_at_once(ledger_url: str) -> None:
    """Eight first runs make one schema, one service, one account, and meet no lock."""

    def work(_: int) -> tuple[int, int]:
        with Ledger.open(ledger_url, service="s", account="a") as ledger:
            return ledger.knowledge.service_id, ledger.purchases.account_id

    assert len(set(race(work))) == 1


def test_each_number_is_bought_once_over_accounts(ledger_url: str) -> None:
    """Eight runs of two accounts want overlapping sets again and again: no number goes twice,
    none is left over, nothing is locked and nobody deadlocks.
    """
    everything = some(4_000)

    def work(index: int) -> list[int]:
        chance = random.Random(index)
        bought: list[int] = []
        with shop_on(ledger_url, f"account-{index % 2}") as shop:
            while len(known := shop.recall(everything).numbers) < len(everything):
                missing = np.setdiff1d(everything, known)
                first = chance.randrange(len(missing))
                mine = shop.claim(missing[first : first + 900])
                mine = np.setdiff1d(mine, shop.recall(mine).numbers)
                for start in range(0, len(mine), 300):
                    part = mine[start : start + 300]
                    purchase = shop.intend(part, CHECK, claim=False)
                    if chance.random() < 0.2:
                        shop.ledger.purchases.refused(purchase, "busy", NOW)
                        continue
                    shop.collect(purchase, answers(part), 0)
                    bought += part.tolist()
                shop.ledger.knowledge.release(shop.run_id)
            shop.end()
        return bought

    counted = Counter(number for bought in race(work) for number in bought)
    assert sorted(counted) == everything.tolist()
    assert set(counted.values()) == {1}


def test_a_task_is_polled_by_one_at_a_time(ledger_url: str) -> None:
    """Of eight processes that ask to poll one task, one may, in each interval."""
    with shop_on(ledger_url) as shop:
        purchase = shop.ledger.purchases.submitted(shop.intend(some(3)), task(3), NOW)
    together = multiprocessing.get_context("fork").Barrier(8)

    def work(_: int) -> list[bool]:
        polls = []
        with Ledger.open(ledger_url, service="service", account="account") as ledger:
            for i in range(1, 11):
                together.wait(60)
                polls.append(ledger.purchases.may_poll(purchase, NOW + 30.0 * i, 30.0))
        return polls

    assert np.array(race(work)).sum(axis=0).tolist() == [1] * 10


def test_a_slot_has_one_holder(ledger_url: str) -> None:
    """The account's one multi check is never held by two, and always by the next in the end."""
    held = multiprocessing.get_context("fork").Lock()

    def work(_: int) -> int:
        turns = 0
        with shop_on(ledger_url) as shop:
            leases = shop.ledger.leases
            while turns < 5:
                if leases.take_slot(shop.run_id, (MULTI_SLOT,)) is None:
                    continue
                assert held.acquire(block=False), "two hold the slot"
                held.release()
                turns += 1
                leases.free_slot(shop.run_id, MULTI_SLOT)
        return turns

    assert race(work, 4) == [5] * 4


def test_the_dead_are_buried_and_adopted_once(ledger_url: str) -> None:
    """Eight heirs find twenty open purchases of a dead run: each is adopted by one of them."""
    with shop_on(ledger_url) as dead:
        left = [dead.intend(some(3, 14_155_550_000 + 10 * i)).id for i in range(20)]
    together = multiprocessing.get_context("fork").Barrier(8)

    def work(_: int) -> tuple[int, list[int]]:
        late = NOW + 3_600
        with Ledger.open(ledger_url, service="service", account="account") as ledger:
            run = ledger.leases.begin(late)
            buried = ledger.leases.bury(late)
            adopted = ledger.purchases.adopt(run, list(CallKind))
            # An heir that is gone would leave its own to the next.
            together.wait(60)
            return buried, [purchase.id for purchase in adopted]

    heirs = race(work)
    assert sum(buried for buried, _ in heirs) == 1
    assert sorted(i for _, adopted in heirs for i in adopted) == left


def test_readers_see_all_of_an_answer_or_nothing(ledger_url: str) -> None:
    """While purchases are collected, a reader finds each of them whole or not at all."""
    size, rounds = 2_000, 10

    def work(index: int) -> set[int]:
        with shop_on(ledger_url) as shop:
            if index == 0:
                for i in range(rounds):
                    shop.know(answers(some(size, 14_155_550_000 + size * i)))
                return set()
            seen: set[int] = set()
            while len(found := shop.recall(some(size * rounds))) < size * rounds:
                seen.add(len(found) % size)
            return seen

    assert set().union(*race(work, 4)) <= {0}


def test_eight_writers_never_meet_a_lock(ledger_url: str) -> None:
    """Heartbeats, balances, claims, purchases and answers of eight processes all go through."""

    def work(index: int) -> int:
        with shop_on(ledger_url, f"account-{index % 3}") as shop:
            for i in range(15):
                numbers = some(50, 14_155_550_000 + 100_000 * index + 100 * i)
                shop.ledger.leases.beat(shop.run_id, NOW + i)
                shop.ledger.purchases.balance_read(PLENTY, shop.run_id)
                shop.know(answers(numbers))
            shop.ledger.leases.bury(NOW + 20)
            known = len(shop.recall(some(100_000, 14_155_550_000 + 100_000 * index)))
            shop.end()
        return known

    assert race(work) == [750] * 8
