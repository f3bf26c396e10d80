"""The planner: every number exactly once, every limit held, no request too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich.model import BULK_MAX_BYTES, CallKind, Countries, Product
from carrier_enrich.routing import Rules, check, fitted, highest_cost, route
from carrier_enrich.settings import Settings
from carrier_enrich.wire import task_file

PRICES = st.one_of(st.none(), st.integers(0, 10_000))


def numbers_of(sizes: list[int]) -> tuple[np.ndarray, Countries]:
    """So many numbers of each country, and the last size of none."""
    codes = np.concatenate(
        [np.full(n, code, np.int16) for code, n in enumerate(sizes[:-1])]
        + [np.full(sizes[-1], -1, np.int16)]
    )
    chance = np.random.default_rng(sum(sizes))
    chance.shuffle(codes)
    names = tuple(f"{chr(65 + n)}{chr(65 + n)}" for n in range(len(sizes) - 1))
    return 14_155_550_000 + np.arange(sum(sizes), dtype=np.int64), Countries(codes, names)


RULES = st.builds(
    Rules,
    bulk_from=st.integers(1_000, 3_000),
    product=st.sampled_from([None, *Product]),
    price_bulk=PRICES,
    price_single=PRICES,
    price_multi=PRICES,
)
SIZES = st.lists(
    st.one_of(st.integers(0, 300), st.integers(900, 3_100), st.sampled_from([100_000, 100_001])),
    min_size=2,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(sizes=SIZES, rules=RULES)
def test_every_number_is_in_exactly_one_call_within_its_limits(sizes, rules):
    """Calls partition the numbers; each kind keeps the service's limits and its own country."""
    numbers, countries = numbers_of(sizes)
    calls = route(numbers, countries, rules)
    together = np.sort(np.concatenate([np.empty(0, np.int64), *(c.numbers for c in calls)]))
    np.testing.assert_array_equal(together, numbers)
    for call in calls:
        match call.kind:
            case CallKind.SINGLE_CHECK:
                assert len(call.numbers) == 1
            case CallKind.MULTI_CHECK:
                assert 1 <= len(call.numbers) <= 100
            case CallKind.BULK_TASK:
                assert call.product is rules.product
                assert 1_000 <= len(call.numbers) <= call.product.max_numbers
                codes = countries.codes[np.searchsorted(numbers, call.numbers)]
                assert {countries.names[c] for c in codes.tolist()} == {call.country}


