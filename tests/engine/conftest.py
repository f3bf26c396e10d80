"""An enricher over a sandbox that answers real HTTP, with a clock that never sleeps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import phonenumbers
import pytest
from support.timing import Clock, SwiftCourier

from carrier_enrich import Enricher, Settings
from carrier_enrich.sandbox import SandboxConfig, running_sandbox


@pytest.fixture
def sandbox() -> Iterator[Any]:
    """A sandbox of the test's own, with answers for every number."""
    with running_sandbox(SandboxConfig(undetermined_share=0.0)) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(sandbox: Any, clock: Clock, tmp_path: Path) -> Iterator[Callable[..., Enricher]]:
    """Enrichers on one ledger; settings may be changed for each."""
    made: list[Enricher] = []

    def make_enricher(**changes: Any) -> Enricher:
        given = {
            "base_url": sandbox.base_url,
            "api_key": sandbox.api_key,
            "ledger": str(tmp_path / "ledger.db"),
            "price_single_usd": "0.002",
            "price_multi_usd": "0.002",
            "price_carrier_batch_usd": None,
        }
        settings = Settings.of({}, **{**given, **changes})
        made.append(Enricher(settings, clock=clock, courier=SwiftCourier))
        return made[-1]

    yield make_enricher
    for enricher in made:
        enricher.close()


@pytest.fixture
def numbers() -> Callable[..., list[str]]:
    """Distinct valid numbers of a country in E.164, the same for the same seed."""

    def some(count: int, country: str = "US", seed: int = 0) -> list[str]:
        chance = random.Random(f"{country}-{seed}")
        prefixes = {
            "US": ("+1415", 7, 2),
            "GB": ("+4475", 8, 0),
            "DE": ("+49151", 8, 0),
            "FR": ("+336", 8, 0),
            "IN": ("+9198", 8, 0),
            "ES": ("+346", 8, 0),
        }
        prefix, digits, first = prefixes[country]
        found: dict[str, None] = {}
        while len(found) < count:
            low = first * 10 ** (digits - 1)
            number = f"{prefix}{chance.randrange(low, 10**digits):0{digits}d}"
            if phonenumbers.is_valid_number_for_region(phonenumbers.parse(number), country):
                found[number] = None
        return list(found)

    return some
