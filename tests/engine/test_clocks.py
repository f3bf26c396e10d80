"""Machines whose clocks differ share a PostgreSQL ledger: all of them go by its time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from ledger.shop import Shop, some, task
from support.model_service import PRICE, ModelCourier, ModelService
from support.timing import START, Clock

from carrier_enrich import Settings
from carrier_enrich.engine import TASKS, Engine
from carrier_enrich.ledger import Balance, Ledger
from carrier_enrich.ledger.clock import AGREED_SECONDS, SharedClock
from carrier_enrich.model import Countries

#: Ten minutes, far more than a lease or a polling interval; and as a test may take its time
#: between two readings of the server's clock, moments are compared with some room.
APART, ROOM = 600.0, 20.0

CLOCKS = [(APART, 0.0), (0.0, APART)]


@pytest.fixture
def settings(postgres_url: str) -> Settings:
    prices = dict.fromkeys(("price_single", "price_multi", "price_global_carrier_batch"), PRICE)
    return Settings.of(
        {}, base_url="http://127.0.0.1:1", api_key="key", ledger=postgres_url, **prices
    )


@pytest.fixture
def two(settings: Settings) -> Iterator[tuple[Ledger, Ledger]]:
    """Two machines' connections to one ledger."""
    name = {"service": settings.service, "account": settings.account}
    with (
        Ledger.open(settings.ledger_url, **name) as one,
        Ledger.open(settings.ledger_url, **name) as other,
    ):
        yield one, other


@pytest.mark.parametrize(("first", "second"), CLOCKS)
def test_leases_hold_between_clocks_ten_minutes_apart(two, first, second):
    """A run that beats is alive to a machine with another clock, and dead when it is silent."""
    (one, other), late = two, Clock(START + second)
    mine, theirs = one.clock(Clock(START + first)), other.clock(late)
    assert abs(mine() - theirs()) < ROOM
    run = one.leases.begin(mine())
    assert other.leases.bury(theirs()) == 0
    one.leases.beat(run, mine())
    late.advance(60 + ROOM)
    assert other.leases.bury(theirs()) == 1


@pytest.mark.parametrize(("first", "second"), CLOCKS)
def test_polls_keep_their_distance_between_clocks_ten_minutes_apart(two, first, second):
    """What one machine has submitted, another one polls 30 seconds later, not at once."""
    (one, other), late = two, Clock(START + second)
    mine, theirs = one.clock(Clock(START + first)), other.clock(late)
    shop = Shop(one, one.leases.begin(mine()), mine())
    purchase = shop.intend(some(10), balance=Balance(10**9, mine()))
    purchase = one.purchases.submitted(purchase, task(10), mine())
    assert not other.purchases.may_poll(purchase, theirs(), 30 + ROOM)
    late.advance(30 + 2 * ROOM)
    assert other.purchases.may_poll(purchase, theirs(), 30 + ROOM)


@pytest.mark.parametrize(("first", "second"), CLOCKS)
def test_an_engine_with_another_clock_goes_on_with_a_task_in_time(two, settings, first, second):
    """One engine submits and goes; the other waits out the interval and collects."""
    numbers, service = np.arange(14_155_550_000, 14_155_551_000), ModelService()
    countries = Countries(np.zeros(1_000, np.int16), ("US",))
    ahead, behind = Clock(START + first), Clock(START + second)
    Engine(two[0], ModelCourier(service, ahead), settings, ahead).run(
        numbers, countries, buys=TASKS, wait_for_tasks=False
    )
    outcome = Engine(two[1], ModelCourier(service, behind), settings, behind).run(
        numbers, countries
    )
    assert outcome.tally.collected == 1_000
    assert outcome.open == ()
    assert 30 - ROOM < behind.now - START - second < 30 + ROOM


def test_a_clock_is_compared_again_after_an_hour_or_when_set_back(two):
    """Between that the machine's own clock counts; an answer of the database renews it."""
    local = Clock(START)
    shared = two[0].clock(local)
    before = shared()
    local.advance(AGREED_SECONDS - 1)
    shared.agree()
    assert shared() == before + AGREED_SECONDS - 1
    local.advance(1)
    shared.agree()
    assert abs(shared() - before) < ROOM
    local.advance(-7_200)
    shared.agree()
    assert abs(shared() - before) < ROOM
    assert shared.here(shared.of(START)) == START


def test_a_sqlite_ledger_goes_by_the_machine_s_clock(tmp_path):
    """One machine, one clock: nothing is added."""
    with Ledger.open(f"sqlite:///{tmp_path / 'l.db'}", service="s", account="a") as ledger:
        clock = ledger.clock(Clock(START))
        assert isinstance(clock, SharedClock)
        assert clock() == START
