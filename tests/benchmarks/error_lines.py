"""The line of every error of the tree, each met for real on a sandbox.

python tests/benchmarks/error_lines.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.error_causes import Stage
from support.error_lines import CASES
from support.timing import Clock

from carrier_enrich.cli.running import lines_of
from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.sandbox import SandboxConfig, running_sandbox


def main() -> None:
    for case in CASES:
        with (
            running_sandbox(SandboxConfig(undetermined_share=0.0)) as sandbox,
            tempfile.TemporaryDirectory() as folder,
        ):
            try:
                case.trigger(Stage(sandbox, Path(folder), Clock()))
            except CarrierEnrichError as error:
                told = "\n".join(lines_of(error))
                head = f"{type(error).__name__} (exit {error.exit_code}): {case.cause}"
                sys.stdout.write(f"{head}\n{told}\n\n")


if __name__ == "__main__":
    main()
