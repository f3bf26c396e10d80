"""CRM exports as an asset: a path that passes on, not the rows."""

# No `from __future__ import annotations`: Dagster reads the annotations of assets as types.

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq

from carrier_enrich import files
from carrier_enrich.dagster import metadata
from carrier_enrich.dagster.run_config import ExportConfig
from carrier_enrich.dagster.watching import told
from carrier_enrich.errors import BadInput


def build_export_asset(
    find: Callable[[dg.AssetExecutionContext], Path],
    *,
    name: str = "crm_export",
    key_prefix: Sequence[str] = (),
    group_name: str = "carrier",
    owners: Sequence[str] | None = None,
    partitions_def: dg.PartitionsDefinition[str] | None = None,
    io_manager_key: str | None = None,
) -> dg.AssetsDefinition:
    """An asset that is a Parquet or CSV file of another system, by its path.

    Args:
        find: the file of a run or partition, where the run's config names none; raises BadInput
            where there is none.
    """

    @dg.asset(
        key=dg.AssetKey([*key_prefix, name]),
        kinds={"parquet", "csv"},
        group_name=group_name,
        owners=owners,
        partitions_def=partitions_def,
        io_manager_key=io_manager_key,
    )
    def crm_export(
        context: dg.AssetExecutionContext, config: ExportConfig
    ) -> dg.MaterializeResult[Path]:
        """Contacts as the CRM has written them, with their phone numbers."""
        with told():
            path = Path(config.path) if config.path else find(context)
            return dg.MaterializeResult(value=path, metadata=_of_file(path))

    return crm_export


def _of_file(path: Path) -> dict[str, Any]:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    if path.suffix.lower() in files.PARQUET_SUFFIXES:
        with pq.ParquetFile(path) as file:
            rows, head = file.metadata.num_rows, file.schema_arrow.empty_table()
    else:
        table = files.read_table(path)
        rows, head = table.num_rows, table.slice(0, 0)
    return {
        "file": dg.MetadataValue.path(path.resolve()),
        "rows": rows,
        "bytes": size,
        "dagster/row_count": rows,
        "dagster/column_schema": metadata.schema_of(head),
    }
