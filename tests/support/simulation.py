"""A whole run of the real engine, over a real SQLite ledger, against the service of virtual time.

The lower bound. Whatever a client does, and even if it knew every moment in advance, the service's
limits leave two lanes, side by side, and the run takes at least the longer of them:

- Checks. A bulk task takes 1,000 numbers of one country at least, so the numbers of smaller
  countries, and those of none, go through checks. One multi check of 100 is under way at a time,
  and at `fast` pace four single checks beside it: 100 / multi, or 100 / multi + 4 / single, numbers
  a second. (`polite` pace leaves the four single slots free by the user's choice, so they are no
  part of its bound.)
- Bulk tasks. A country of n numbers takes at least ceil(n / 100,000) tasks, each `task` seconds and
  `task_number` seconds a number. At most K are under way, so together they take at least their sum
  divided by K, and never less than the shortest task. An upload goes before the first, a query and
  a download come after the last.

The bound leaves out what no client can escape that is not told how long a task will take: its end
shows only in polls 30 seconds apart, a submit follows only on an end that was seen, the balance is
read before each purchase, and the last tasks don't end together. All of that is in the wall time.
So is the engine's choice to cut a country into as few tasks as possible: where there are hardly
more tasks than places, the longest one decides, and the bound, which knows of none, is not met.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from carrier_enrich.engine import Engine
from carrier_enrich.ledger import Ledger
from carrier_enrich.model import BULK_MIN, MULTI_CHECK_MAX, Countries, Int64s, Product
from carrier_enrich.settings import Settings
from support.timing import Clock
from support.virtual_service import Latencies, VirtualCourier, VirtualService

#: Micros of USD of every number, whichever way it is bought.
PRICE = 1_000

Pace = Literal["polite", "fast"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated run. Times are virtual seconds but for `cpu_seconds`.

    Attributes:
        checks_bound, tasks_bound: what the lanes take at least.
        cpu_seconds: what the engine and the ledger took of this machine.
    """

    numbers: int
    tasks_at_once: int
    pace: Pace
    seconds: float
    checks_bound: float
    tasks_bound: float
    cpu_seconds: float
    service: VirtualService

    @property
    def bound(self) -> float:
        """Seconds that no client can beat."""
        return max(self.checks_bound, self.tasks_bound)

    @property
    def ratio(self) -> float:
        """Wall time against the bound."""
        return self.seconds / self.bound


def customers(count: int, countries: int = 60) -> tuple[Int64s, Countries]:
    """Numbers as a CRM holds them: few large countries, a long tail, and 1 % of no country.

    A sixth of the countries has between 80 and 980 numbers; the sizes of the others fall by rank.
    """
    few = countries // 6
    tail = np.linspace(80, 980, few).astype(np.int64)
    nowhere = count // 100
    weights = 1 / np.arange(1, countries - few + 1) ** 1.3
    sizes = np.floor((count - nowhere - tail.sum()) * weights / weights.sum()).astype(np.int64)
    sizes[0] += count - nowhere - tail.sum() - sizes.sum()
    # Not in the order of their sizes, and those of no country last.
    mixed = np.random.default_rng(0).permutation(np.concatenate([sizes, tail]))
    everywhere = [*mixed.tolist(), nowhere]
    starts = 100_000_000_000 + 10_000_000_000 * np.arange(len(everywhere))
    numbers = np.concatenate(
        [start + 7 * np.arange(n) for start, n in zip(starts.tolist(), everywhere, strict=True)]
    )
    codes = np.repeat(np.arange(len(everywhere), dtype=np.int16), everywhere)
    codes[codes == countries] = -1
    names = tuple(chr(65 + i // 26) + chr(65 + i % 26) for i in range(countries))
    return numbers, Countries(codes, names)


def bounds(
    countries: Countries, tasks_at_once: int, pace: Pace, takes: Latencies
) -> tuple[float, float]:
    """Seconds that the checks, and the bulk tasks, take at least."""
    sizes = np.bincount(countries.codes[countries.codes >= 0], minlength=len(countries.names))
    large = [int(n) for n in sizes if n >= BULK_MIN]
    checked = len(countries.codes) - sum(large)
    beside = 4 / takes.single if pace == "fast" else 0.0
    checks_bound = checked / (MULTI_CHECK_MAX / takes.multi + beside)
    if not large:
        return checks_bound, 0.0
    fewest = sum(math.ceil(n / Product.GLOBAL_CARRIER_BATCH.max_numbers) for n in large)
    together = fewest * takes.task + sum(large) * takes.task_number
    shortest = takes.of_task(BULK_MIN)
    around = takes.submit + takes.query + takes.download
    return checks_bound, max(together / tasks_at_once, shortest) + around


def simulate(
    count: int,
    folder: Path,
    *,
    countries: int = 60,
    tasks_at_once: int,
    pace: Pace,
    latencies: Latencies | None = None,
) -> Simulated:
    """Buy so many numbers, all unknown, with a new ledger in a folder; check what came of it.

    Every number is answered and was bought once, and no limit was broken: a poll too early or a
    check without a slot fails here.
    """
    takes = latencies or Latencies()
    settings = Settings.of(
        {},
        base_url="http://127.0.0.1:1",
        api_key="key",
        ledger=str(folder / "ledger.db"),
        price_single=PRICE,
        price_multi=PRICE,
        price_global_carrier_batch=PRICE,
        pace=pace,
        deadline_seconds=30 * 86_400.0,
    )
    numbers, places = customers(count, countries)
    service = VirtualService(tasks_at_once, takes)
    clock = Clock()
    before, cpu = clock(), time.process_time()
    with Ledger.open(settings.ledger_url, service=settings.service, account=settings.account) as it:
        courier = VirtualCourier(service, clock)
        outcome = Engine(it, courier, settings, clock, random.Random(0)).run(numbers, places)
    took = clock() - before
    assert np.array_equal(outcome.answers.numbers, numbers)
    assert outcome.open == ()
    assert service.checked + service.tasked == count
    assert (service.early_polls, service.refusals[42901]) == (0, 0)
    checks_bound, tasks_bound = bounds(places, tasks_at_once, pace, takes)
    return Simulated(
        count,
        tasks_at_once,
        pace,
        took,
        checks_bound,
        tasks_bound,
        time.process_time() - cpu,
        service,
    )
