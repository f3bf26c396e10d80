"""Who lives, who holds a slot, and what becomes of what the dead have held."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from ledger.shop import NOW, Shop, answers, some, task

from carrier_enrich.errors import RunTakenOver
from carrier_enrich.ledger import Ledger, State
from carrier_enrich.ledger.leases import LEASE_SECONDS, MULTI_SLOT, SINGLE_SLOTS
from carrier_enrich.model import CallKind

ALL = list(CallKind)

BEGIN = """
import sys
from carrier_enrich.ledger import Ledger
with Ledger.open(sys.argv[1], service="service", account="account") as ledger:
    print(ledger.leases.begin(1_700_000_000.0))
"""


def test_a_beating_run_is_never_buried(shop: Shop) -> None:
    """A run of a living process stays while its heartbeat is younger than the lease."""
    shop.ledger.leases.beat(shop.run_id, NOW + 100)
    assert shop.ledger.leases.bury(NOW + 100 + LEASE_SECONDS) == 0
    shop.ledger.leases.beat(shop.run_id, NOW + 160)


def test_a_silent_run_is_buried_and_learns_of_it(new_run: Callable[..., Shop]) -> None:
    """Past the lease a run is ended, once, and every further step of it says so."""
    shop, other = new_run(), new_run(now=NOW + 61)
    purchase = shop.intend(some(3))
    assert other.ledger.leases.bury(NOW + LEASE_SECONDS + 1) == 1
    assert other.ledger.leases.bury(NOW + LEASE_SECONDS + 1) == 0
    for step in (
        lambda: shop.ledger.leases.beat(shop.run_id, NOW + 61),
        lambda: shop.claim(some(3)),
        lambda: shop.intend(some(1, 14_155_551_000), claim=False),
        lambda: shop.ledger.leases.take_slot(shop.run_id, SINGLE_SLOTS),
        lambda: shop.ledger.purchases.adopt(shop.run_id, ALL),
    ):
        with pytest.raises(RunTakenOver, match="run it again"):
            step()
    assert [p.id for p in other.ledger.purchases.adopt(other.run_id, ALL)] == [purchase.id]


def test_a_run_whose_process_is_gone_is_buried_at_once(ledger: Ledger, ledger_url: str) -> None:
    """On the same machine nobody waits for the lease of a process that does not exist."""
    begun = subprocess.run(
        [sys.executable, "-c", BEGIN, ledger_url], capture_output=True, text=True, check=True
    )
    assert ledger.leases.bury(NOW) == 1
    with pytest.raises(RunTakenOver):
        ledger.leases.beat(int(begun.stdout), NOW)


def test_another_account_s_runs_are_left_alone(new_run: Callable[..., Shop]) -> None:
    """Burying concerns the runs of one account."""
    new_run(account="other")
    assert new_run(now=NOW + 999).ledger.leases.bury(NOW + 999) == 0


def test_a_heartbeat_from_the_future_counts_from_now(new_run: Callable[..., Shop]) -> None:
    """A clock that was set back can't keep a dead run alive for longer than its lease."""
    ahead = new_run(now=NOW + 86_400)
    other = new_run()
    assert other.ledger.leases.bury(NOW) == 0
    other.ledger.leases.beat(other.run_id, NOW + LEASE_SECONDS + 1)
    assert other.ledger.leases.bury(NOW + LEASE_SECONDS + 1) == 1
    with pytest.raises(RunTakenOver):
        ahead.ledger.leases.beat(ahead.run_id, NOW + 86_410)


def test_the_five_slots_are_held_once_each(new_run: Callable[..., Shop]) -> None:
    """Spec, Limits: 5 requests in flight per user, of which 1 is a multi check."""
    shop, other = new_run(), new_run()
    take = other.ledger.leases.take_slot
    assert shop.ledger.leases.take_slot(shop.run_id, (MULTI_SLOT,)) == MULTI_SLOT
    assert take(other.run_id, (MULTI_SLOT,)) is None
    taken = [take(other.run_id, SINGLE_SLOTS) for _ in range(5)]
    assert taken == [*SINGLE_SLOTS, None]
    other.ledger.leases.free_slot(shop.run_id, SINGLE_SLOTS[1])
    assert take(other.run_id, SINGLE_SLOTS) is None
    other.ledger.leases.free_slot(other.run_id, SINGLE_SLOTS[1])
    assert shop.ledger.leases.take_slot(shop.run_id, SINGLE_SLOTS) == SINGLE_SLOTS[1]


def test_accounts_have_slots_of_their_own(new_run: Callable[..., Shop]) -> None:
    """Two keys never share a limit."""
    shop, other = new_run(), new_run(account="other")
    for run in (shop, other):
        assert run.ledger.leases.take_slot(run.run_id, (MULTI_SLOT,)) == MULTI_SLOT


def test_the_slots_of_the_ended_are_free(new_run: Callable[..., Shop]) -> None:
    """A run's end, and its burial, give its slots back; its release is not needed."""
    shop, other = new_run(), new_run(now=NOW + 61)
    shop.ledger.leases.take_slot(shop.run_id, (MULTI_SLOT,))
    other.ledger.leases.bury(NOW + 61)
    assert other.ledger.leases.take_slot(other.run_id, (MULTI_SLOT,)) == MULTI_SLOT
    other.end()
    third = new_run()
    assert third.ledger.leases.take_slot(third.run_id, (MULTI_SLOT,)) == MULTI_SLOT


