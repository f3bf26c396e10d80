"""How long it takes to read phone numbers, to join answers, and to record a result file.

Run as ``python tests/benchmarks/bench_frames.py [--rows N] [--share PERCENT] [--agree]``. Every
ratio is taken in this one run. What takes minutes of itself (`phonenumbers` row by row) is timed
on a sample and multiplied; the table says so. ``--agree`` holds every distinct text against its
reading one by one, which takes some minutes more.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import phonenumbers
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from carrier_enrich.frames import crosswalk, join_back
from carrier_enrich.ledger import Balance, Budget, Freshness, Ledger, Purchase
from carrier_enrich.model import (
    Answers,
    BulkTask,
    Call,
    CallKind,
    Lookup,
    LookupStatus,
    Product,
    TaskStatus,
)
from carrier_enrich.phones import country_code, normalise
from carrier_enrich.phones.plans import region_names
from carrier_enrich.phones.reading import read
from carrier_enrich.results import read_result
from carrier_enrich.sandbox import SandboxConfig
from carrier_enrich.sandbox.crm_export import contacts
from carrier_enrich.sandbox.result_files import rows_of, write_result

SAMPLE = 30_000
TURNS = 5

#: What was done, beside what, and how many times as quick.
Figure = tuple[str, str, float]


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def timed(work: Callable[[], Any], label: str = "") -> tuple[float, Any]:
    start = time.perf_counter()
    made = work()
    seconds = time.perf_counter() - start
    if label:
        show(f"  {label:<58}{seconds:>9.2f} s")
    return seconds, made


def texts_of(count: int) -> list[tuple[str, str | None]]:
    """Distinct phone texts as a CRM holds them, each with the country that stands beside it."""
    chance = random.Random(1)
    shapes: dict[str, str | None] = {}
    for person in contacts(60_000, seed=1):
        home = country_code(person.country or "")
        for cell in (person.mobile, person.office_phone):
            if cell.text:
                shapes.setdefault(cell.text, home)
    found: dict[str, str | None] = {}
    known = list(shapes.items())
    while len(found) < count:
        for text, home in known:
            # Other subscribers of the same plan, written the same way.
            at, digits = len(text), 0
            tail = list(text)
            while at and digits < 4:
                at -= 1
                if tail[at].isdigit():
                    tail[at] = chance.choice("0123456789")
                    digits += 1
            found.setdefault("".join(tail), home)
            if len(found) == count:
                break
    return list(found.items())


def one_by_one(pairs: list[tuple[str, str | None]]) -> None:
    """What a loop over rows does with `phonenumbers`."""
    for text, home in pairs:
        try:
            number = phonenumbers.parse(text, home)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_possible_number(number):
            phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
            phonenumbers.region_code_for_number(number)


def bench_reading(rows: int, share: int, *, agree: bool) -> list[Figure]:
    """Texts to distinct numbers."""
    figures = []
    what = f"read {rows:,} mixed texts, {share} % distinct"
    distinct = rows * share // 100
    pairs = texts_of(distinct)
    chance = np.random.default_rng(1)
    again = chance.integers(0, distinct, rows - distinct)
    at = pa.array(chance.permutation(np.concatenate([np.arange(distinct), again])))
    table = pa.table(
        {
            "phone": pa.array([text for text, _ in pairs]).take(at),
            "country": pa.array([home for _, home in pairs]).take(at),
        }
    )
    show(f"reading {rows:,} mixed texts, {share} % distinct")
    ours, _ = timed(lambda: crosswalk(table, "phone", country_column="country"), "this package")
    phonenumbers.enable_pattern_cache()
    sample = random.Random(3).sample(pairs, min(SAMPLE, len(pairs)))
    each = timed(lambda: one_by_one(sample))[0] / len(sample)
    first, _ = timed(lambda: table.column("phone").dictionary_encode())
    by_row, by_text = each * rows, each * distinct + first
    for each_what, theirs in (("row", by_row), ("distinct text", by_text)):
        label = f"phonenumbers for each {each_what} (from a sample)"
        show(f"  {label:<58}{theirs:>9.2f} s{theirs / ours:>8.1f} x")
        figures.append((what, f"phonenumbers for each {each_what}", theirs / ours))
    if agree:
        texts, homes = [text for text, _ in pairs], [home for _, home in pairs]
        done, names = normalise(texts, homes), (*region_names(), None)
        wrong = 0
        for place, (text, home) in enumerate(pairs):
            alone = read(text, home)
            wrong += (
                alone.number != done.numbers[place] or alone.region != names[done.regions[place]]
            )
        show(f"  {len(pairs):,} distinct texts read one by one too: {wrong} differ")
    return figures


def lookups_of(count: int) -> tuple[Lookup, ...]:
    return tuple(
        Lookup(LookupStatus.FOUND, f"Carrier {i % 200}", None, "mobile", "US", f"Region {i}")
        for i in range(count)
    )


def _joined(frame: Any, answers: Answers, columns: list[Any]) -> tuple[float, Figure]:
    """Seconds of the join, beside a take of the same columns by the same codes."""
    kind = type(frame).__module__.partition(".")[0]
    walk = crosswalk(frame, "phone")
    codes = pa.array(answers.codes[walk.columns[0].index])
    theirs, mine = [], []
    for _ in range(TURNS):
        theirs.append(timed(lambda: [c.take(codes) for c in columns])[0])
        mine.append(timed(lambda: join_back(frame, walk, answers))[0])
    bare, ours = statistics.median(theirs), statistics.median(mine)
    show(f"  {f'bare take of four columns ({kind})':<58}{bare:>9.2f} s")
    show(f"  {f'this package, {kind}':<58}{ours:>9.2f} s")
    show(f"  {'':<58}{ours / bare:>17.2f} x take (medians of {TURNS})")
    what = f"join answers to {len(frame):,} rows, {kind}"
    return ours, (what, "a bare take of the same columns", bare / ours)


def bench_joining(rows: int, share: int) -> list[Figure]:
    """Answers back to the rows: three columns of text and the status."""
    distinct = rows * share // 100
    chance = np.random.default_rng(4)
    numbers = np.sort(chance.choice(9 * 10**8, distinct, replace=False)) + 447_000_000_000
    at = chance.integers(0, distinct, rows)
    texts = pc.binary_join_element_wise("+", pa.array(numbers).cast(pa.string()), "")
    phones = texts.take(pa.array(at))
    answers = Answers(
        numbers, chance.integers(0, 2_000, distinct).astype(np.int32), lookups_of(2_000)
    )
    fields = ("carrier", "number_type", "region", "status")
    columns = [pa.array([str(getattr(x, f)) for x in answers.lookups]) for f in fields]
    show(f"joining {rows:,} rows with {distinct:,} answers")
    frame = pd.DataFrame({"phone": pd.array(phones.cast(pa.large_string()), dtype="str")})
    _, first = _joined(pa.table({"phone": phones}), answers, columns)
    ours, second = _joined(frame, answers, columns)
    told = pd.DataFrame(
        {"phone": texts.to_pandas()}
        | {f: columns[i].take(pa.array(answers.codes)).to_pandas() for i, f in enumerate(fields)}
    )
    merged, _ = timed(lambda: frame.merge(told, on="phone", how="left"), "pandas merge on the text")
    show(f"  {'':<58}{merged / ours:>17.1f} x this package")
    return [first, second, (second[0], "pandas merge on the text", merged / ours)]


def us_numbers(count: int) -> Any:
    """Distinct US numbers of five area codes, ascending."""
    areas = np.array([212, 305, 312, 415, 617]) * 10**7 + 10**10
    lines = np.random.default_rng(5).choice(8 * 10**6, count, replace=False) + 2 * 10**6
    return np.sort(areas[np.arange(count) % len(areas)] + lines)


def bench_result(count: int, folder: Path) -> list[Figure]:
    """A ZIP as the sandbox makes it to answers in the ledger, and pyarrow reading it, in turns."""
    numbers = us_numbers(count)
    path = folder / "result.zip"
    rows = rows_of(np.random.default_rng(6).permutation(numbers).tolist())
    write_result(path, rows, "global_carrier_batch", SandboxConfig())
    show(f"a result file of {count:,} rows, {path.stat().st_size / 1e6:.0f} MB zipped")

    def alone() -> Any:
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            return pyarrow.csv.read_csv(member)

    def recorded(ledger: Ledger, kept: Purchase, now: float) -> None:
        product = Product.GLOBAL_CARRIER_BATCH
        result = read_result(path, numbers, product=product, expected=count)
        ledger.purchases.collected(kept, result.answers, charged=0, now=now)

    theirs, ours = [], []
    for turn in range(TURNS):
        theirs.append(timed(alone)[0])
        now = time.time()
        url = f"sqlite:///{folder / f'ledger-{turn}.db'}"
        with Ledger.open(url, service="b", account="b") as ledger:
            kept = _bought(ledger, numbers, now)
            ours.append(timed(lambda: recorded(ledger, kept, now))[0])  # noqa: B023 - at once
            assert len(ledger.knowledge.recall(numbers, Freshness(0.0, 0.0))) == count
    bare, mine = statistics.median(theirs), statistics.median(ours)
    show(f"  {'pyarrow alone, from the ZIP to a table':<58}{bare:>9.2f} s")
    show(f"  {'this package, from the ZIP to a committed ledger':<58}{mine:>9.2f} s")
    show(f"  {'':<58}{mine / bare:>17.1f} x pyarrow (medians of {TURNS})")
    what = f"result file of {count:,} rows to committed ledger"
    return [(what, "pyarrow reading it", bare / mine)]


def _bought(ledger: Ledger, numbers: Any, now: float) -> Purchase:
    """A purchase of these numbers whose task is finished."""
    run = ledger.leases.begin(now)
    call = Call(CallKind.BULK_TASK, numbers, Product.GLOBAL_CARRIER_BATCH, "US", 0)
    ledger.knowledge.claim(numbers, run, ledger.purchases.account_id)
    purchase = ledger.purchases.intend(
        call, b"x", run_id=run, budget=Budget("b"), balance=Balance(1, now), now=now
    )
    count = len(numbers)
    told = BulkTask("t", "global_carrier_batch", TaskStatus.SUCCESS, "US", count, "", count, 0)
    return ledger.purchases.finished(ledger.purchases.submitted(purchase, told, now), told)


def main() -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--share", type=int, default=20, help="per cent of the texts distinct")
    options.add_argument("--agree", action="store_true")
    given = options.parse_args()
    bench_reading(given.rows, given.share, agree=given.agree)
    bench_joining(given.rows, given.share)
    folder = Path(tempfile.mkdtemp(prefix="carrier-enrich-bench-"))
    try:
        bench_result(500_000, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
