"""What is sent, and the threads that send it. They share nothing with the loop but two queues."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from carrier_enrich.client import CarrierClient
from carrier_enrich.model import BulkTask, Int64s, Product
from carrier_enrich.results import max_bytes_of, read_result


@dataclass(frozen=True, slots=True, eq=False)
class SingleCheck:
    """POST /api/v1/check."""

    number: int = field(repr=False)

    def send(self, client: CarrierClient) -> object:
        """The number's Lookup, in a list as a multi check gives it."""
        return [client.check(self.number)]


@dataclass(frozen=True, slots=True, eq=False)
class MultiCheck:
    """POST /api/v1/batch-check."""

    numbers: tuple[int, ...] = field(repr=False)

    def send(self, client: CarrierClient) -> object:
        """The Lookups, aligned with the numbers."""
        return client.multi_check(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Submit:
    """POST /api/v1/bulk-tasks."""

    product: Product
    country: str
    file: bytes = field(repr=False)
    idempotency_key: str

    def send(self, client: CarrierClient) -> object:
        """The BulkTask."""
        return client.submit_bulk_task(self.product, self.country, self.file, self.idempotency_key)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """GET /api/v1/bulk-tasks/{id}."""

    task_id: str

    def send(self, client: CarrierClient) -> object:
        """The BulkTask."""
        return client.bulk_task(self.task_id)


@dataclass(frozen=True, slots=True, eq=False)
class Download:
    """GET of the result link, and the reading of the file."""

    task: BulkTask
    product: Product
    asked: Int64s = field(repr=False)
    target: Path
    expected: int | None

    def send(self, client: CarrierClient) -> object:
        """The ResultFile."""
        self.target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        bound = max_bytes_of(len(self.asked))
        path = client.download_result(self.task, self.target, max_bytes=bound)
        return read_result(path, self.asked, product=self.product, expected=self.expected)


@dataclass(frozen=True, slots=True, eq=False)
class ReadBalance:
    """GET /api/v1/balance."""

    def send(self, client: CarrierClient) -> object:
        """Micros of USD."""
        return client.balance()


Job: TypeAlias = SingleCheck | MultiCheck | Submit | Query | Download | ReadBalance


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """The end of a job: what it gave, or the error that it raised.

    Attributes:
        ticket: whose job it was.
        started_at: seconds since the epoch, before the request left.
    """

    ticket: int
    job: Job
    started_at: float
    value: object = None
    error: BaseException | None = None


class Courier(Protocol):
    """Sends jobs and waits: the only thing in the loop that takes time."""

    def start(self, ticket: int, job: Job) -> None:
        """Begin a job; its end comes out of `wait`."""

    def wait(self, seconds: float) -> list[Arrival]:
        """What has ended, waiting for `seconds` at most if nothing has."""


class ThreadCourier:
    """One daemon thread a job: at most a dozen at once, each waiting for the network."""

    def __init__(self, client: CarrierClient, clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._ended: queue.SimpleQueue[Arrival] = queue.SimpleQueue()

    def start(self, ticket: int, job: Job) -> None:
        """Begin a job in a thread of its own."""
        threading.Thread(
            target=self._send, args=(ticket, job), name=f"carrier-enrich-{ticket}", daemon=True
        ).start()

    def wait(self, seconds: float) -> list[Arrival]:
        """What has ended, waiting for `seconds` at most if nothing has."""
        ended: list[Arrival] = []
        try:
            ended.append(self._ended.get(timeout=max(0.0, seconds)))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            return ended

    def _send(self, ticket: int, job: Job) -> None:
        started_at = self._clock()
        try:
            arrival = Arrival(ticket, job, started_at, value=job.send(self._client))
        except BaseException as error:  # noqa: BLE001  the loop judges it, on its own thread
            arrival = Arrival(ticket, job, started_at, error=error)
        self._ended.put(arrival)
