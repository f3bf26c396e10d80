"""Many processes on one ledger: each number once, no limit broken, no storm of refusals."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

PROCESSES = 8


def test_eight_processes_buy_each_number_once(arena, source):
    """Eight overlapping runs at once: every number is charged once, and limits hold."""
    arena.sandbox.control.configure(multi_seconds=0.05, single_seconds=0.02, poll_seconds=0.2)
    files = {
        f"crm-{n}": source(f"crm-{n}", seed=3, us=1_000 + 20 * n, gb=100 + 40 * n)
        for n in range(PROCESSES)
    }
    paces = {name: "fast" if n % 2 else "polite" for n, name in enumerate(files)}
    workers = {name: arena.start(file, name, pace=paces[name]) for name, file in files.items()}
    assert all(arena.finish(worker, name, within=200) for name, worker in workers.items())
    for name, file in files.items():
        arena.check(file, name)

    report = arena.sandbox.control.report()
    assert set(report["charges"].values()) == {1}
    phones = {p for file in files.values() for p in pq.read_table(file)["phone"].to_pylist()}
    assert len(report["charges"]) == len(phones)
    limits = report["limits"]
    assert limits["max_in_flight"] <= 5
    assert limits["max_multis_at_once"] == 1
    assert limits["refused_42901"] <= 5
    assert limits["early_polls"] == 0
    receipts = [json.loads((arena.folder / f"{name}.json").read_text()) for name in files]
    assert sum(receipt["bought"] for receipt in receipts) == len(report["charges"])
    assert sum(receipt["charged_micros"] for receipt in receipts) == report["charged_micros"]
    rows = {pq.read_table(arena.folder / f"{name}.parquet").num_rows for name in files}
    assert len(rows) == PROCESSES
