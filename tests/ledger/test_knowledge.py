"""What is recorded comes back exactly, for as long as it is fresh."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger.shop import FOUND, NOW, Shop, answers, some, task

from carrier_enrich.ledger import Freshness, arrays
from carrier_enrich.ledger.holds import BLOCK, Holds
from carrier_enrich.ledger.purchase import Balance
from carrier_enrich.model import Answers, Lookup, LookupStatus

TEXTS = st.one_of(
    st.none(),
    st.sampled_from(
        ["NA", "null", "None", " ", "0", "\t", "'; --", "{}", "\\N", "Ünïcødé 移动", "é"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
)
LOOKUPS = st.builds(
    Lookup,
    st.sampled_from([LookupStatus.FOUND, LookupStatus.UNALLOCATED, LookupStatus.CHARGE_UNKNOWN]),
    *[TEXTS] * 6,
)
QUIET = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUIET
@given(st.dictionaries(st.integers(1, 10**15 - 1), LOOKUPS, min_size=1, max_size=30))
def test_every_text_comes_back_exactly(shop: Shop, known: dict[int, Lookup]) -> None:
    """Namibia's NA, blanks, quotes, any script: no text becomes another, or nothing."""
    shop.know(Answers.of(known.items()))
    numbers = np.array(sorted(known), np.int64)
    assert dict(shop.recall(numbers).pairs()) == known


def test_empty_text_is_nothing(shop: Shop) -> None:
    """A text that the service left empty is None, however it came."""
    shop.know(answers(some(1), Lookup(LookupStatus.FOUND, "", None, "mobile")))
    assert shop.recall(some(1)).lookups == (Lookup(LookupStatus.FOUND, None, None, "mobile"),)


def test_no_character_keeps_an_answer_from_being_recorded(shop: Shop) -> None:
    """NUL and lone surrogates, which no database takes, are replaced; so is nothing else."""
    shop.know(answers(some(1), Lookup(LookupStatus.FOUND, "a\0b", "\ud800c", "x" * 100_000)))
    assert shop.recall(some(1)).lookups == (
        Lookup(LookupStatus.FOUND, "a\ufffdb", "?c", "x" * 100_000),
    )


def test_recall_finds_what_is_known_and_nothing_else(shop: Shop) -> None:
    """Ascending, each number once, across the slices in which they are asked for."""
    numbers = some(2 * arrays.SLICE + 7)
    shop.know(answers(numbers[::2]))
    found = shop.recall(numbers)
    np.testing.assert_array_equal(found.numbers, numbers[::2])
    assert found.lookups == (Lookup(*_texts(FOUND)),)
    assert len(shop.recall(some(0))) == 0
    assert len(shop.recall(some(10, 15_000_000_000))) == 0


def test_unsorted_and_doubled_answers_are_recorded_once(shop: Shop) -> None:
    """The order of the answers is of no matter; of two for one number the last counts."""
    first, second = Lookup(LookupStatus.FOUND, "A"), Lookup(LookupStatus.FOUND, "B")
    numbers = np.array([14_155_550_001, 14_155_550_000, 14_155_550_001], np.int64)
    purchase = shop.intend(some(2))
    shop.ledger.purchases.submitted(purchase, task(2), NOW)
    submitted = shop.ledger.purchases.get(purchase.id)
    shop.ledger.purchases.finished(submitted, task(2))
    shop.collect(purchase, Answers(numbers, np.array([0, 0, 1], np.int32), (first, second)))
    assert dict(shop.recall(some(2)).pairs()) == {14_155_550_000: first, 14_155_550_001: second}


def test_a_newer_answer_takes_the_place_of_the_old(shop: Shop) -> None:
    """A number has one answer: the last that was recorded."""
    shop.know(answers(some(3)))
    shop.now += 1
    shop.know(answers(some(1), Lookup(LookupStatus.UNALLOCATED)))
    statuses = [lookup.status for _, lookup in shop.recall(some(3)).pairs()]
    assert statuses == ["unallocated", "found", "found"]


