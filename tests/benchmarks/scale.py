"""The README's figures of scale: the table and the picture, from one run.

Run as ``python tests/benchmarks/scale.py [--rows N] [--file-rows N]``, with nothing else going on;
by default with 10 million rows in memory and 50 million in a file. Writes scale.md and scale.png
beside this file; the README shows both.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).parent))

from bench_files import bench_files
from bench_frames import Figure, bench_joining, bench_reading, bench_result

HERE = Path(__file__).parent


def table(figures: list[Figure]) -> str:
    """The figures as a table in markdown."""
    lines = ["| What | Beside | Speed |", "| --- | --- | ---: |"]
    lines += [f"| {what} | {beside} | {times:.2g} x |" for what, beside, times in figures]
    return "\n".join(lines) + "\n"


def picture(figures: list[Figure], path: Path) -> None:
    """The figures as bars on a scale of powers of ten."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    labels = [f"{what}\nbeside {beside}" for what, beside, _ in figures][::-1]
    times = [times for _, _, times in figures][::-1]
    chart, axes = plt.subplots(figsize=(8, 0.55 * len(figures) + 0.8), dpi=120)
    colours = ["#24805f" if value >= 1 else "#3a76b8" for value in times]
    bars = axes.barh(labels, [value - 1 for value in times], left=1, color=colours)
    axes.set_xscale("log")
    axes.axvline(1, color="#444", linewidth=0.8)
    for bar, value in zip(bars, times, strict=True):
        at, side = (value * 1.06, "left") if value >= 1 else (value / 1.06, "right")
        middle = bar.get_y() + bar.get_height() / 2
        axes.text(at, middle, f"{value:.2g} x", va="center", ha=side, fontsize=8)
    axes.set_xlim(min(times) / 2, max(times) * 2)
    axes.set_xlabel("times as quick (1: the same)", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    chart.savefig(path, bbox_inches="tight")


def main() -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--file-rows", type=int, default=50_000_000)
    given = options.parse_args()
    figures = bench_reading(given.rows, 20, agree=False)
    figures += bench_joining(given.rows, 20)
    folder = Path(tempfile.mkdtemp(prefix="carrier-enrich-bench-"))
    try:
        figures += bench_result(500_000, folder)
    finally:
        shutil.rmtree(folder)
    figures += bench_files(given.file_rows, given.file_rows // 5)
    (HERE / "scale.md").write_text(table(figures))
    picture(figures, HERE / "scale.png")


if __name__ == "__main__":
    main()
