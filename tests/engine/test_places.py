"""How many bulk tasks an account takes at once is found by being refused, then held."""

from __future__ import annotations

import numpy as np
import pytest
from ledger.shop import NOW

from carrier_enrich.engine.errands import Errand, Step
from carrier_enrich.engine.places import SUBMITS_AT_ONCE, TRIAL_SECONDS, Places
from carrier_enrich.ledger import Purchase, State
from carrier_enrich.model import CallKind, Product


def errand(step: Step, state: State) -> Errand:
    """A bulk task at a step."""
    purchase = Purchase(
        1,
        1,
        CallKind.BULK_TASK,
        Product.CARRIER_BATCH,
        "US",
        1_000,
        1,
        "key",
        1,
        None,
        state,
        None,
        None,
        None,
        NOW,
        None,
        None,
    )
    return Errand(purchase, np.arange(1_000), step, NOW)


def sending() -> Errand:
    return errand(Step.SEND, State.INTENDED)


def polled() -> Errand:
    return errand(Step.POLL, State.SUBMITTED)


@pytest.fixture
def refused() -> tuple[Places, list[Errand]]:
    """Three tasks under way and a fourth that was refused."""
    places, errands = Places(100), [polled(), polled(), polled(), sending()]
    places.refused(errands[-1], errands, NOW)
    return places, errands


def test_few_submits_are_out_before_any_is_refused() -> None:
    """While no limit is known, submits go out two at a time, up to what the settings allow."""
    assert Places(100).free([], NOW) == SUBMITS_AT_ONCE
    assert Places(100).free([polled()] * 9 + [sending()], NOW) == SUBMITS_AT_ONCE - 1
    assert Places(3).free([polled(), polled()], NOW) == 1


def test_a_task_that_is_only_to_be_downloaded_has_no_place() -> None:
    """The place is free when the task has ended at the service, not when its file is here."""
    done = errand(Step.DOWNLOAD, State.FINISHED)
    assert Places(1).free([done], NOW) == 1


def test_the_refused_one_goes_when_one_has_ended(refused) -> None:
    """Nothing new is sent meanwhile; an end sends it at once, and the limit holds from then on."""
    places, errands = refused
    assert (places.limit, places.free(errands, NOW), errands[-1].due) == (3, 0, NOW + TRIAL_SECONDS)
    del errands[0]
    places.ended(errands, NOW + 5)
    assert errands[-1].due == NOW + 5
    taken = [polled(), polled(), polled()]
    places.taken(taken)
    assert (places.limit, places.free(taken, NOW + 6)) == (3, 0)
    assert places.free(taken[1:], NOW + 6) == 1


def test_a_place_that_is_freed_while_a_submit_is_out_is_not_lost() -> None:
    """Refused a moment before an end was seen: it goes again at once, and no limit is learnt."""
    places, asking = Places(100), sending()
    places.ended([polled(), asking], NOW)
    places.refused(asking, [polled(), asking], NOW + 1)
    assert (places.limit, asking.due) == (None, NOW + 1)


def test_the_limit_is_tried_seldom_and_ever_more_seldom(refused) -> None:
    """One more than the limit is tried after a minute, then two, and a success opens it again."""
    places, errands = refused
    under_way = errands[:3]
    assert places.free(under_way, NOW + TRIAL_SECONDS - 1) == 0
    assert places.next_due(under_way, NOW) == NOW + TRIAL_SECONDS
    assert places.free(under_way, NOW + TRIAL_SECONDS) == 1
    places.refused(errands[3], errands, NOW + TRIAL_SECONDS)
    assert places.trial_at == NOW + 3 * TRIAL_SECONDS
    places.taken([polled()] * 4)
    assert places.limit is None
    assert places.free([polled()] * 4, NOW) == SUBMITS_AT_ONCE


def test_where_only_others_have_tasks_time_decides() -> None:
    """Their ends are not seen here, so the refused one is sent again after a minute each time."""
    places, asking = Places(100), sending()
    for turn in range(3):
        now = NOW + turn * TRIAL_SECONDS
        places.refused(asking, [asking], now)
        assert asking.due == now + TRIAL_SECONDS
