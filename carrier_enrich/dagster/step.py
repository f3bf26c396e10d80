"""A step while it runs: its context, its resource, and where its undertaking keeps its tables.

An undertaking is one enrichment from its plan on, over several steps, runs and attempts. Its name
is the id of the run that planned it; a retry or re-execution that does not plan anew goes on with
it, and so does a run whose tag names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa

from carrier_enrich import files
from carrier_enrich.errors import BadInput

if TYPE_CHECKING:
    from carrier_enrich.dagster.resource import CarrierEnrichResource

#: The tag of a run that goes on with another one's undertaking, which its value names.
CONTINUES_TAG = "carrier_enrich/continues"


@dataclass(frozen=True, slots=True)
class Keys:
    """The assets of one enrichment, by what they are for."""

    export: dg.AssetKey
    balance: dg.AssetKey
    plan: dg.AssetKey
    checks: dg.AssetKey
    submission: dg.AssetKey
    results: dg.AssetKey
    enriched: dg.AssetKey


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an enrichment while it runs."""

    context: dg.AssetExecutionContext
    carrier: CarrierEnrichResource
    keys: Keys

    def path(self, undertaking: str, key: dg.AssetKey) -> Path:
        """Where an undertaking keeps the table of an asset."""
        folder = self.carrier.files_folder(self.context.instance)
        return folder / "runs" / undertaking / f"{'.'.join(key.path)}.parquet"

    def write(self, undertaking: str, key: dg.AssetKey, table: pa.Table) -> dg.PathMetadataValue:
        """Keep an asset's table; where."""
        path = self.path(undertaking, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_table(table, path)
        return dg.MetadataValue.path(path)

    def read(self, undertaking: str, key: dg.AssetKey) -> pa.Table:
        """An asset's table.

        Raises:
            BadInput: the asset has not been materialized in this undertaking.
        """
        path = self.path(undertaking, key)
        if not path.exists():
            raise _not_materialized(key)
        return files.read_table(path)

    def read_plan(self) -> pa.Table:
        """The plan that this step goes on with: of its run or those that it repeats, else the last.

        Raises:
            BadInput: nothing was planned yet.
        """
        for run_id in ancestry(self.context.instance, self.context.run):
            path = self.path(run_id, self.keys.plan)
            if path.exists():
                return files.read_table(path)
        return files.read_table(self._latest_plan())

    def _latest_plan(self) -> str:
        partitions = [self.context.partition_key] if self.context.has_partition_key else None
        filters = dg.AssetRecordsFilter(asset_key=self.keys.plan, asset_partitions=partitions)
        for record in self.context.instance.fetch_materializations(filters, limit=1).records:
            event = record.asset_materialization
            path = event.metadata.get("file") if event is not None else None
            if isinstance(path, dg.PathMetadataValue) and path.value is not None:
                return str(path.value)
        raise _not_materialized(self.keys.plan)


def ancestry(instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[str]:
    """The ids of a run and of those that it goes on with or repeats, nearest first."""
    current: dg.DagsterRun | None = run
    while current is not None:
        yield current.run_id
        before = current.tags.get(CONTINUES_TAG) or current.parent_run_id
        current = None if before is None else instance.get_run_by_id(before)


def _not_materialized(key: dg.AssetKey) -> BadInput:
    name = key.to_user_string()
    return BadInput(f"{name} is not materialized for this run: materialize it first")
