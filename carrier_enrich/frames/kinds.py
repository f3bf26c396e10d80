"""The kinds of frame: pandas, pyarrow, and whatever narwhals reads eagerly (polars).

Each kind answers the same four questions: its labels, its rows, one column as distinct texts,
and itself with more columns. Cells become distinct texts before anything looks at them, and
integers never travel through float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_pandas_dataframe

from carrier_enrich.blocks import by_block
from carrier_enrich.errors import BadInput
from carrier_enrich.frames.names import Label
from carrier_enrich.phones import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carrier_enrich.model import Int64s

#: Distinct texts: an Arrow array of large strings, or a tuple of what Arrow may not hold.
Texts: TypeAlias = Any

#: The major version of pandas from which a copy costs nothing until it is written to.
_COPIES_ON_WRITE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One column, distinct first: row ``i`` holds ``texts[codes[i]]``; code -1 is null."""

    codes: Int64s
    texts: Texts


def texts_of(cells: Cells) -> Iterable[str | None]:
    """The distinct texts one by one."""
    texts: Any = cells.texts
    return texts if isinstance(texts, tuple) else texts.to_pylist()


def taken(texts: Texts, positions: Int64s) -> Texts:
    """The texts at these positions."""
    if isinstance(texts, tuple):
        return tuple(texts[at] for at in positions.tolist())
    return texts.take(pa.array(positions))


def joined(parts: Sequence[Texts]) -> Texts:
    """All texts, one part after the other."""
    if any(isinstance(part, tuple) for part in parts):
        return tuple(t for part in parts for t in texts_of(Cells(np.empty(0, np.int64), part)))
    return pa.concat_arrays(list(parts))


@dataclass(frozen=True, slots=True, eq=False)
class NewColumn:
    """A column to append: row ``i`` gets ``values[codes[i]]``."""

    name: str
    values: tuple[str | None, ...]
    codes: NDArray[np.integer[Any]]

    def arrow(self, text: Any) -> Any:
        """The column as a chunked array of the given Arrow text type."""
        # Texts without a null among them are taken sooner, and the last ones often are nulls.
        values = pa.array(self.values[: int(self.codes.max(initial=-1)) + 1], text)
        chunks = by_block(lambda rows: values.take(pa.array(self.codes[rows])), len(self.codes))
        return pa.chunked_array(chunks, text)


class Frame(Protocol):
    """What the rest of the package needs of a frame of any kind."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of its columns, in order, doubled ones too."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def cells(self, position: int) -> Cells:
        """The column at a position. BadInput where its type can't hold what is read here."""

    def with_columns(self, columns: Sequence[NewColumn]) -> Any:
        """A new native frame: this one, untouched, and the columns at its end."""


def frame_of(data: Any) -> Frame:
    """The frame behind any supported object.

    Raises:
        BadInput: not a frame, or one that is lazy and has no rows yet.
    """
    if is_pandas_dataframe(data):
        return PandasFrame(data)
    if isinstance(data, pa.Table):
        return ArrowFrame(data)
    try:
        return NarwhalsFrame(nw.from_native(data, eager_only=True))
    except TypeError:
        kind = type(data).__name__
        hint = "; collect it first" if hasattr(data, "collect") else ""
        raise BadInput(
            f"{kind} is not a frame that can be read here: give a pandas or polars DataFrame "
            f"or a pyarrow Table{hint}"
        ) from None


def column_labels(data: Any) -> tuple[Label, ...]:
    """The labels of a frame of any kind, for `check_request`.

    Raises:
        BadInput: not a frame that can be read here.
    """
    return frame_of(data).labels


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFrame:
    """A pyarrow Table; its schema metadata is kept."""

    table: Any

    @property
    def labels(self) -> tuple[Label, ...]:
        """The column names."""
        return tuple(self.table.column_names)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.table.num_rows)

    def cells(self, position: int) -> Cells:
        """The column at a position, dictionaries decoded."""
        return _of_arrow(self.table.column(position), self.table.column_names[position])

    def with_columns(self, columns: Sequence[NewColumn]) -> Any:
        """A new table; the old one is immutable."""
        table = self.table
        for column in columns:
            table = table.append_column(column.name, column.arrow(pa.string()))
        return table