@settings(max_examples=60, deadline=None)
@given(sizes=SIZES, rules=RULES)
def test_no_plan_under_the_same_rules_has_fewer_requests(sizes, rules):
    """As few tasks per country and as few checks as their limits allow, in even sizes."""
    numbers, countries = numbers_of(sizes)
    calls = route(numbers, countries, rules)
    tasks = [call for call in calls if call.kind is CallKind.BULK_TASK]
    large = [n for n in sizes[:-1] if n >= rules.bulk_from] if rules.product else []
    most = rules.product.max_numbers if rules.product else 1
    assert len(tasks) == sum(-(-n // most) for n in large)
    rest = sum(sizes) - sum(large)
    assert len(calls) - len(tasks) == -(-rest // 100)
    for country in {task.country for task in tasks}:
        of_country = [len(task.numbers) for task in tasks if task.country == country]
        assert max(of_country) - min(of_country) <= 1


@settings(max_examples=60, deadline=None)
@given(sizes=SIZES, rules=RULES)
def test_the_highest_cost_is_price_times_numbers(sizes, rules):
    """Known prices add up exactly; one that is not known makes the whole unknown."""
    numbers, countries = numbers_of(sizes)
    calls = route(numbers, countries, rules)
    prices = {
        CallKind.BULK_TASK: rules.price_bulk,
        CallKind.MULTI_CHECK: rules.price_multi,
        CallKind.SINGLE_CHECK: rules.price_single,
    }
    used = {prices[call.kind] for call in calls}
    if None in used:
        assert highest_cost(calls) is None
    else:
        assert highest_cost(calls) == sum(prices[c.kind] * len(c.numbers) for c in calls)


def test_the_file_of_the_largest_task_fits():
    """Half a million of the longest numbers stay under the upload limit (spec, Limits)."""
    longest = 10**14 + np.arange(500_000, dtype=np.int64)
    assert len(task_file(longest)) <= BULK_MAX_BYTES


@pytest.mark.parametrize(
    ("single", "multi", "kind"),
    [
        (2_000, 2_000, CallKind.SINGLE_CHECK),
        (3_000, 2_000, CallKind.MULTI_CHECK),
        (None, 2_000, CallKind.MULTI_CHECK),
        (2_000, None, CallKind.SINGLE_CHECK),
        (None, None, CallKind.SINGLE_CHECK),
    ],
)
def test_one_left_alone_is_a_single_check_where_that_is_not_dearer(single, multi, kind):
    """One number takes the cheaper way, by what is known of the prices."""
    rules = Rules(price_single=single, price_multi=multi)
    assert check(np.array([14155550123]), rules).kind is kind


@pytest.mark.parametrize(
    ("given", "product"),
    [
        ({}, Product.GLOBAL_CARRIER_BATCH),
        ({"price_carrier_batch": 900}, Product.CARRIER_BATCH),
        ({"price_carrier_batch": 1_000}, Product.CARRIER_BATCH),
        ({"price_carrier_batch": 1_001}, Product.GLOBAL_CARRIER_BATCH),
        ({"bulk_product": "carrier_batch"}, Product.CARRIER_BATCH),
        ({"price_global_carrier_batch": None}, None),
    ],
)
def test_the_cheaper_bulk_product_is_taken_ties_to_the_larger_limit(given, product):
    """Known prices decide; one that is not known is taken only when asked for by name."""
    assert Rules.of(Settings(**given)).product is product


@given(count=st.integers(1_000, 5_000), price=st.integers(0, 2_000), micros=st.integers(0, 10**7))
@settings(max_examples=50, deadline=None)
def test_a_fitted_call_never_costs_more_than_there_is(count, price, micros):
    """What is cut to a sum of money fits it, and keeps the service's minimum."""
    rules = Rules(price_bulk=price)
    numbers, countries = numbers_of([count, 0])
    (call,) = route(numbers, countries, rules)
    part = fitted(call, micros)
    if part is None:
        assert price * 1_000 > micros
    else:
        assert part.highest_cost <= micros
        assert len(part.numbers) >= 1_000


@pytest.mark.parametrize(
    ("count", "at_once", "price_multi", "tasks", "multis"),
    [
        (200_500, 1, 1_000, [100_000, 100_000], 5),
        (201_000, 1, 1_000, [67_000, 67_000, 67_000], 0),
        (200_500, 2, 1_000, [66_834, 66_833, 66_833], 0),
        (200_500, 1, 1_001, [66_834, 66_833, 66_833], 0),
        (200_500, 1, None, [66_834, 66_833, 66_833], 0),
    ],
)
def test_one_task_at_a_time_leaves_what_is_over_to_checks(
    count, at_once, price_multi, tasks, multis
):
    """Full tasks and the few numbers that are over in checks, where those are not dearer."""
    rules = Rules.of(Settings(bulk_at_once=at_once, price_multi=price_multi, price_single=9_000))
    calls = route(*numbers_of([count, 0]), rules)
    sizes = [len(call.numbers) for call in calls if call.kind is CallKind.BULK_TASK]
    assert sizes == tasks
    assert sum(call.kind is CallKind.MULTI_CHECK for call in calls) == multis


def test_the_largest_tasks_come_first():
    """Tasks that are under way together end together when the small ones come last."""
    calls = route(*numbers_of([1_000, 150_000, 3_000, 20]), Rules())
    assert [len(call.numbers) for call in calls] == [75_000, 75_000, 3_000, 1_000, 20]
