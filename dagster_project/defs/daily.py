"""One export a day: the same stages, by days, in a group of their own.

Environment: ``CRM_FIRST_DAY``, as ``2026-03-01``.
"""

import os
from datetime import UTC, datetime, timedelta

import dagster as dg

from carrier_enrich.dagster import build_enrichment_assets, build_export_asset
from dagster_project import places
from dagster_project.columns import COLUMNS, OWNERS
from dagster_project.defs.crm import stages

# By default a month back, so that nobody starts years of days with one click.
_A_MONTH_AGO = datetime.now(UTC).date() - timedelta(days=31)
days = dg.DailyPartitionsDefinition(
    start_date=os.environ.get("CRM_FIRST_DAY") or _A_MONTH_AGO.isoformat()
)

daily_export = build_export_asset(
    lambda context: places.export_of(context.partition_key),
    key_prefix=["daily"],
    group_name="carrier_daily",
    owners=OWNERS,
    partitions_def=days,
)
daily_stages = build_enrichment_assets(
    daily_export,
    **COLUMNS,
    owners=OWNERS,
    key_prefix=["daily"],
    group_name="carrier_daily",
    partitions_def=days,
    account_balance=stages[0],
    freshness_policy=dg.FreshnessPolicy.cron(
        deadline_cron="0 9 * * *", lower_bound_delta=timedelta(hours=24)
    ),
)
