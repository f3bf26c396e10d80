"""Time for tests: it passes where the engine waits for a moment, and nobody sleeps for it."""

from __future__ import annotations

from collections.abc import Callable

from carrier_enrich.client import CarrierClient
from carrier_enrich.engine.courier import Arrival, Job, ThreadCourier

START = 1_800_000_000.0


class Clock:
    """Seconds since the epoch; stands still unless told."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class SwiftCourier:
    """Sends over real HTTP; a wait with nothing under way moves the clock at once."""

    def __init__(self, client: CarrierClient, clock: Callable[[], float]) -> None:
        assert isinstance(clock, Clock)
        self.clock = clock
        self.inner = ThreadCourier(client, clock)
        self.out = 0
        self.waited: list[float] = []

    def start(self, ticket: int, job: Job) -> None:
        self.out += 1
        self.inner.start(ticket, job)

    def wait(self, seconds: float) -> list[Arrival]:
        if self.out:
            arrivals = self.inner.wait(30.0)
            self.out -= len(arrivals)
            # What is answered takes a moment, as it would.
            self.clock.advance(0.001)
            return arrivals
        self.waited.append(seconds)
        self.clock.advance(seconds)
        return []
