"""Work in pieces over all cores, for what lets other threads run, as numpy, Arrow and files do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

#: Rows per block: enough to be worth a thread, few enough that the cores finish together.
BLOCK_ROWS = 1 << 19


def by_block(work: Callable[[slice], T], rows: int) -> list[T]:
    """What the work makes of each block, in the order of the rows; at least one block, of none."""
    blocks = [slice(at, min(at + BLOCK_ROWS, rows)) for at in range(0, max(rows, 1), BLOCK_ROWS)]
    if len(blocks) == 1:
        return [work(blocks[0])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, blocks))


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The items, each made while the one before is worked on."""
    source = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[T | object] = pool.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]  # whatever is not the end is an item


@contextmanager
def behind(work: Callable[[T], object]) -> Iterator[Callable[[T], None]]:
    """A function that does some work while its caller goes on, one item at a time.

    What the work raises, the next call raises, or else the end.
    """
    last: list[Future[object]] = []

    def submit(item: T) -> None:
        if last:
            last.pop().result()
        last.append(pool.submit(work, item))

    with ThreadPoolExecutor(1) as pool:
        yield submit
        if last:
            last.pop().result()
