"""One CRM export, enriched on demand: "Materialize all", or the Launchpad with another path."""

from datetime import timedelta

import dagster as dg

from carrier_enrich.dagster import build_enrichment_assets, build_export_asset
from dagster_project import places
from dagster_project.columns import COLUMNS, OWNERS

crm_export = build_export_asset(lambda _: places.export_on_demand(), owners=OWNERS)
stages = build_enrichment_assets(
    crm_export,
    **COLUMNS,
    owners=OWNERS,
    freshness_policy=dg.FreshnessPolicy.time_window(
        fail_window=timedelta(days=30), warn_window=timedelta(days=7)
    ),
)