@dataclass(frozen=True, slots=True, eq=False)
class NarwhalsFrame:
    """An eager frame of another library, through narwhals."""

    frame: nw.DataFrame[Any]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The column names."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.frame)

    def cells(self, position: int) -> Cells:
        """The column at a position."""
        series = self.frame.get_column(self.frame.columns[position])
        if series.dtype == nw.Object:
            return _of_objects(series.to_list())
        return _of_arrow(pa.chunked_array([series.to_arrow()]), series.name)

    def with_columns(self, columns: Sequence[NewColumn]) -> Any:
        """A new frame of the same library."""
        backend = self.frame.implementation
        table = pa.table({column.name: column.arrow(pa.large_string()) for column in columns})
        added = nw.from_arrow(table, backend=backend)
        return self.frame.with_columns(*added.iter_columns()).to_native()


@dataclass(frozen=True, slots=True, eq=False)
class PandasFrame:
    """A pandas DataFrame of any index and any column labels."""

    frame: Any

    @property
    def labels(self) -> tuple[Label, ...]:
        """The column labels; tuples where they have several levels."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.frame)

    def cells(self, position: int) -> Cells:
        """The column at a position."""
        return _of_pandas(self.frame.iloc[:, position], self.labels[position])

    def with_columns(self, columns: Sequence[NewColumn]) -> Any:
        """A new frame with the same index, attrs and class."""
        import pandas as pd

        copies_on_write = int(pd.__version__.split(".")[0]) >= _COPIES_ON_WRITE
        text: Any = "str" if copies_on_write else pd.StringDtype("pyarrow")
        frame = self.frame.copy(deep=not copies_on_write)
        below = ("",) * (frame.columns.nlevels - 1)
        for column in columns:
            values = pd.array(column.arrow(pa.large_string()), dtype=text)
            frame.insert(frame.shape[1], (column.name, *below) if below else column.name, values)
        return frame


def _of_pandas(values: Any, label: Label) -> Cells:
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        within = _of_pandas(values.cat.categories.to_series(), label)
        codes = values.cat.codes.to_numpy().astype(np.int64)
        return Cells(np.append(within.codes, -1)[codes], within.texts)
    try:
        # An object column is tried as text: anything else in it goes cell by cell.
        text = pa.large_string() if values.dtype == object else None
        array = pa.array(values, type=text, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return _of_objects(values)
    return _of_arrow(
        array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]), label
    )


def _of_objects(values: Iterable[object]) -> Cells:
    position: dict[str | None, int] = {}
    codes = [position.setdefault(text_of(value), len(position)) for value in values]
    return Cells(np.array(codes, np.int64), tuple(position))


def _of_arrow(column: Any, label: Label) -> Cells:
    chunks = column.chunks
    if pa.types.is_dictionary(column.type):
        # Decoded, because chunks may differ in their dictionaries, and those hold doubles.
        chunks = [chunk.dictionary_decode() for chunk in chunks]
        column = pa.chunked_array(chunks, column.type.value_type)
    if not any(fits(column.type) for fits in _READABLE):
        raise BadInput(f"column {label!r} holds {column.type}: phone numbers are text or integers")
    if any(is_text(column.type) for is_text in _TEXTS):
        column = column.cast(pa.large_string())
    try:
        encoded = column.dictionary_encode().combine_chunks()
    except pa.ArrowNotImplementedError:
        # A type that Arrow holds and can't encode.
        return _of_objects(column.to_pylist())
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values = encoded.dictionary
    if pa.types.is_large_string(column.type):
        return Cells(codes, values)
    if pa.types.is_floating(column.type):
        # numpy scalars, because a float32 must not look as exact as a float64.
        return Cells(codes, tuple(map(text_of, values.to_numpy(zero_copy_only=False))))
    return Cells(codes, tuple(map(text_of, values.to_pylist())))


_TEXTS: tuple[Callable[[Any], bool], ...] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)
_READABLE: tuple[Callable[[Any], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    *_TEXTS,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
    pa.types.is_boolean,
    pa.types.is_null,
)
