"""A run is killed with SIGKILL, again and again; the next one pays for nothing twice."""

from __future__ import annotations

import random

import pytest

#: Steps of a run that buys a bulk task and two multi checks; the last figure is the occurrence.
STEPS = [
    f"{when}:{name}:{nth}"
    for name, nths in {
        "begin": (1,),
        "bury": (1,),
        "adopt": (1,),
        "recall": (1, 2),
        "claim": (1,),
        "take_slot": (1, 2),
        "balance_read": (1, 2),
        "intend": (1, 2, 3),
        "submitted": (1,),
        "may_poll": (1,),
        "finished": (1,),
        "collected": (1, 2, 3),
        "free_slot": (1,),
        "release": (1,),
        "end": (1,),
        "ReadBalance": (1,),
        "Submit": (1,),
        "MultiCheck": (1, 2),
        "Query": (1,),
        "Download": (1,),
    }.items()
    for nth in nths
    for when in ("before", "after")
]


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_costs_nothing_twice(arena, source, step):
    """Killed at a named step and run again: rows right, money right, unknown charges reported."""
    file = source("crm", seed=1)
    assert not arena.run(file, "first", die=step), f"{step} was never reached"
    assert arena.run(file, "second")
    arena.check(file, "second")
    arena.check_money()
    unknown = arena.receipts[-1]["charge_unknown_numbers"]
    in_a_check = step.split(":")[1] in ("intend", "MultiCheck", "collected", "Submit")
    assert unknown == arena.unknown_numbers()
    assert in_a_check or unknown <= 130


@pytest.mark.parametrize("seed", range(10))
def test_kills_at_random_moments_cost_nothing_twice(arena, source, seed):
    """Killed five times at seeded random moments: the run that comes through has it all right."""
    chance = random.Random(seed)
    file = source("crm", seed=seed)
    kills = iter([chance.uniform(0.3, 2.5) for _ in range(5)])
    arena.run_until_done(file, "crm", lambda: next(kills, None))
    arena.check(file, "crm")
    arena.check_money()


@pytest.mark.parametrize("seed", range(2))
def test_several_runs_killed_at_once_share_and_lose_nothing(arena, source, seed):
    """Three overlapping runs on one ledger, each killed at random: each number is bought once."""
    chance = random.Random(100 + seed)
    files = {f"crm-{n}": source(f"crm-{n}", seed=seed, us=1_000, gb=100 + 30 * n) for n in range(3)}
    alive = {name: arena.start(file, name) for name, file in files.items()}
    for _ in range(4):
        name = chance.choice(list(files))
        try:
            alive[name].wait(chance.uniform(0.3, 1.5))
        except Exception:  # noqa: BLE001  still running, as it should
            alive[name].kill()
        if not arena.finish(alive[name], name):
            alive[name] = arena.start(files[name], name)
    for name, file in files.items():
        while not arena.finish(alive[name], name):
            alive[name] = arena.start(file, name)
        arena.check(file, name)
    arena.check_money()
