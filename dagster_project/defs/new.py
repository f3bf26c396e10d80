"""Exports that come at any time: each file that is put into the folder is a partition."""

from pathlib import Path

import dagster as dg

from carrier_enrich.dagster import build_enrichment_assets, build_export_asset
from dagster_project import places
from dagster_project.columns import COLUMNS, OWNERS
from dagster_project.defs.crm import stages

files = dg.DynamicPartitionsDefinition(name="crm_exports")


def _arrived(context: dg.AssetExecutionContext) -> Path:
    return places.new_exports() / str(context.partition_key)


new_export = build_export_asset(
    _arrived, key_prefix=["new"], group_name="carrier_new", owners=OWNERS, partitions_def=files
)
new_stages = build_enrichment_assets(
    new_export,
    **COLUMNS,
    owners=OWNERS,
    key_prefix=["new"],
    group_name="carrier_new",
    partitions_def=files,
    account_balance=stages[0],
)
