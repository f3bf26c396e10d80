"""The whole job in one process, on the embedded sandbox: what a newcomer sees first."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrier_enrich.errors import CarrierEnrichError

if TYPE_CHECKING:
    import dagster as dg

ROWS = 6_000
PHONES = ("mobile", "office_phone")
COUNTRY_COLUMN = "country"


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demonstration has done. Amounts are micros of USD.

    Attributes:
        file: the enriched export.
        receipt: as `Receipt.to_dict`.
        rows: of the export.
        cells_by_status: phone cells by `lookup_status`.
        carriers, number_types: how often each was found, most frequent first.
        requests: sent, by kind.
        charged, saved: what it cost, and what paying again for repeated numbers would have.
        checks: the asset checks, and whether each passed.
        seconds: wall time of the run.
    """

    file: Path
    receipt: Mapping[str, Any]
    rows: int
    cells_by_status: Mapping[str, int]
    carriers: Mapping[str, int]
    number_types: Mapping[str, int]
    requests: Mapping[str, int]
    charged: int
    saved: int | None
    checks: Mapping[str, bool]
    seconds: float


def run_demo(
    *,
    source: Path | None,
    folder: Path,
    report: Callable[[str], None],
    phone: tuple[str, ...] = PHONES,
    country_column: str | None = COUNTRY_COLUMN,
) -> DemoResult:
    """Materialize the assets over a CRM export, invented where none is given.

    Args:
        source: a Parquet or CSV file with the columns of the sample.
        folder: for the export, the ledger, the instance and the enriched file; made if needed.
        report: told in one line what is being done.

    Raises:
        CarrierEnrichError: what went wrong, as an asset has met it.
    """
    import dagster as dg

    from carrier_enrich.dagster.assets import build_enrichment_assets
    from carrier_enrich.dagster.exports import build_export_asset
    from carrier_enrich.dagster.resource import CarrierEnrichResource
    from carrier_enrich.sandbox import SandboxConfig, running_sandbox

    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    export = source or _invented(folder, report)
    (folder / "dagster").mkdir(exist_ok=True)
    config = SandboxConfig(task_seconds=2.0, poll_seconds=0.5, multi_seconds=0.05)
    with (
        _quiet(),
        running_sandbox(config) as sandbox,
        dg.DagsterInstance.local_temp(
            str(folder / "dagster"), overrides={"telemetry": {"enabled": False}}
        ) as instance,
    ):
        crm_export = build_export_asset(lambda _: export)
        assets = [
            crm_export,
            *build_enrichment_assets(crm_export, phone, country_column=country_column),
        ]
        carrier = CarrierEnrichResource(
            base_url=sandbox.base_url,
            api_key=sandbox.api_key,
            ledger=str(folder / "ledger.db"),
            folder=str(folder),
            poll_seconds=config.poll_seconds,
            price_single_usd=config.price_single_micros / 1_000_000,
            price_multi_usd=config.price_multi_micros / 1_000_000,
        )
        report(f"materializing {len(assets)} Dagster assets over {export.name}")
        result = dg.materialize(
            assets,
            instance=instance,
            resources={"carrier": carrier},
            run_config={
                "ops": {
                    "crm_enriched": {"config": {"target": str(folder / "crm_enriched.parquet")}}
                },
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
            raise_on_error=False,
        )
        if not result.success:
            raise _failure(result)
        return _result(result, time.monotonic() - started)


def _invented(folder: Path, report: Callable[[str], None]) -> Path:
    from carrier_enrich.files import write_table
    from carrier_enrich.sandbox.crm_export import crm_export

    path = folder / "crm_export.parquet"
    report(f"inventing a CRM export of {ROWS:,} contacts")
    write_table(crm_export(ROWS), path)
    return path


def _result(result: dg.ExecuteInProcessResult, seconds: float) -> DemoResult:
    (event,) = result.asset_materializations_for_node("crm_enriched")
    receipt: dict[str, Any] = event.metadata["receipt_json"].value  # type: ignore[assignment]  # ours
    counts: dict[str, dict[str, int]] = event.metadata["counts"].value  # type: ignore[assignment]
    return DemoResult(
        file=Path(str(event.metadata["file"].value)),
        receipt=receipt,
        rows=receipt["rows"],
        cells_by_status=receipt["cells"],
        carriers=counts.get("Carrier", {}),
        number_types=counts.get("Number type", {}),
        requests=receipt["requests"],
        charged=receipt["charged_micros"],
        saved=receipt["saved_micros"],
        checks={c.check_name: c.passed for c in result.get_asset_check_evaluations()},
        seconds=seconds,
    )


def _failure(result: dg.ExecuteInProcessResult) -> CarrierEnrichError:
    """The first step's failure in its own words."""
    for event in result.get_step_failure_events():
        data = event.step_failure_data
        failure = data.user_failure_data
        if failure is not None and failure.description:
            return CarrierEnrichError(f"{event.step_key}: {failure.description}")
        if data.error is not None:
            cause = data.error.cause or data.error
            return CarrierEnrichError(f"{event.step_key}: {cause.message.strip()}")
    failed = [c.check_name for c in result.get_asset_check_evaluations() if not c.passed]
    return CarrierEnrichError(f"checks failed: {', '.join(failed)}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Dagster's own log stands in its event log; here it would drown what people came to see."""
    logger = logging.getLogger("dagster")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