def test_claims_are_exclusive_among_the_living(new_run: Callable[..., Shop]) -> None:
    """Of two runs that want the same numbers the first has them, and keeps them."""
    shop, other = new_run(), new_run(account="other")
    assert shop.claim(some(10)).tolist() == some(10).tolist()
    assert other.claim(some(15)).tolist() == some(5, 14_155_550_010).tolist()
    assert shop.claim(some(15)).tolist() == some(10).tolist()
    assert new_run(service="elsewhere").claim(some(3)).tolist() == some(3).tolist()


@pytest.mark.parametrize("way", ["release", "end", "bury"])
def test_claims_of_the_gone_are_free(new_run: Callable[..., Shop], way: str) -> None:
    """A run that releases, ends or dies gives up what it has claimed and not bought."""
    shop, other = new_run(), new_run(now=NOW + 61)
    shop.claim(some(10))
    match way:
        case "release":
            shop.ledger.knowledge.release(shop.run_id)
        case "end":
            shop.end()
        case _:
            other.ledger.leases.bury(NOW + 61)
    assert len(other.claim(some(10))) == 10


def test_claims_behind_open_purchases_are_not_free(new_run: Callable[..., Shop]) -> None:
    """What a dead run has bought and not collected can't be bought again, only collected."""
    shop, other = new_run(), new_run()
    purchase = shop.intend(some(4))
    shop.claim(some(10))
    shop.ledger.knowledge.release(shop.run_id)
    shop.end()
    assert other.claim(some(10)).tolist() == some(6, 14_155_550_004).tolist()
    in_open = other.ledger.knowledge.in_open_purchases
    assert in_open(some(10)).tolist() == some(4).tolist()
    (adopted,) = other.ledger.purchases.adopt(other.run_id, ALL)
    assert len(in_open(some(10))) == 4
    submitted = other.ledger.purchases.submitted(adopted, task(4), NOW)
    other.ledger.purchases.failed(submitted, NOW)
    assert len(in_open(some(10))) == 0
    assert len(other.claim(some(10))) == 10
    assert purchase.run_id != adopted.run_id


def test_a_closed_check_leaves_its_numbers_with_its_run(new_run: Callable[..., Shop]) -> None:
    """After a refusal the same run may buy the same numbers again, and nobody else."""
    shop, other = new_run(), new_run()
    purchase = shop.intend(some(3), CallKind.MULTI_CHECK)
    assert len(shop.claim(some(3))) == 0
    shop.ledger.purchases.refused(purchase, "no", NOW)
    assert len(other.claim(some(3))) == 0
    assert shop.intend(some(3), CallKind.MULTI_CHECK, claim=False).state is State.INTENDED


def test_only_the_purchases_of_the_gone_are_adopted(new_run: Callable[..., Shop]) -> None:
    """Adoption takes open purchases of ended runs, of the kinds that the run may buy."""
    shop, dead, other = new_run(), new_run(), new_run()
    shop.intend(some(3))
    check = dead.intend(some(3, 14_155_551_000), CallKind.MULTI_CHECK)
    bulk = dead.intend(some(3, 14_155_552_000))
    done = dead.intend(some(3, 14_155_553_000))
    dead.ledger.purchases.refused(done, "no", NOW)
    dead.end()
    adopt = other.ledger.purchases.adopt
    assert adopt(other.run_id, []) == []
    assert [p.id for p in adopt(other.run_id, [CallKind.BULK_TASK])] == [bulk.id]
    assert [p.id for p in adopt(other.run_id, ALL)] == [check.id]
    assert adopt(other.run_id, ALL) == []


def test_a_poll_is_allowed_once_per_interval(new_run: Callable[..., Shop]) -> None:
    """Spec, Limits: at least 30 seconds between two polls, counted from the submit, whoever."""
    shop, other = new_run(), new_run()
    purchase = shop.ledger.purchases.submitted(shop.intend(some(3)), task(3), NOW)
    polls = [
        run.ledger.purchases.may_poll(purchase, NOW + at, 30.0)
        for at, run in [(29.9, shop), (30, other), (30, shop), (59, shop), (60, shop), (60, other)]
    ]
    assert polls == [False, True, False, False, True, False]


def test_a_poll_in_the_future_counts_from_now(shop: Shop) -> None:
    """A clock that was set back stops no task for longer than one interval."""
    purchase = shop.ledger.purchases.submitted(shop.intend(some(3)), task(3), NOW + 86_400)
    may_poll = shop.ledger.purchases.may_poll
    assert [may_poll(purchase, NOW + at, 30.0) for at in (0, 29, 30)] == [False, False, True]


def test_experience_is_the_mean_of_what_was_collected(shop: Shop) -> None:
    """Seconds from intention to answer, for each kind that was ever collected."""
    for i, seconds in enumerate((2, 4)):
        shop.now = NOW
        numbers = some(3, 14_155_550_000 + 10 * i)
        purchase = shop.intend(numbers, CallKind.MULTI_CHECK)
        shop.now = NOW + seconds
        shop.collect(purchase, answers(numbers))
    assert shop.ledger.purchases.experience() == {CallKind.MULTI_CHECK: 3.0}
