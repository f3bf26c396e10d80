"""``python -m carrier_enrich.sandbox``: a sandbox as a process of its own."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from carrier_enrich.sandbox.config import SandboxConfig


def main() -> None:
    """Serve until told to stop; one line on standard output says where."""
    parser = argparse.ArgumentParser(
        prog="python -m carrier_enrich.sandbox",
        description="Serve the carrier lookup service's sandbox on loopback.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--state", type=Path, help="a file that keeps money and tasks")
    parser.add_argument("--config", default="{}", help="fields of SandboxConfig as JSON")
    given = parser.parse_args()
    try:
        values = json.loads(given.config)
        if given.state is not None:
            values["state_path"] = str(given.state)
        config = SandboxConfig.of(values)
    except (ValueError, TypeError) as error:
        parser.error(f"--config: {error}")
    from carrier_enrich.sandbox.server import serve

    serve(config, port=given.port, on_ready=_announce)


def _announce(base_url: str) -> None:
    sys.stdout.write(f"sandbox ready {base_url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
