"""Sandboxes to call, and a caller that knows the specification's requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from carrier_enrich.sandbox import (
    RunningSandbox,
    SandboxConfig,
    SandboxControl,
    running_sandbox,
)


@dataclass
class Clock:
    """A clock that stands still until it is moved; seconds since the epoch."""

    now: float = 1_750_000_000.0

    def __call__(self) -> float:
        """The time it shows."""
        return self.now

    def move(self, seconds: float) -> None:
        """Move it on."""
        self.now += seconds


@dataclass
class Caller:
    """Sends the specification's requests and hands back what came."""

    base_url: str
    api_key: str
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {"X-API-Key": self.api_key}
        limits = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=120,
            limits=limits,
            trust_env=False,
            verify=False,  # plain http needs no certificates, and reading them takes longer
        )

    def check(self, number: str) -> httpx.Response:
        """A single check."""
        return self.post("check", {"service_type": "carrier", "identifier": number})

    def multi(self, numbers: list[str]) -> httpx.Response:
        """A multi check."""
        return self.post("batch-check", {"service_type": "carrier", "identifiers": numbers})

    def post(self, endpoint: str, body: Any) -> httpx.Response:
        """Any JSON to an endpoint."""
        return self.client.post(f"/api/v1/{endpoint}", json=body)

    def submit(
        self,
        numbers: list[str],
        *,
        product: str = "carrier_batch",
        country: str = "US",
        key: str | None = None,
        name: str = "numbers.txt",
    ) -> httpx.Response:
        """A bulk submit, one number a line."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.client.post(
            "/api/v1/bulk-tasks",
            data={"service_type": product, "country": country},
            files={"file": (name, "\n".join(numbers).encode())},
            headers=headers,
        )

    def query(self, task_id: str) -> httpx.Response:
        """One poll of a task."""
        return self.client.get(f"/api/v1/bulk-tasks/{task_id}")

    def finished(self, numbers: list[str], **options: Any) -> dict[str, Any]:
        """Submit a task and query it once; it is small enough to be finished then."""
        task = self.submit(numbers, **options).json()["data"]
        found: dict[str, Any] = self.query(task["id"]).json()["data"]
        return found

    def download(self, task: dict[str, Any]) -> httpx.Response:
        """What the result link of a task answers to a caller without a key."""
        return httpx.get(task["result_url"], timeout=120, trust_env=False, verify=False)

    def balance(self) -> int:
        """The balance, in micros."""
        micros: int = self.client.get("/api/v1/balance").json()["data"]["balance_micros"]
        return micros


@dataclass
class Started:
    """A running sandbox with a caller."""

    running: RunningSandbox
    caller: Caller

    @property
    def control(self) -> SandboxControl:
        """Its controls."""
        return self.running.control


def us_numbers(count: int, start: int = 0) -> list[str]:
    """Valid numbers of New York, in E.164 form."""
    return [f"+1212{2_000_000 + start + n}" for n in range(count)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def start(clock: Clock) -> Iterator[Callable[..., Started]]:
    with ExitStack() as cleanup:

        def started(**config: Any) -> Started:
            config = {"undetermined_share": 0.0} | config
            sandbox = cleanup.enter_context(running_sandbox(SandboxConfig(**config), clock=clock))
            caller = Caller(sandbox.base_url, sandbox.api_key)
            cleanup.enter_context(caller.client)
            return Started(sandbox, caller)

        yield started


@pytest.fixture
def numbers() -> Callable[..., list[str]]:
    return us_numbers


@pytest.fixture
def caller_of() -> Callable[..., Caller]:
    return Caller
