"""Real processes that are killed, around a sandbox that counts what each number was charged."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import phonenumbers
import pyarrow as pa
import pyarrow.parquet as pq

from carrier_enrich.ledger import Ledger
from carrier_enrich.ledger.states import State
from carrier_enrich.sandbox.allocation import allocation_of
from carrier_enrich.settings import Settings

TESTS = Path(__file__).parent.parent

#: A sandbox whose calls take long enough to be killed in.
SLOW: Mapping[str, Any] = {
    "undetermined_share": 0.0,
    "multi_seconds": 0.1,
    "task_seconds": 0.3,
    "retry_after_seconds": 0.2,
}


def some_numbers(count: int, country: str, chance: random.Random) -> list[str]:
    """Distinct numbers of a country, in E.164."""
    prefix, digits = {"US": ("+1415", 7), "GB": ("+4475", 8)}[country]
    found: dict[str, None] = {}
    while len(found) < count:
        text = f"{prefix}{chance.randrange(10**digits):0{digits}d}"
        if phonenumbers.region_code_for_number(phonenumbers.parse(text)) == country:
            found[text] = None
    return list(found)


def write_source(path: Path, seed: int, us: int = 1_000, gb: int = 130) -> Path:
    """A file of numbers: a bulk task's worth of US ones and a few multi checks of GB ones."""
    chance = random.Random(seed)
    phones = some_numbers(us, "US", chance) + some_numbers(gb, "GB", chance)
    chance.shuffle(phones)
    pq.write_table(pa.table({"phone": phones}), path)
    return path


@dataclass
class Arena:
    """One sandbox, one ledger, and workers that come and go.

    Attributes:
        kills: how often a worker died by SIGKILL.
    """

    sandbox: Any
    ledger: str
    folder: Path
    kills: int = 0
    receipts: list[dict[str, Any]] = field(default_factory=list)

    def start(
        self, source: Path, name: str, die: str = "", **settings: Any
    ) -> subprocess.Popen[bytes]:
        given = {
            "base_url": self.sandbox.base_url,
            "api_key": self.sandbox.api_key,
            "ledger": self.ledger,
            "source": str(source),
            "target": str(self.folder / f"{name}.parquet"),
            "receipt": str(self.folder / f"{name}.json"),
            "settings": settings,
            "die": die,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "support.worker", json.dumps(given)],
            cwd=TESTS,
            stderr=(self.folder / f"{name}.log").open("ab"),
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )

    def finish(self, worker: subprocess.Popen[bytes], name: str, within: float = 120) -> bool:
        """Whether the worker ended well; False where it was killed; anything else fails."""
        code = worker.wait(within)
        if code == -signal.SIGKILL:
            self.kills += 1
            return False
        assert code == 0, (self.folder / f"{name}.log").read_text()[-3_000:]
        self.receipts.append(json.loads((self.folder / f"{name}.json").read_text()))
        return True

    def run(self, source: Path, name: str, die: str = "", **settings: Any) -> bool:
        return self.finish(self.start(source, name, die, **settings), name)

    def run_until_done(
        self, source: Path, name: str, kill_after: Callable[[], float | None], **settings: Any
    ) -> None:
        """Start again and again, killing after so many seconds, until one comes through."""
        for _ in range(60):
            worker = self.start(source, name, **settings)
            seconds = kill_after()
            if seconds is not None:
                deadline = time.monotonic() + seconds
                while worker.poll() is None and time.monotonic() < deadline:
                    try:
                        worker.wait(max(0.0, deadline - time.monotonic()))
                    except subprocess.TimeoutExpired:
                        worker.kill()
            if self.finish(worker, name):
                return
        raise AssertionError("no run came through")

    def check(self, source: Path, name: str) -> None:
        """Every row right, receipts add up, no bulk double charge, check doubles reported."""
        rows = pq.read_table(self.folder / f"{name}.parquet").to_pylist()
        assert [row["phone"] for row in rows] == pq.read_table(source)["phone"].to_pylist()
        for row in rows:
            assert row["lookup_status"] == "found"
            assert row["carrier"] == allocation_of(row["phone"]).carrier
        assert all(receipt["adds_up"] for receipt in self.receipts)

    def check_money(self) -> None:
        report = self.sandbox.control.report()
        charged = report["charged"]
        assert charged["charges_by_tasks"] == charged["numbers_by_tasks"]
        twice = [number for number, times in report["charges"].items() if times > 1]
        assert len(twice) <= self.unknown_numbers()
        keys = [task["idempotency_key_digest"] for task in report["tasks"]]
        assert len(keys) == len(set(keys))
        assert report["limits"]["max_in_flight"] <= 5
        assert report["limits"]["max_multis_at_once"] <= 1

    def unknown_numbers(self) -> int:
        """Numbers in checks that the ledger reports as charge_unknown."""
        settings = Settings.of(
            {}, base_url=self.sandbox.base_url, api_key=self.sandbox.api_key, ledger=self.ledger
        )
        with (
            Ledger.open(
                settings.ledger_url, service=settings.service, account=settings.account
            ) as ledger,
            ledger.db.transaction(),
        ):
            return int(
                ledger.db.run(
                    "SELECT COALESCE(SUM(count), 0) FROM purchases WHERE state = :state",
                    state=State.CHARGE_UNKNOWN,
                ).scalar_one()
            )
