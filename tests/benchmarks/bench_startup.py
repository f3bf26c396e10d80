"""How long the program takes to begin: `import carrier_enrich` and `carrier-enrich --help`.

    python tests/benchmarks/bench_startup.py

Each is the median of ten fresh processes with their bytecode compiled, beside a Python that does
nothing on the same machine at the same time.
"""

from __future__ import annotations

import compileall
import statistics
import subprocess
import sys
import time
from pathlib import Path

import carrier_enrich

RUNS = 10

#: What is measured, and how many milliseconds it may take.
BARE = ("python -c pass", ["-c", "pass"], None)
MEASURED = [
    BARE,
    ("import carrier_enrich", ["-c", "import carrier_enrich"], 100),
    ("carrier-enrich --help", ["-m", "carrier_enrich.cli", "--help"], 300),
]


def milliseconds(arguments: list[str]) -> float:
    """What one fresh process takes."""
    before = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return 1_000 * (time.perf_counter() - before)


def main() -> None:
    compileall.compile_dir(Path(carrier_enrich.__file__).parent, quiet=1)
    taken: dict[str, list[float]] = {name: [] for name, _, _ in MEASURED}
    for _ in range(RUNS):
        # In turns, so that a busy moment of the machine falls on all alike.
        for name, arguments, _ in MEASURED:
            taken[name].append(milliseconds(arguments))
    bare = statistics.median(taken[BARE[0]])
    sys.stdout.write(f"{'median of ' + str(RUNS):<24}  {'ms':>5}  {'of bare':>7}  limit\n")
    for name, _, limit in MEASURED:
        median = statistics.median(taken[name])
        most = "" if limit is None else f"{limit} ms"
        sys.stdout.write(f"{name:<24}  {median:>5.0f}  {median / bare:>7.1f}  {most}\n")


if __name__ == "__main__":
    main()
