"""A hundred seeded kills, and what they cost.

    python tests/benchmarks/kills.py [KILLS] [--ledger postgresql://...]

Runs of 1,130 numbers are killed with SIGKILL at seeded random moments, started again until they
come through, and checked: every row, every charge. The sandbox counts the charges.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.arena import SLOW, Arena, write_source  # found by the line above

from carrier_enrich.sandbox import SandboxConfig, running_sandbox


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kills", nargs="?", type=int, default=100)
    parser.add_argument("--ledger", help="a database URL; by default SQLite, new for each round")
    given = parser.parse_args()
    kills = rounds = rows = by_tasks = again = reported = 0
    while kills < given.kills:
        chance = random.Random(rounds)
        with tempfile.TemporaryDirectory() as name, running_sandbox(SandboxConfig(**SLOW)) as box:
            folder = Path(name)
            arena = Arena(box, given.ledger or f"sqlite:///{folder / 'ledger.db'}", folder)
            file = write_source(folder / "source.parquet", seed=rounds)
            moments = iter([chance.uniform(0.6, 3.0) for _ in range(8)])
            arena.run_until_done(file, "crm", lambda moments=moments: next(moments, None))
            arena.check(file, "crm")
            arena.check_money()
            charges = box.control.report()
            kills += arena.kills
            rounds += 1
            rows += charges["charged"]["numbers"]
            by_tasks += (
                charges["charged"]["charges_by_tasks"] - charges["charged"]["numbers_by_tasks"]
            )
            again += sum(times > 1 for times in charges["charges"].values())
            reported += arena.unknown_numbers()
    sys.stdout.write(
        f"{kills} kills over {rounds} rounds of 1,130 numbers\n"
        f"rows right                           {rows:,} of {rounds * 1_130:,}\n"
        f"numbers charged twice by bulk tasks  {by_tasks}\n"
        f"numbers charged again by checks      {again}\n"
        f"numbers reported as charge_unknown   {reported}\n"
    )


if __name__ == "__main__":
    main()
