"""The enriched frame held against the export it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from carrier_enrich.frames import column_labels


def is_preserved(frame: Any, enriched: Any) -> bool:
    """Whether rows, their order, their labels and every column of a frame stand in another."""
    width = len(column_labels(frame))
    match frame:
        case pa.Table():
            kept = enriched.select(list(range(width)))
            return kept.schema.equals(frame.schema) and all(
                _same(a, b) for a, b in zip(kept.columns, frame.columns, strict=True)
            )
        case _ if hasattr(enriched, "iloc"):
            return bool(enriched.iloc[:, :width].equals(frame))
        case _:
            return bool(enriched[:, :width].equals(frame))


def _same(left: Any, right: Any) -> bool:
    if left.equals(right):
        return True
    if not pa.types.is_floating(left.type) or len(left) != len(right):
        return False
    # NaN equals nothing, itself included.
    nan = pc.is_nan(left)
    return bool(
        nan.equals(pc.is_nan(right))
        and pc.replace_with_mask(left, nan.fill_null(False), pa.scalar(0, left.type)).equals(
            pc.replace_with_mask(right, nan.fill_null(False), pa.scalar(0, right.type))
        )
    )


def added(frame: Any, enriched: Any) -> pa.Table:
    """The columns that an enriched frame has beyond the frame, as an Arrow table."""
    names = column_labels(enriched)[len(column_labels(frame)) :]
    return nw.from_native(enriched, eager_only=True).select(*map(str, names)).to_arrow()


def columns_of(frame: Any) -> Sequence[tuple[str, str]]:
    """Name and type of each column."""
    schema = nw.from_native(frame, eager_only=True).schema
    return [(str(name), str(kind).lower()) for name, kind in schema.items()]
