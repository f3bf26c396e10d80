"""The limits that the service keeps, and how far callers went (spec, Limits)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from carrier_enrich.sandbox.refusals import SLOTS_TAKEN, Refused

REQUESTS_IN_FLIGHT = 5
MULTI_CHECKS_AT_ONCE = 1
NUMBERS_PER_MULTI_CHECK = 100
NUMBERS_PER_BULK_TASK = {
    "global_carrier_batch": (1_000, 100_000),
    "carrier_batch": (1_000, 500_000),
}
IDEMPOTENCY_KEY_CHARACTERS = 128


class Slots:
    """Single and multi checks in flight per account, and the most that were tried at once.

    Attributes:
        most_in_flight: single and multi checks, the one that found no slot included.
        most_multis: multi checks, likewise.
        refused: answers with 42901.
    """

    def __init__(self) -> None:
        self._in_flight: Counter[str] = Counter()
        self._multis: Counter[str] = Counter()
        self.most_in_flight = 0
        self.most_multis = 0
        self.refused = 0

    @contextmanager
    def taken(self, account: str, *, multi: bool, enforce: bool) -> Iterator[None]:
        """Hold a slot for the duration of a check.

        Raises:
            Refused: 42901, where limits are enforced and no slot is free.
        """
        in_flight = self._in_flight[account] + 1
        multis = self._multis[account] + multi
        self.most_in_flight = max(self.most_in_flight, in_flight)
        self.most_multis = max(self.most_multis, multis)
        if enforce and in_flight > REQUESTS_IN_FLIGHT:
            self.refused += 1
            raise Refused(SLOTS_TAKEN, "all in-flight request slots are taken")
        if enforce and multis > MULTI_CHECKS_AT_ONCE:
            self.refused += 1
            raise Refused(SLOTS_TAKEN, "a multi check is already running")
        self._in_flight[account] += 1
        self._multis[account] += multi
        try:
            yield
        finally:
            self._in_flight[account] -= 1
            self._multis[account] -= multi
