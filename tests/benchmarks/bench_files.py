"""How long enriching a Parquet file takes beside a bare copy of it, and how much memory.

Run as ``python tests/benchmarks/bench_files.py [--rows N] [--distinct N]``. Every number is known
in the ledger, so nothing is sent. Each step runs in a process of its own; its peak memory is what
the operating system says.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import phonenumbers
import pyarrow as pa
import pyarrow.parquet as pq
from phonenumbers import PhoneNumberType

COUNTRIES = 60
PIECE = 1 << 20
BASE_URL, KEY = "http://127.0.0.1:9", "bench-key"


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def numbers_of(count: int) -> Any:
    """Distinct possible numbers of many countries, as E.164 integers, ascending."""
    regions = sorted(phonenumbers.SUPPORTED_REGIONS)
    heads: set[int] = set()
    for region in regions:
        example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
        if example and 9 <= len(str(example.national_number)) <= 11 and len(heads) < COUNTRIES:
            whole = int(phonenumbers.format_number(example, 0)[1:])
            heads.add(whole // 10**6 * 10**6)
    each = -(-count // len(heads))
    chance = np.random.default_rng(1)
    found = [head + chance.choice(10**6, each, replace=False) for head in sorted(heads)]
    return np.sort(np.concatenate(found))[:count]


def make(path: Path, rows: int, distinct: int) -> None:
    """A CRM export of five columns."""
    numbers = pa.array(numbers_of(distinct)).cast(pa.string())
    texts = pa.compute.binary_join_element_wise("+", numbers, "")
    chance = np.random.default_rng(2)
    names = pa.array([f"Contact {i}" for i in range(5_000)])
    cities = pa.array([f"City {i}" for i in range(500)])
    writer = None
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        ids = np.arange(start, start + n)
        # Every number stands somewhere, the rest wherever chance puts it.
        at = np.where(ids < distinct, ids, chance.integers(0, distinct, n))
        table = pa.table(
            {
                "id": ids,
                "name": names.take(pa.array(chance.integers(0, len(names), n))),
                "phone": texts.take(pa.array(chance.permutation(at))),
                "city": cities.take(pa.array(chance.integers(0, len(cities), n))),
                "amount": chance.integers(0, 10**6, n),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def settings(folder: Path) -> Any:
    from carrier_enrich import Settings

    ledger = str(folder / "ledger.db")
    return Settings.of({}, base_url=BASE_URL, api_key=KEY, ledger=ledger)


def fill(folder: Path, distinct: int) -> None:
    """A ledger that knows every number."""
    from carrier_enrich.ledger import Ledger
    from carrier_enrich.model import Answers, Lookup, LookupStatus

    known = settings(folder)
    lookups = tuple(
        Lookup(LookupStatus.FOUND, f"Carrier {i % 200}", None, "mobile", "US", f"Region {i}")
        for i in range(2_000)
    )
    numbers = numbers_of(distinct)
    codes = np.random.default_rng(3).integers(0, len(lookups), len(numbers)).astype(np.int32)
    with Ledger.open(known.ledger_url, service=known.service, account=known.account) as ledger:
        for start in range(0, len(numbers), 1_000_000):
            part = slice(start, start + 1_000_000)
            with ledger.db.transaction():
                answers = Answers(numbers[part], codes[part], lookups)
                ledger.knowledge.write(answers, purchase_id=0, now=time.time())


def copy(source: Path, target: Path, options: dict[str, Any]) -> None:
    """Read and write the same file, streamed, and nothing else."""
    with (
        pq.ParquetFile(source) as file,
        pq.ParquetWriter(target, file.schema_arrow, **options) as writer,
    ):
        for batch in file.iter_batches(1 << 18):
            writer.write_batch(batch)


def enrich(source: Path, target: Path) -> None:
    """The file with carrier, number type and region beside each number."""
    from carrier_enrich import Enricher

    with Enricher(settings(source.parent)) as enricher:
        receipt = enricher.enrich_file(source, target, "phone")
    assert receipt.adds_up
    assert dict(receipt.cells) == {"found": receipt.rows}


def apart(label: str, work: Callable[..., None], *values: object) -> float:
    """Seconds of some work in a process of its own; shows them with its peak memory."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measured, args=(theirs, work, *values))
    process.start()
    theirs.close()
    seconds, peak = ours.recv()
    process.join()
    assert process.exitcode == 0
    show(f"{label:<44}{seconds:>9.1f} s{peak / 1024:>9.0f} MB")
    return float(seconds)


def _measured(pipe: Any, work: Callable[..., None], *values: object) -> None:
    start = time.perf_counter()
    work(*values)
    pipe.send((time.perf_counter() - start, _peak()))


def _peak() -> int:
    """KiB of memory at most; Linux hands its other figure down from the parent process."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.read_text().partition("VmHWM:")[2].split()[0])


def bench_files(rows: int, distinct: int) -> list[tuple[str, str, float]]:
    """What was done, beside what, and how many times as quick."""
    folder = Path(tempfile.mkdtemp(prefix="carrier-enrich-bench-"))
    source, target = folder / "crm.parquet", folder / "out.parquet"
    try:
        apart("make the file", make, source, rows, distinct)
        apart("fill the ledger", fill, folder, distinct)
        size = source.stat().st_size / 1e6
        show(f"{rows:,} rows, {distinct:,} distinct numbers, {size:,.0f} MB")
        usual = apart("copy", copy, source, target, {})
        gaining = {"use_dictionary": ["name", "city"]}
        lean = apart("copy, dictionaries only where they gain", copy, source, target, gaining)
        ours = apart("enrich", enrich, source, target)
        show(f"enrich / copy: {ours / usual:.2f} (lean copy: {ours / lean:.2f})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    what = f"enrich a Parquet file of {rows:,} rows, all known"
    return [(what, "a streamed copy of the file", usual / ours)]


def main() -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=50_000_000)
    options.add_argument("--distinct", type=int, default=10_000_000)
    given = options.parse_args()
    bench_files(given.rows, given.distinct)


if __name__ == "__main__":
    main()
