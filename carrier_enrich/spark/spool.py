"""The distinct keys of a DataFrame, kept in a file while they are asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from types import TracebackType

    from carrier_enrich.model import Int64s


class Spool:
    """Slices of (keys ascending, cells of each) on disk: 16 bytes a key, read again as written.

    Args:
        folder: where the file is made; it stays the caller's to delete.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "keys").open("w+b")
        self._sizes: list[int] = []

    def add(self, keys: Int64s, cells: Int64s) -> None:
        """Append a slice."""
        self._file.seek(0, 2)
        for values in (keys, cells):
            self._file.write(values.astype("<i8", copy=False).tobytes())
        self._sizes.append(len(keys))

    def __iter__(self) -> Iterator[tuple[Int64s, Int64s]]:
        self._file.seek(0)
        for size in self._sizes:
            keys, cells = np.frombuffer(self._file.read(16 * size), "<i8").reshape(2, size)
            yield keys.astype(np.int64, copy=False), cells.astype(np.int64, copy=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
