"""Carrier data for the assets of any Dagster project.

>>> from carrier_enrich.dagster import CarrierEnrichResource, build_enrichment_assets

The names below load Dagster at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrier_enrich.dagster.assets import build_enrichment_assets
    from carrier_enrich.dagster.automation import (
        build_bulk_task_poller,
        build_jobs,
        build_settle_job,
    )
    from carrier_enrich.dagster.component import CarrierEnrichmentComponent
    from carrier_enrich.dagster.demo import DemoResult, run_demo
    from carrier_enrich.dagster.export_sensor import build_export_sensor
    from carrier_enrich.dagster.exports import build_export_asset
    from carrier_enrich.dagster.parquet_io import ParquetIOManager
    from carrier_enrich.dagster.resource import CarrierEnrichResource

__all__ = [
    "CarrierEnrichResource",
    "CarrierEnrichmentComponent",
    "DemoResult",
    "ParquetIOManager",
    "build_bulk_task_poller",
    "build_enrichment_assets",
    "build_export_asset",
    "build_export_sensor",
    "build_jobs",
    "build_settle_job",
    "run_demo",
]

_HOMES = {
    "CarrierEnrichResource": "resource",
    "CarrierEnrichmentComponent": "component",
    "DemoResult": "demo",
    "ParquetIOManager": "parquet_io",
    "build_bulk_task_poller": "automation",
    "build_enrichment_assets": "assets",
    "build_export_asset": "exports",
    "build_export_sensor": "export_sensor",
    "build_jobs": "automation",
    "build_settle_job": "automation",
    "run_demo": "demo",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'carrier_enrich.dagster' has no attribute {name!r}")
    return getattr(import_module(f"carrier_enrich.dagster.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
