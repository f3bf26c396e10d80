"""Wall time against the lower bound of the service's limits, on a virtual clock.

    python tests/benchmarks/simulate.py [NUMBERS ...]

The real engine buys a million and ten million unknown numbers of 60 countries, with a real SQLite
ledger, from a service that keeps its limits and takes its time without anybody sleeping; see
`support.simulation` for how the bound is derived, and `--help` for the latencies. Ends with 1 where
a ratio is above 1.15.

The latencies are assumed, as the service publishes none. What they decide is how much the 30
seconds between two polls weigh: with tasks of minutes the ratio nears 1, and where a task of the
mean size is over in a minute and a half (`--task-number 0.002`), a million numbers take 1.23.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.simulation import Simulated, simulate
from support.virtual_service import Latencies

TASKS_AT_ONCE = (1, 3, 10)
WITHIN = 1.15

HEAD = (
    f"{'numbers':>11} {'tasks':>5} {'pace':>7} {'wall':>9} {'bound':>9} {'ratio':>6}  "
    f"{'bound of checks':>15} {'of tasks':>9}  {'42900':>5} {'CPU s':>6}"
)


def line(run: Simulated) -> str:
    """One run as a row of the table; times in minutes but for the CPU's."""
    return (
        f"{run.numbers:>11,} {run.tasks_at_once:>5} {run.pace:>7} {run.seconds / 60:>9.1f} "
        f"{run.bound / 60:>9.1f} {run.ratio:>6.3f}  {run.checks_bound / 60:>15.1f} "
        f"{run.tasks_bound / 60:>9.1f}  {run.service.refusals[42900]:>5} {run.cpu_seconds:>6.0f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="simulated wall time against its lower bound")
    parser.add_argument("numbers", nargs="*", type=int, default=[1_000_000, 10_000_000])
    for field in fields(Latencies):
        name = f"--{field.name.replace('_', '-')}"
        parser.add_argument(name, type=float, default=field.default, help="seconds")
    given = parser.parse_args()
    latencies = Latencies(**{field.name: getattr(given, field.name) for field in fields(Latencies)})
    sys.stdout.write(f"minutes of virtual time; {latencies}\n{HEAD}\n")
    worst = 0.0
    for count in given.numbers:
        for at_once in TASKS_AT_ONCE:
            for pace in ("polite", "fast"):
                with tempfile.TemporaryDirectory() as folder:
                    run = simulate(
                        count, Path(folder), tasks_at_once=at_once, pace=pace, latencies=latencies
                    )
                sys.stdout.write(line(run) + "\n")
                sys.stdout.flush()
                worst = max(worst, run.ratio)
    sys.stdout.write(f"largest ratio: {worst:.3f} (at most {WITHIN})\n")
    return int(worst > WITHIN)


if __name__ == "__main__":
    sys.exit(main())
