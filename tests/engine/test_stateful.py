"""Runs, kills, lost answers, failed tasks and clock jumps in any order: money stays right."""

from __future__ import annotations

import tempfile
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.model_service import PRICE, Killed, ModelCourier, ModelService, Mortal, truth
from support.timing import Clock

from carrier_enrich import Settings
from carrier_enrich.engine import Engine
from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.ledger import Ledger, State
from carrier_enrich.model import Countries

MISHAPS = st.sampled_from(
    ["none"] * 6 + ["not sent", "busy", "lost before", "lost after", "kill before", "kill after"]
)


class Money(RuleBasedStateMachine):
    """One ledger, one account, and runs over overlapping sets of numbers."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.service = ModelService()
        self.clock = Clock()
        self.settings = Settings.of(
            {},
            base_url="http://127.0.0.1:1",
            api_key="key",
            ledger=str(Path(self.folder.name) / "ledger.db"),
            price_single=PRICE,
            price_multi=PRICE,
            price_global_carrier_batch=PRICE,
            max_age_days=10_000,
        )

    def open(self) -> Ledger:
        s = self.settings
        return Ledger.open(s.ledger_url, service=s.service, account=s.account)

    @rule(
        first=st.integers(0, 12),
        count=st.sampled_from([1, 3, 101, 250, 1_000, 1_150]),
        mishaps=st.lists(MISHAPS, max_size=12),
        fails=st.integers(0, 1),
        cap=st.sampled_from([None, None, 150 * PRICE, 5_000 * PRICE]),
        partial=st.booleans(),
    )
    def run(self, first, count, mishaps, fails, cap, partial) -> None:
        """A run over some numbers that meets some mishaps, and may be killed."""
        start = 14_155_550_000 + first * 90
        numbers = np.arange(start, start + count, dtype=np.int64)
        countries = Countries(np.zeros(count, np.int16), ("US",))
        self.service.fails = fails
        courier = ModelCourier(self.service, self.clock, deque(mishaps))
        ledger = self.open()
        mortal = replace(
            ledger,
            knowledge=Mortal(ledger.knowledge, courier),
            purchases=Mortal(ledger.purchases, courier),
            leases=Mortal(ledger.leases, courier),
        )
        spent_before = 10**9 - self.service.balance
        engine = Engine(mortal, courier, self.settings.with_cap(cap), self.clock)
        try:
            outcome = engine.run(numbers, countries, partial=partial)
        except Killed:
            # The next run must find the dead one's silence long enough.
            self.clock.advance(120)
            return
        except CarrierEnrichError:
            return
        finally:
            ledger.close()
        tally = outcome.tally
        assert tally.estimated == (
            tally.charged + tally.refunded + tally.unknown_cost + tally.still_open
        )
        for number, lookup in outcome.answers.pairs():
            assert lookup == truth(number)
        if outcome.stopped is None:
            assert len(outcome.answers) == count
        if cap is not None and not tally.collected and not outcome.open:
            assert 10**9 - self.service.balance - spent_before <= cap + tally.unknown_cost

    @rule(seconds=st.sampled_from([1, 70, 3_600, 20_000]))
    def time_passes(self, seconds) -> None:
        """The clock jumps."""
        self.clock.advance(seconds)

    @precondition(lambda self: self.service.balance < 10**9)
    @rule()
    def settle(self) -> None:
        """Settling buys nothing that was not intended, and leaves nothing open."""
        with self.open() as ledger:
            self.clock.advance(120)
            engine = Engine(
                ledger, ModelCourier(self.service, self.clock), self.settings, self.clock
            )
            old = [p for p in ledger.purchases.open() if self.clock() - p.created_at > 80_000]
            if old:
                return
            outcome = engine.settle()
            assert outcome.open == ()
            assert outcome.tally.bought == 0

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        """Bulk charges a number once; checks again only as often as answers were lost."""
        if not hasattr(self, "service"):
            return
        assert all(times == 1 for times in self.service.tasked.values())
        with self.open() as ledger, ledger.db.transaction():
            unknown = ledger.db.run(
                "SELECT COALESCE(SUM(count), 0) FROM purchases WHERE kind <> 'bulk_task' "
                "AND state IN (:unknown, :intended)",
                unknown=State.CHARGE_UNKNOWN,
                intended=State.INTENDED,
            ).scalar_one()
        both = Counter(self.service.checked) + Counter(self.service.tasked)
        assert sum(both.values()) - len(both) <= unknown

    @invariant()
    def nothing_is_lost(self) -> None:
        """What was charged is known, or stands behind a purchase that says so."""
        if not hasattr(self, "service"):
            return
        with self.open() as ledger, ledger.db.transaction():
            known = ledger.db.run("SELECT COUNT(*) FROM lookups").scalar_one()
            waiting = ledger.db.run(
                "SELECT COALESCE(SUM(count), 0) FROM purchases WHERE state NOT IN "
                "('collected', 'refused', 'failed')"
            ).scalar_one()
        assert len(self.service.checked | self.service.tasked) <= known + waiting

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


Money.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestMoney = Money.TestCase
