"""Parquet between assets: written as it streams, read as a dataset, so that no rows need memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

if TYPE_CHECKING:
    from upath import UPath


class ParquetIOManager(dg.ConfigurableIOManagerFactory["_ParquetFiles"]):
    """Keeps what assets yield as Parquet, one file an asset and partition.

    Takes a pyarrow Table, RecordBatchReader or Dataset, and any DataFrame that narwhals knows.
    Gives a pyarrow Dataset, or what the input is annotated as: ``pa.Table``,
    ``pa.RecordBatchReader``, ``pandas.DataFrame`` or ``polars.DataFrame``.
    """

    folder: str | None = Field(
        default=None,
        description="A folder, or a URL such as s3://bucket/path. Empty: the storage folder of the "
        "Dagster instance.",
    )

    def create_io_manager(self, context: dg.InitResourceContext) -> _ParquetFiles:
        """The IO manager of a process."""
        from upath import UPath

        instance = context.instance
        folder = self.folder or (instance.storage_directory() if instance is not None else ".")
        return _ParquetFiles(base_path=UPath(folder))


class _ParquetFiles(dg.UPathIOManager):
    extension = ".parquet"

    def dump_to_path(self, context: dg.OutputContext, obj: Any, path: UPath) -> None:
        """Write what an asset yields beside its place, and then put it there."""
        reader = _reader(obj)
        beside = path.with_name(f"{path.name}.part")
        rows = 0
        with beside.open("wb") as file, pq.ParquetWriter(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
        beside.rename(path)
        context.add_output_metadata({"dagster/row_count": rows})

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Any:
        """A dataset of the file, or what the input is annotated as."""
        import pyarrow.dataset

        dataset = pyarrow.dataset.dataset(path.path, filesystem=path.fs, format="parquet")
        wanted = context.dagster_type.typing_type
        match f"{getattr(wanted, '__module__', '')}.{getattr(wanted, '__name__', '')}".split("."):
            case ["pyarrow", *_, "Table"]:
                return dataset.to_table()
            case ["pyarrow", *_, "RecordBatchReader"]:
                return dataset.scanner().to_reader()
            case ["pandas", *_, "DataFrame"]:
                return dataset.to_table().to_pandas()
            case ["polars", *_, "DataFrame"]:
                import polars as pl

                return pl.from_arrow(dataset.to_table())
            case _:
                return dataset


def _reader(obj: Any) -> pa.RecordBatchReader:
    import pyarrow.dataset

    match obj:
        case pa.RecordBatchReader():
            return obj
        case pa.Table():
            return obj.to_reader()
        case pyarrow.dataset.Dataset():
            return obj.scanner().to_reader()
        case _:
            import narwhals as nw

            return nw.from_native(obj, eager_only=True).to_arrow().to_reader()
