"""What is paid for and open when a run can't go on: collected first, told, and never hidden."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.model_service import PRICE, ModelCourier, ModelService
from support.timing import START, Clock
from support.virtual_service import VirtualCourier, VirtualService

from carrier_enrich import Settings, errors
from carrier_enrich.cli.running import judged
from carrier_enrich.engine import TASKS, Engine
from carrier_enrich.ledger import Freshness, Ledger
from carrier_enrich.model import Countries, Int64s

US, GB = 14_155_550_000, 447_500_000_000
ANY = Freshness(0.0, 0.0)


def some(first: int, count: int = 1_000) -> Int64s:
    return np.arange(first, first + count, dtype=np.int64)


def places(numbers: Int64s) -> Countries:
    return Countries((numbers >= GB).astype(np.int16), ("US", "GB"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    prices = dict.fromkeys(("price_single", "price_multi", "price_global_carrier_batch"), PRICE)
    url = str(tmp_path / "ledger.db")
    return Settings.of({}, base_url="http://127.0.0.1:1", api_key="key", ledger=url, **prices)


@pytest.fixture
def ledger(settings: Settings) -> Iterator[Ledger]:
    with Ledger.open(
        settings.ledger_url, service=settings.service, account=settings.account
    ) as opened:
        yield opened


@pytest.fixture
def service() -> ModelService:
    return ModelService()


@pytest.fixture
def engine(
    settings: Settings, ledger: Ledger, service: ModelService, clock: Clock
) -> Callable[..., Engine]:
    """Engines on one ledger; each meets its mishaps."""

    def of(*mishaps: str, **changes: float) -> Engine:
        changed = Settings.of({}, **{**_values(settings), **changes})
        return Engine(ledger, ModelCourier(service, clock, deque(mishaps)), changed, clock)

    return of


def _values(settings: Settings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in settings.__slots__}


def leave_a_submit_unconfirmed(engine: Callable[..., Engine]) -> errors.AnswerLost:
    """A run that ends with a bulk submit whose answer was lost every time."""
    unlucky = engine("none", *["lost before"] * 50, deadline_seconds=120.0)
    with pytest.raises(errors.AnswerLost) as caught:
        unlucky.run(some(US), places(some(US)), buys=TASKS, wait_for_tasks=False)
    return caught.value


def test_what_is_paid_for_comes_in_before_an_old_intention_stops_the_run(
    engine, ledger, service, clock
):
    """A day-old submit of unknown outcome: the other task is collected, then it is told."""
    engine().run(some(GB), places(some(GB)), buys=TASKS, wait_for_tasks=False)
    leave_a_submit_unconfirmed(engine)
    assert [purchase.country for purchase in ledger.purchases.open()] == ["GB", "US"]
    clock.advance(90_000)
    wanted = np.concatenate([some(US, 1_200), some(GB, 1_200)])
    with pytest.raises(errors.IntentionTooOld, match=r"settle --give-up \d+"):
        engine().run(wanted, places(wanted))
    assert [purchase.country for purchase in ledger.purchases.open()] == ["US"]
    np.testing.assert_array_equal(ledger.knowledge.recall(wanted, ANY).numbers, some(GB))
    assert not service.checked
    assert len(service.tasked) == 1_000


def test_settling_collects_the_rest_before_it_names_an_old_intention(engine, ledger, clock):
    """`settle` too brings in what it can, and then says what the user has to decide."""
    engine().run(some(GB), places(some(GB)), buys=TASKS, wait_for_tasks=False)
    leave_a_submit_unconfirmed(engine)
    clock.advance(90_000)
    with pytest.raises(errors.IntentionTooOld):
        engine().settle()
    assert [purchase.country for purchase in ledger.purchases.open()] == ["US"]
    assert len(ledger.knowledge.recall(some(GB), ANY)) == 1_000


def test_a_failure_with_paid_work_open_ends_with_5(engine):
    """The command line's code is that of open paid work, and the notes name `settle`."""
    error = leave_a_submit_unconfirmed(engine)
    assert judged(error)[0] == 5
    assert any("carrier-enrich settle" in note for note in error.__notes__)
    assert errors.AnswerLost("lost").exit_code == 6


def test_a_failure_with_nothing_open_ends_with_6(engine):
    """A service that never takes the submit leaves nothing open."""
    busy = engine("none", *["busy"] * 500, deadline_seconds=120.0)
    with pytest.raises(errors.Busy) as caught:
        busy.run(some(US), places(some(US)))
    assert judged(caught.value)[0] == 6


def test_a_submit_that_was_only_refused_is_not_left_open(settings, ledger, clock):
    """At the deadline the task under way stays open; the one that had no place never was."""
    service = VirtualService(tasks_at_once=1)
    wanted = np.concatenate([some(US, 20_000), some(GB)])
    hasty = Settings.of({}, **{**_values(settings), "deadline_seconds": 100.0})
    with pytest.raises(errors.PaidWorkOpen):
        Engine(ledger, VirtualCourier(service, clock), hasty, clock).run(wanted, places(wanted))
    assert service.refusals[42900] > 0
    assert [purchase.country for purchase in ledger.purchases.open()] == ["US"]


def test_a_lost_check_stays_reserved_until_it_must_have_ended(engine, service, clock):
    """With a balance for one check, it is asked again only when the first can't be charged."""
    service.balance = 100 * PRICE
    numbers = some(US, 100)
    outcome = engine("none", "lost before").run(numbers, places(numbers))
    assert len(outcome.answers) == 100
    assert clock.now - START > 300
    assert service.balance == 0


def test_a_lost_check_is_asked_again_soon_where_the_balance_covers_both(engine, service, clock):
    """With a balance for two checks nobody waits for the first one's time limit."""
    service.balance = 200 * PRICE
    numbers = some(US, 100)
    outcome = engine("none", "lost before").run(numbers, places(numbers))
    assert len(outcome.answers) == 100
    assert clock.now - START < 60


def test_a_lost_check_that_was_charged_ends_in_out_of_balance(engine, service, clock):
    """When its time limit has passed and the money is gone, the run says so."""
    service.balance = 150 * PRICE
    numbers = some(US, 100)
    with pytest.raises(errors.OutOfBalance):
        engine("none", "lost after").run(numbers, places(numbers))
    assert clock.now - START > 300
    assert set(service.checked.values()) == {1}
