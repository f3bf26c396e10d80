"""Thirty days of overlapping exports, backfilled by Dagster's own daemon over one account.

    python tests/benchmarks/backfill.py [--days 30] [--rows 5000] [--at-once 4]

Every day's export keeps most contacts of the day before. `dg dev` serves the project, the backfill
is launched as the page launches it, and the sandbox counts requests, refusals and charges.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.dagster_dev import DevServer, dev_server  # found by the line above

from carrier_enrich.files import write_table
from carrier_enrich.sandbox import RunningSandbox, SandboxConfig, running_sandbox
from carrier_enrich.sandbox.crm_export import crm_export

FIRST = date(2026, 3, 1)
#: Contacts that leave, and come, from one day to the next.
MOVED = 50
SECONDS = 7_200.0

_DAGSTER = """\
telemetry: {{enabled: false}}
concurrency:
  runs: {{max_concurrent_runs: {at_once}}}
  pools: {{default_limit: 1, granularity: op}}
"""
_ASSETS = """{ assetNodes(group: {groupName: "carrier_daily",
  repositoryName: "__repository__", repositoryLocationName: "dagster_project"}) {
  assetKey { path } isPartitioned } }"""
_RUNS = """{ runsOrError { ... on Runs { results { status startTime endTime } } } }"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rows", type=int, default=5_000, help="of each day's export")
    parser.add_argument("--at-once", type=int, default=4, help="runs at once, at most")
    given = parser.parse_args()
    days = [FIRST + timedelta(days=at) for at in range(given.days)]
    config = SandboxConfig(task_seconds=4.0, poll_seconds=1.0, multi_seconds=0.15)
    with tempfile.TemporaryDirectory() as name, running_sandbox(config) as service:
        place = Path(name)
        (place / "dagster.yaml").write_text(_DAGSTER.format(at_once=given.at_once))
        write_exports(place / "exports" / "daily", days, given.rows)
        environ = {
            "DAGSTER_HOME": name,
            "CRM_EXPORTS": str(place / "exports"),
            "CRM_FIRST_DAY": FIRST.isoformat(),
            "CARRIER_ENRICH_BASE_URL": service.base_url,
            "CARRIER_ENRICH_API_KEY": service.api_key,
            "CARRIER_ENRICH_LEDGER": str(place / "ledger.db"),
            "CARRIER_ENRICH_POLL_SECONDS": str(config.poll_seconds),
            "CARRIER_ENRICH_PRICE_SINGLE_USD": str(config.price_single_micros / 1_000_000),
            "CARRIER_ENRICH_PRICE_MULTI_USD": str(config.price_multi_micros / 1_000_000),
        }
        with dev_server(place, **environ) as server:
            started = time.monotonic()
            ended = backfill(server, days)
            seconds = time.monotonic() - started
            rows = list(figures(server, service, place, ended, seconds))
    width = max(len(label) for label, _ in rows)
    sys.stdout.write("".join(f"{label:<{width}}  {value}\n" for label, value in rows))


def write_exports(folder: Path, days: list[date], rows: int) -> None:
    """Each day's export, as the CRM would have put it there."""
    folder.mkdir(parents=True)
    contacts = crm_export(rows + MOVED * len(days))
    for at, day in enumerate(days):
        write_table(contacts.slice(at * MOVED, rows), folder / f"crm_export_{day}.parquet")


def backfill(server: DevServer, days: list[date]) -> str:
    """How the backfill of all daily assets has ended."""
    found = server.query(_ASSETS)["assetNodes"]
    assets = [node["assetKey"]["path"] for node in found if node["isPartitioned"]]
    started = server.backfill(assets, [day.isoformat() for day in days])
    return server.backfilled(started, SECONDS)


def figures(
    server: DevServer, service: RunningSandbox, place: Path, ended: str, seconds: float
) -> Iterator[tuple[str, str]]:
    """What Dagster and the service have counted."""
    runs = server.query(_RUNS)["runsOrError"]["results"]
    report = service.control.report()
    limits, requests = report["limits"], report["requests"]
    files = sorted(place.rglob("daily.crm_enriched.parquet"))
    statuses = pa.concat_arrays(
        chunk
        for path in files
        for name in ("mobile_lookup_status", "office_phone_lookup_status")
        for chunk in pq.read_table(path)[name].chunks
    )
    counts = {entry["values"]: entry["counts"] for entry in statuses.value_counts().to_pylist()}
    charges = report["charges"].values()
    yield "backfill", f"{ended}, {seconds:,.0f} s, on this machine"
    yield "runs", f"{sum(run['status'] == 'SUCCESS' for run in runs)} of {len(runs)} succeeded"
    yield "enriched files", f"{len(files)}, {len(statuses):,} phone cells"
    yield "cells", ", ".join(f"{name} {times:,}" for name, times in sorted(counts.items()))
    yield "requests", ", ".join(f"{kind} {times:,}" for kind, times in sorted(requests.items()))
    yield "refusals", ", ".join(f"{k}: {n}" for k, n in report["refusals"].items()) or "none"
    yield "in flight at once, at most", f"{limits['max_in_flight']}"
    yield "multi checks at once, at most", f"{limits['max_multis_at_once']}"
    yield "polls that came too early", f"{limits['early_polls']}"
    yield "numbers charged", f"{len(charges):,}, each at most {max(charges, default=0)} times"
    yield "cost", f"{report['charged_micros'] / 1_000_000:.3f} USD"


if __name__ == "__main__":
    main()
