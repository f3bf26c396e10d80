"""A ledger on each database, and runs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ledger.shop import NOW, Shop

from carrier_enrich.ledger import Ledger


@pytest.fixture
def open_ledger(ledger_url: str) -> Iterator[Callable[..., Ledger]]:
    """Open the test's ledger, as often as wanted; all are closed at the end."""
    opened: list[Ledger] = []

    def of(service: str = "service", account: str = "account") -> Ledger:
        opened.append(Ledger.open(ledger_url, service=service, account=account))
        return opened[-1]

    yield of
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    """The test's ledger."""
    return open_ledger()


@pytest.fixture
def new_run(open_ledger: Callable[..., Ledger]) -> Callable[..., Shop]:
    """Begin a run on a connection of its own."""

    def begin(service: str = "service", account: str = "account", now: float = NOW) -> Shop:
        ledger = open_ledger(service, account)
        return Shop(ledger, ledger.leases.begin(now), now)

    return begin


@pytest.fixture
def shop(new_run: Callable[..., Shop]) -> Shop:
    """One run on the test's ledger."""
    return new_run()
