"""Answers to Spark, and their join with the rows; the plan of every step that Spark runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation names it

from carrier_enrich.frames import STATUS_COLUMN
from carrier_enrich.model import LookupStatus
from carrier_enrich.spark import executors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from carrier_enrich.model import Int32s, Int64s
    from carrier_enrich.spark.asking import Said

#: Up to so many answers, of 12 bytes, every executor gets all of them; beyond, Spark decides.
_BROADCAST_MAX = 500_000

#: Slices of answers that are written to a folder at once: 8 million numbers, 100 MB.
_SLICES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """The columns of a DataFrame that an enrichment reads, and those that it adds.

    Attributes:
        phones: the phone columns.
        country, country_column: as `enrich` takes them.
        fields: of a lookup; `names` the new columns, phone by phone its fields and its status.
    """

    phones: tuple[str, ...]
    country: str | None
    country_column: str | None
    fields: tuple[str, ...]
    names: tuple[str, ...]

    def distinct_keys(self, df: Any) -> Iterator[tuple[Int64s, Int64s]]:
        """Slices of (keys ascending, cells of each); no key is in two of them."""
        counted = df.select(*self._read).mapInArrow(
            executors.counted(self.country, len(self.phones)), executors.KEYS
        )
        distinct = counted.groupBy("number").agg(F.sum("cells").alias("cells"))
        slices = distinct.mapInArrow(executors.pack_keys, executors.PACKED_KEYS)
        for keys, cells in slices.toLocalIterator(prefetchPartitions=True):
            yield np.frombuffer(bytes(keys), "<i8"), np.frombuffer(bytes(cells), "<i8")

    def joined(self, df: Any, answers: Any, said: Any) -> Any:
        """The rows with the new columns."""
        own = _unused(df.columns)
        fields = [executors.key_name(at) for at in range(len(self.phones))]
        read = F.arrow_udf(
            executors.keyed(self.country, len(self.phones)),
            f"struct<{', '.join(f'{name}: long' for name in fields)}>",
        )
        out = df.withColumn(f"{own}keys", read(F.struct(*self._read)))
        keys = {own + name: F.col(f"{own}keys")[name] for name in fields}
        out = out.withColumns(keys).drop(f"{own}keys")
        helpers, new = list(keys), []
        for at in range(len(self.phones)):
            texts = {name: f"{own}{name}_{at}" for name in ("number", "code", *said.columns)}
            code, at_code = texts["code"], f"{own}at_{at}"
            numbers = _renamed(answers, texts)
            lookups = _renamed(said, {**texts, "code": at_code})
            out = out.join(numbers, F.col(f"{own}key_{at}") == F.col(texts["number"]), "left")
            out = out.join(F.broadcast(lookups), F.col(code) == F.col(at_code), "left")
            helpers += [*texts.values(), at_code]
            new += [F.col(texts[name]) for name in self.fields]
            not_checked = F.lit(LookupStatus.NOT_CHECKED.value)
            new.append(F.coalesce(F.col(texts[STATUS_COLUMN]), not_checked))
        return out.withColumns(dict(zip(self.names, new, strict=True))).drop(*helpers)

    @property
    def _read(self) -> list[Any]:
        """What executors read: the phone columns, then the countries', by names of our own."""
        names = [*self.phones, *([] if self.country_column is None else [self.country_column])]
        return [column(name).alias(f"column_{at}") for at, name in enumerate(names)]


def answer_table(spark: Any, slices: Iterable[tuple[Int64s, Int32s]], folder: str | None) -> Any:
    """The answers as a DataFrame of number and code, held by Spark or in Parquet files.

    Args:
        folder: a new folder's URL as Spark's executors see it; None to hold them in memory.
    """
    waiting: list[Any] = []
    count = 0
    for numbers, codes in slices:
        waiting.append(executors.packed(numbers=numbers, codes=codes))
        count += len(numbers)
        if folder is not None and len(waiting) >= _SLICES_AT_ONCE:
            _unpacked(spark, waiting).write.mode("append").parquet(folder)
            waiting = []
    if folder is None:
        table = _unpacked(spark, waiting)
    else:
        _unpacked(spark, waiting).write.mode("append").parquet(folder)
        table = spark.read.schema(executors.ANSWERS).parquet(folder)
    return F.broadcast(table) if count <= _BROADCAST_MAX else table


def said_table(spark: Any, said: Mapping[Said, int], fields: Sequence[str]) -> Any:
    """What a code says, as a DataFrame: code, the fields, and the status."""
    columns = zip(*said, strict=True) if said else ((),) * (len(fields) + 1)
    texts = [pa.array(list(values), pa.string()) for values in columns]
    codes = pa.array(said.values(), pa.int32())
    return spark.createDataFrame(pa.table([codes, *texts], names=["code", *fields, STATUS_COLUMN]))


def column(name: str) -> Any:
    """A column by its very name, dots and all."""
    return F.col("`" + name.replace("`", "``") + "`")


def _unpacked(spark: Any, batches: Sequence[Any]) -> Any:
    # One batch of a table becomes one partition, so that many are unpacked side by side.
    schema = pa.schema({"numbers": pa.binary(), "codes": pa.binary()})
    table = pa.Table.from_batches(batches, schema)
    return spark.createDataFrame(table).mapInArrow(executors.unpack_answers, executors.ANSWERS)


def _renamed(table: Any, names: Mapping[str, str]) -> Any:
    return table.select(*(F.col(name).alias(names[name]) for name in table.columns))


def _unused(taken: Iterable[str]) -> str:
    """How no column's name begins."""
    start = "_carrier_enrich_"
    while any(name.lower().startswith(start) for name in taken):
        start += "_"
    return start
