"""Several processes on one ledger at the same moment."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

#: Seconds after which a race counts as stuck.
PATIENCE = 120.0


def race(work: Callable[[int], Any], processes: int = 8) -> list[Any]:
    """What `work` returns in each of so many processes that start it together.

    Each opens its own ledger in `work`. What any of them raises fails the test.
    """
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes)
    pipes = [context.Pipe(duplex=False) for _ in range(processes)]
    runners = [
        context.Process(target=_run, args=(work, i, barrier, sender))
        for i, (_, sender) in enumerate(pipes)
    ]
    for runner in runners:
        runner.start()
    outcomes = [
        receiver.recv() if receiver.poll(PATIENCE) else (None, "stuck") for receiver, _ in pipes
    ]
    for runner in runners:
        runner.join(5)
        runner.kill()
    errors = [error for _, error in outcomes if error]
    assert not errors, "\n".join(errors)
    return [result for result, _ in outcomes]


def _run(work: Callable[[int], Any], index: int, barrier: Barrier, sender: Connection) -> None:
    try:
        barrier.wait(PATIENCE)
        sender.send((work(index), None))
    except BaseException:  # noqa: BLE001  the parent reports it
        sender.send((None, traceback.format_exc()))