def test_services_know_nothing_of_each_other(new_run: Callable[..., Shop]) -> None:
    """Answers are shared by the accounts of one service, and by no other service."""
    new_run().know(answers(some(3)))
    assert len(new_run(account="other").recall(some(3))) == 3
    assert len(new_run(service="sandbox").recall(some(3))) == 0


@pytest.mark.parametrize(
    ("status", "at_day", "is_known"),
    [
        (LookupStatus.FOUND, 0, True),
        (LookupStatus.FOUND, 30, True),
        (LookupStatus.FOUND, 30.1, False),
        (LookupStatus.CHARGE_UNKNOWN, 30, True),
        (LookupStatus.UNDETERMINED, 1, True),
        (LookupStatus.UNDETERMINED, 1.1, False),
    ],
)
def test_answers_are_fresh_for_their_time(
    shop: Shop, status: LookupStatus, at_day: float, is_known: bool
) -> None:
    """An answer counts for the age that is asked for, undetermined for a day."""
    shop.know(answers(some(2), Lookup(status)))
    now = NOW + at_day * 86_400
    fresh = Freshness(now - 30 * 86_400, now - 86_400)
    assert (len(shop.recall(some(2), fresh)) == 2) == is_known


def test_undetermined_may_outlive_answers(shop: Shop) -> None:
    """Each kind of knowledge keeps its own time, whichever is shorter."""
    shop.know(answers(some(1)))
    shop.know(answers(some(1, 14_155_551_000), Lookup(LookupStatus.UNDETERMINED)))
    asked = np.array([14_155_550_000, 14_155_551_000], np.int64)
    assert shop.recall(asked, Freshness(NOW + 1, NOW)).numbers.tolist() == [14_155_551_000]


@QUIET
@given(
    st.lists(st.sets(st.integers(1, 300)), min_size=3, max_size=3),
    st.sets(st.integers(1, 300), min_size=1),
)
def test_holds_are_sets(shop: Shop, held: list[set[int]], asked: set[int]) -> None:
    """Blocks of numbers answer as the sets that they hold would."""
    ledger = shop.ledger
    purchase = shop.intend(some(1))
    holds, numbers = Holds(ledger.db, ledger.knowledge.service_id), np.array(sorted(asked))
    runs = [ledger.leases.begin(NOW) for _ in held]
    with ledger.db.transaction():
        for run, those in zip(runs, held, strict=True):
            holds.add(np.array(sorted(those), np.int64), run_id=run)
        holds.add(np.array(sorted(held[0]), np.int64), purchase_id=purchase.id)
        mine = numbers[holds.claimed_by(runs[0], numbers)]
        others = numbers[holds.claimed_by_others(runs[0], numbers)]
        bought = numbers[holds.in_purchases(numbers)]
    assert set(mine.tolist()) == set(bought.tolist()) == asked & held[0]
    assert set(others.tolist()) == asked & (held[1] | held[2])
    for run in runs:
        ledger.leases.end(run, NOW)
    ledger.purchases.refused(purchase, "no", NOW)


def test_holds_span_blocks(shop: Shop) -> None:
    """More numbers than a block takes are held all the same, and come back whole."""
    numbers = some(2 * BLOCK + 1)
    purchase = shop.intend(numbers, balance=Balance(10**12, NOW))
    with shop.ledger.db.snapshot():
        kept = shop.ledger.knowledge.holds.of_purchase(purchase.id)
    np.testing.assert_array_equal(kept, numbers)
    assert len(shop.ledger.knowledge.in_open_purchases(some(3 * BLOCK))) == len(numbers)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_bigints_go_there_and_back(values: list[int]) -> None:
    """PostgreSQL's binary arrays hold every 64-bit integer."""
    numbers = np.array(values, np.int64)
    np.testing.assert_array_equal(arrays.of_bigints(arrays.as_bigints(numbers)), numbers)


def _texts(lookup: Lookup) -> tuple[LookupStatus, *tuple[str | None, ...]]:
    texts = (lookup.carrier, lookup.underlying_carrier, lookup.number_type, lookup.country_code)
    return (lookup.status, *(text or None for text in (*texts, lookup.region, lookup.city)))
