"""A Spark job that enriches, beside one that only reads, joins and writes; both in one run.

Run as ``python tests/benchmarks/bench_spark.py [--rows N] [--share P] [--memory 4g] [--folder]``.
All numbers are known to the ledger, so that nothing but the machine's work is measured. The rows
are compared with what `carrier_enrich.enrich` makes of the same file as an Arrow table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import carrier_enrich as ce
from carrier_enrich.ledger import Ledger
from carrier_enrich.model import Answers, Lookup, LookupStatus
from carrier_enrich.spark import enrich, set_up_local

#: Distinct things that the service says: carriers, types and regions.
OUTCOMES = tuple(
    Lookup(LookupStatus.FOUND, f"Carrier {i % 40}", None, "mobile", "US", f"Region {i}")
    for i in range(1_500)
)
ADDED = ("carrier", "number_type", "region", "lookup_status")
ROWS_PER_GROUP = 250_000


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Peak:
    """The highest memory of this process and of all below it, from /proc, while it is watched."""

    def __init__(self) -> None:
        self.mib = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.mib = max(self.mib, sum(_proportional(pid) for pid in _family(os.getpid())) / 1024)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _proportional(pid: int) -> int:
    """KiB, each shared page counted once over those who share it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _busy_seconds() -> float:
    """CPU time of this process, of all below it, and of those that have ended."""
    ticks = 0
    for pid in _family(os.getpid()):
        try:
            after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, after_name[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def timed(label: str, seconds: dict[str, float]) -> Iterator[None]:
    start, busy = time.perf_counter(), _busy_seconds()
    with Peak() as peak:
        yield
    seconds[label] = time.perf_counter() - start
    busy = _busy_seconds() - busy
    show(f"{label:<44}{seconds[label]:>9.1f} s{busy:>9.1f} s{peak.mib:>9.0f} MiB")


def write_source(path: Path, rows: int, share: float, seed: int = 3) -> np.ndarray[Any, Any]:
    """A CRM file with one phone column: written in four ways, 2 % junk, 5 % empty."""
    chance = np.random.default_rng(seed)
    line = np.unique(chance.integers(0, 640_000_000, int(rows * share)))
    area, rest = np.divmod(line, 8_000_000)
    numbers = 10_000_000_000 + (201 + area) * 10_000_000 + 2_000_000 + rest
    schema = pa.schema(
        {"id": pa.int64(), "name": pa.string(), "phone": pa.string(), "note": pa.string()}
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, ROWS_PER_GROUP):
            count = min(ROWS_PER_GROUP, rows - start)
            own = pa.array(chance.choice(numbers, count)).cast(pa.string())
            area, office, last = (pc.utf8_slice_codeunits(own, a, b) for a, b in _PARTS)
            written = [
                pc.binary_join_element_wise("+", own, ""),
                pc.binary_join_element_wise("+1 (", area, ") ", office, "-", last, ""),
                pc.binary_join_element_wise("1-", area, "-", office, "-", last, ""),
                pc.binary_join_element_wise("tel:+1.", area, ".", office, ".", last, ""),
            ]
            phones = pc.choose(pa.array(chance.integers(0, 4, count)), *written)
            kind = chance.random(count)
            phones = pc.if_else(pa.array(kind < 0.05), pa.scalar(None, pa.string()), phones)
            phones = pc.if_else(pa.array(kind > 0.98), "n/a", phones)
            ids = np.arange(start, start + count)
            texts = pa.array(ids % 9_973).cast(pa.string())
            names = pc.binary_join_element_wise("Person", texts, " ")
            notes = pc.binary_join_element_wise("met in", texts, " ")
            writer.write_table(pa.table([pa.array(ids), names, phones, notes], schema=schema))
    return numbers


_PARTS = ((1, 4), (4, 7), (7, 11))


def fill_ledger(settings: ce.Settings, numbers: np.ndarray[Any, Any]) -> None:
    """Every number answered, as if bought by an earlier run."""
    chance = np.random.default_rng(1)
    with Ledger.open(
        settings.ledger_url, service=settings.service, account=settings.account
    ) as ledger:
        for start in range(0, len(numbers), 1_000_000):
            part = numbers[start : start + 1_000_000]
            codes = chance.integers(0, len(OUTCOMES), len(part)).astype(np.int32)
            with ledger.db.transaction():
                answers = Answers(part, codes, OUTCOMES)
                ledger.knowledge.write(answers, purchase_id=0, now=time.time())


def plain_job(spark: Any, source: Path, answers: Path, target: Path) -> None:
    """Read, join by an integer that stands in the row, write: what Spark itself takes."""
    rows, known = spark.read.parquet(str(source)), spark.read.parquet(str(answers))
    rows.join(known, "number", "left").write.parquet(str(target))


def our_job(
    spark: Any, source: Path, target: Path, settings: ce.Settings, folder: str | None
) -> ce.Receipt:
    receipts: list[ce.Receipt] = []
    out = enrich(
        spark.read.parquet(str(source)),
        "phone",
        settings=settings,
        folder=folder,
        on_receipt=receipts.append,
    )
    out.write.parquet(str(target))
    return receipts[0]


def disagreements(source: Path, target: Path, settings: ce.Settings, place: Path) -> int:
    """Rows in which Spark's file differs from the Arrow table's enrichment, by their ids."""
    wanted = ce.enrich(pq.read_table(source), "phone", settings=settings)
    pq.write_table(wanted, place / "wanted.parquet", row_group_size=ROWS_PER_GROUP)
    found = ds.dataset(target).to_table().sort_by("id")
    if found.num_rows != wanted.num_rows or found.column_names != wanted.column_names:
        return max(found.num_rows, wanted.num_rows)
    same = np.ones(found.num_rows, np.bool_)
    for name in wanted.column_names:
        ours, theirs = found[name], wanted[name]
        equal = pc.or_kleene(pc.equal(ours, theirs), pc.and_(pc.is_null(ours), pc.is_null(theirs)))
        same &= pc.fill_null(equal, False).to_numpy()
    return int((~same).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.2, help="distinct numbers per row")
    parser.add_argument("--memory", default="4g", help="of Spark's JVM")
    parser.add_argument("--folder", action="store_true", help="answers through Parquet files")
    given = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    set_up_local()
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        place = Path(name)
        source = place / "crm.parquet"
        numbers = write_source(source, given.rows, given.share)
        settings = ce.Settings.of(
            {}, base_url="http://127.0.0.1:9", api_key="none", ledger=str(place / "ledger.db")
        )
        fill_ledger(settings, numbers)
        show(f"{given.rows:,} rows, {len(numbers):,} numbers, {source.stat().st_size >> 20} MiB")
        # The plain job gets for nothing what ours has to find out: the number in each row.
        keyed = pq.read_table(source)
        positions = np.random.default_rng(2).integers(0, len(numbers), given.rows)
        keyed = keyed.append_column("number", pa.array(numbers[positions]))
        pq.write_table(keyed, place / "keyed.parquet", row_group_size=ROWS_PER_GROUP)
        texts = [OUTCOMES[at % len(OUTCOMES)] for at in range(len(numbers))]
        fields = {field: [getattr(text, field) for text in texts] for field in ADDED[:3]}
        pq.write_table(pa.table({"number": numbers, **fields}), place / "answers.parquet")
        del keyed, texts, fields
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", given.memory)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        # A JVM's first job is slower than any later one.
        spark.read.parquet(str(place / "answers.parquet")).write.parquet(str(place / "warm"))
        show(f"{'':<44}{'wall':>11}{'CPU':>11}{'all processes':>16}")
        seconds: dict[str, float] = {}
        folder = (place / "exchange").as_uri() if given.folder else None
        with timed("Spark reads, joins and writes", seconds):
            plain_job(spark, place / "keyed.parquet", place / "answers.parquet", place / "plain")
        with timed("carrier_enrich.spark: enriches and writes", seconds):
            receipt = our_job(spark, source, place / "ours", settings, folder)
        spark.stop()
        plain, ours = seconds.values()
        show(f"ratio {ours / plain:.2f}; {receipt.known:,} numbers known, {receipt.bought} bought")
        wrong = disagreements(source, place / "ours", settings, place)
        show(f"{wrong} of {given.rows:,} rows differ from the same file enriched as a table")
        if wrong or not receipt.adds_up:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
