"""Who is alive, and who holds which of the account's slots.

A run proves that it lives by a heartbeat. One that is ended, silent for longer than
`LEASE_SECONDS`, or whose process is gone from this host holds nothing any more.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from carrier_enrich.errors import RunTakenOver

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database

#: Seconds of silence after which a run counts as dead; a run beats far more often.
LEASE_SECONDS = 60.0

#: The account's slots (spec, Limits): 5 requests in flight, and 1 multi check, which
#: always takes slot 0, so that holding it is holding the multi check too.
MULTI_SLOT = 0
SINGLE_SLOTS = (1, 2, 3, 4)


TAKEN_OVER = (
    "this run was stopped for longer than its lease, and another may have taken over what it "
    "held; nothing is lost: run it again"
)


@dataclass(frozen=True, slots=True)
class Leases:
    """Runs and slots of one account."""

    db: Database
    service_id: int
    account_id: int

    def begin(self, now: float) -> int:
        """Enter a run of this process; its id."""
        with self.db.transaction():
            row = self.db.run(
                """INSERT INTO runs (account_id, host, pid, started_at, heartbeat_at)
                   VALUES (:account, :host, :pid, :now, :now) RETURNING id""",
                account=self.account_id,
                host=_host(),
                pid=os.getpid(),
                now=now,
            )
            return int(row.scalar_one())

    def beat(self, run_id: int, now: float) -> None:
        """Say that the run lives.

        Raises:
            RunTakenOver: it was silent for so long that its work went to another run.
        """
        with self.db.transaction():
            beaten = self.db.run(
                "UPDATE runs SET heartbeat_at = :now WHERE id = :run AND ended_at IS NULL",
                run=run_id,
                now=now,
            )
            if beaten.rowcount != 1:
                raise RunTakenOver(TAKEN_OVER)

    def end(self, run_id: int, now: float) -> None:
        """The run holds nothing any more; its open purchases are anyone's to collect."""
        with self.db.transaction():
            self.db.lock(self.service_id)
            self._end(run_id, now)

    def bury(self, now: float) -> int:
        """End the runs that have died without saying so; how many."""
        with self.db.transaction():
            self.db.lock(self.service_id)
            alive = "account_id = :account AND ended_at IS NULL"
            # A heartbeat from the future is of a clock that was set back since: it counts from now.
            self.db.run(
                f"UPDATE runs SET heartbeat_at = :now WHERE {alive} AND heartbeat_at > :ahead",
                account=self.account_id,
                now=now,
                ahead=now + LEASE_SECONDS,
            )
            rows = self.db.run(
                f"SELECT id, host, pid, heartbeat_at FROM runs WHERE {alive}",
                account=self.account_id,
            ).all()
            host = _host()
            dead = [
                run
                for run, its_host, pid, beat in rows
                if beat < now - LEASE_SECONDS or (its_host == host and not _process_lives(pid))
            ]
            for run in dead:
                self._end(run, now)
            return len(dead)

    def take_slot(self, run_id: int, slots: tuple[int, ...]) -> int | None:
        """The first of these slots that is free, now held by the run; None if none is.

        A slot of a run that has ended is free.

        Raises:
            RunTakenOver: the run has been declared dead.
        """
        for slot in slots:
            # One transaction each: whoever waits for a slot holds no other meanwhile.
            with self.db.transaction():
                check_alive(self.db, run_id, self.account_id)
                taken = self.db.run(
                    """INSERT INTO slots (account_id, slot, run_id) VALUES (:account, :slot, :run)
                       ON CONFLICT (account_id, slot) DO UPDATE SET run_id = excluded.run_id
                       WHERE slots.run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)""",
                    account=self.account_id,
                    slot=slot,
                    run=run_id,
                )
                if taken.rowcount == 1:
                    return slot
        return None

    def free_slot(self, run_id: int, slot: int) -> None:
        """Give a slot back."""
        with self.db.transaction():
            self.db.run(
                "DELETE FROM slots WHERE account_id = :account AND slot = :slot AND run_id = :run",
                account=self.account_id,
                slot=slot,
                run=run_id,
            )

    def _end(self, run_id: int, now: float) -> None:
        values = {"run": run_id}
        self.db.run("DELETE FROM slots WHERE run_id = :run", **values)
        self.db.run("DELETE FROM holds WHERE run_id = :run", **values)
        self.db.run(
            "UPDATE runs SET ended_at = :now WHERE id = :run AND ended_at IS NULL",
            now=now,
            **values,
        )


def check_alive(db: Database, run_id: int, account_id: int) -> None:
    """Raise RunTakenOver unless the run goes on; inside a transaction of the caller's."""
    living = db.run(
        "SELECT 1 FROM runs WHERE id = :run AND account_id = :account AND ended_at IS NULL",
        run=run_id,
        account=account_id,
    ).scalar()
    if living is None:
        raise RunTakenOver(TAKEN_OVER)


def _host() -> str:
    """What makes a process id meaningful: the machine, its boot, and the pid namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    try:
        return f"{socket.gethostname()}/{boot.read_text().strip()}/{namespace.readlink()}"
    except OSError:
        return socket.gethostname()


def _process_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # A zombie answers signals, and does nothing else any more.
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
