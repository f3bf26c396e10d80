"""Reading and writing beside the work between them, one step ahead and one behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


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
