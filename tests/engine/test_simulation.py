"""The scheduler keeps every lane of the account busy: wall time on a virtual clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.simulation import simulate
from support.virtual_service import Latencies


@pytest.mark.parametrize(
    ("count", "countries", "at_once"), [(200_000, 20, 1), (300_000, 40, 3), (500_000, 60, 10)]
)
def test_wall_time_is_close_to_the_lower_bound(
    tmp_path: Path, count: int, countries: int, at_once: int
) -> None:
    """With 1, 3 and 10 tasks at once a run takes at most 1.15 of what the limits allow."""
    run = simulate(count, tmp_path, countries=countries, tasks_at_once=at_once, pace="polite")
    assert run.ratio <= 1.15


def test_fast_pace_fills_all_five_slots(tmp_path: Path) -> None:
    """Where checks decide, four singles beside the multi check come close to their bound too."""
    run = simulate(6_000, tmp_path, countries=18, tasks_at_once=1, pace="fast")
    assert run.checks_bound > run.tasks_bound
    assert run.ratio <= 1.15


def test_checks_and_tasks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Where checks take as long as tasks, both together take hardly longer than one of them."""
    slow = Latencies(multi=80.0)
    run = simulate(100_000, tmp_path, countries=12, tasks_at_once=1, pace="polite", latencies=slow)
    assert run.checks_bound > 0.9 * run.tasks_bound > 0.8 * run.checks_bound
    assert run.ratio <= 1.15


def test_the_account_s_limit_of_tasks_is_found_and_held(tmp_path: Path) -> None:
    """Three places are met by being refused; from then on hardly a submit is in vain."""
    run = simulate(150_000, tmp_path, countries=30, tasks_at_once=3, pace="polite")
    assert len(run.service.tasks) > 20
    assert 1 <= run.service.refusals[42900] <= 8
