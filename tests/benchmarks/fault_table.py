"""A figure for each fault of the table: how often it was tried, how often survived.

    python tests/benchmarks/fault_table.py

Runs the fault tests (the sandbox does each fault over real HTTP) and counts their ends by fault.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


class Table:
    """Counts the ends of tests by what stands in their brackets."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        name = report.nodeid.partition("[")[2].rstrip("]") or report.nodeid.rpartition("::")[2]
        self.tried[name] += 1
        self.survived[name] += report.passed

    def text(self) -> str:
        width = max(map(len, self.tried))
        rows = [
            f"{name:<{width}}  {tried:>5}  {self.survived[name]:>8}"
            for name, tried in self.tried.items()
        ]
        total = f"{'all':<{width}}  {self.tried.total():>5}  {self.survived.total():>8}"
        return "\n".join([f"{'fault':<{width}}  tried  survived", *rows, total])


if __name__ == "__main__":
    table = Table()
    code = pytest.main(["-q", "-p", "no:xdist", str(TESTS / "engine" / "test_faults.py")], [table])
    sys.stdout.write(table.text() + "\n")
    sys.exit(code)
