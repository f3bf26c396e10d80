"""What the sandbox remembers: accounts, charges and bulk tasks, in SQLite.

The only module with SQL. Without a file it keeps all in memory; with one, a process that was
killed finds its money and its tasks again. Every method is one transaction, so money is never
halfway: granted = balance + reserved + charged, at any moment.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    id TEXT PRIMARY KEY,
    granted INTEGER NOT NULL,           -- all that was ever put in, less what others took out
    balance INTEGER NOT NULL            -- what is neither charged nor reserved
);
CREATE TABLE IF NOT EXISTS spent (
    account TEXT NOT NULL, kind TEXT NOT NULL, micros INTEGER NOT NULL,
    PRIMARY KEY (account, kind)
);
CREATE TABLE IF NOT EXISTS charge (     -- by single and multi checks; tasks keep their own
    number INTEGER PRIMARY KEY, times INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS task (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, key TEXT,
    product TEXT NOT NULL, country TEXT NOT NULL, status TEXT NOT NULL,
    created REAL NOT NULL, due REAL,    -- NULL: never of its own accord
    script TEXT NOT NULL, price INTEGER NOT NULL, reserved INTEGER NOT NULL,
    charged INTEGER NOT NULL, refunded INTEGER NOT NULL,
    submitted_lines INTEGER NOT NULL, total INTEGER NOT NULL,
    invalid_cnt INTEGER NOT NULL, no_code_cnt INTEGER NOT NULL,
    other_country_cnt INTEGER NOT NULL, duplicate_cnt INTEGER NOT NULL,
    success_cnt INTEGER NOT NULL, failure_cnt INTEGER NOT NULL,
    submissions INTEGER NOT NULL, polls INTEGER NOT NULL, early_polls INTEGER NOT NULL,
    last_poll REAL, shortest_gap REAL,
    UNIQUE (account, key)
);
CREATE TABLE IF NOT EXISTS task_data (
    id TEXT PRIMARY KEY REFERENCES task,
    file BLOB,                          -- the upload, until the task ends
    answered BLOB                       -- the numbers charged, int64, once it has ended
);
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the lines of a bulk file (spec, Bulk task)."""

    total: int
    invalid_cnt: int = 0
    no_code_cnt: int = 0
    other_country_cnt: int = 0
    duplicate_cnt: int = 0
    success_cnt: int = 0
    failure_cnt: int = 0


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A bulk task as it is kept; times are seconds since the epoch, money is micros."""

    id: str
    account: str
    key: str | None
    product: str
    country: str
    status: str
    created: float
    due: float | None
    script: str
    price: int
    reserved: int
    submitted_lines: int
    total: int
    charged: int = 0
    refunded: int = 0
    invalid_cnt: int = 0
    no_code_cnt: int = 0
    other_country_cnt: int = 0
    duplicate_cnt: int = 0
    success_cnt: int = 0
    failure_cnt: int = 0
    submissions: int = 1
    polls: int = 0
    early_polls: int = 0
    last_poll: float | None = None
    shortest_gap: float | None = None


_TASK_COLUMNS = ", ".join(spec.name for spec in fields(StoredTask))


class Store:
    """The memory of one sandbox; safe to use from several threads."""

    def __init__(self, path: Path | None) -> None:
        self._db = sqlite3.connect(
            ":memory:" if path is None else path, check_same_thread=False, isolation_level=None
        )
        self._lock = threading.Lock()
        self._db.execute("PRAGMA journal_mode = WAL")
        # outlives a killed process; a power failure is not what a sandbox is for
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def open_account(self, account: str, micros: int) -> None:
        """Make an account with this balance, unless it is known already."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO account VALUES (?, ?, ?)", (account, micros, micros))

    def balance(self, account: str) -> int:
        """What an account can spend."""
        with self._transaction() as db:
            return _balance(db, account)

    def set_balance(self, account: str, micros: int) -> None:
        """Give to an account, or take from it, until it can spend just this."""
        with self._transaction() as db:
            difference = micros - _balance(db, account)
            db.execute(
                "UPDATE account SET balance = ?, granted = granted + ? WHERE id = ?",
                (micros, difference, account),
            )

    def charge(self, account: str, kind: str, price: int, numbers: Sequence[str]) -> None:
        """Charge a price for each number of a single or multi check."""
        with self._transaction() as db:
            _spend(db, account, kind, price * len(numbers))
            db.executemany(
                "INSERT INTO charge VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
                [(int(number),) for number in numbers],
            )

    def add_task(self, task: StoredTask, file: bytes) -> None:
        """Reserve a task's cost and keep it."""
        with self._transaction() as db:
            db.execute(
                "UPDATE account SET balance = balance - ? WHERE id = ?",
                (task.reserved, task.account),
            )
            values = astuple(task)
            marks = ", ".join("?" * len(values))
            db.execute(f"INSERT INTO task ({_TASK_COLUMNS}) VALUES ({marks})", values)  # noqa: S608 - names of our own fields
            db.execute("INSERT INTO task_data VALUES (?, ?, NULL)", (task.id, file))

    def task(self, account: str, task_id: str) -> StoredTask | None:
        """An account's task by its id."""
        return next(iter(self._tasks("account = ? AND id = ?", account, task_id)), None)

    def task_with_key(self, account: str, key: str) -> StoredTask | None:
        """An account's task by the idempotency key of its submission."""
        return next(iter(self._tasks("account = ? AND key = ?", account, key)), None)

    def any_task(self, task_id: str) -> StoredTask | None:
        """A task by its id, of whichever account: for who holds its result link."""
        return next(iter(self._tasks("id = ?", task_id)), None)

    def open_tasks(self) -> list[StoredTask]:
        """All tasks in processing, oldest first."""
        return self._tasks("status = 'processing'")

    def all_tasks(self) -> list[StoredTask]:
        """All tasks, oldest first."""
        return self._tasks("1")

    def _tasks(self, condition: str, *values: object) -> list[StoredTask]:
        query = f"SELECT {_TASK_COLUMNS} FROM task WHERE {condition} ORDER BY created, rowid"  # noqa: S608 - conditions of our own
        with self._transaction() as db:
            return [StoredTask(*row) for row in db.execute(query, values)]

    def count_submission(self, task_id: str) -> None:
        """Note that a task was submitted again with its idempotency key."""
        with self._transaction() as db:
            db.execute("UPDATE task SET submissions = submissions + 1 WHERE id = ?", (task_id,))

    def count_poll(self, task: StoredTask, now: float, shortest_allowed: float) -> None:
        """Note a query of a task and how long after the one before it came."""
        gap = None if task.last_poll is None else now - task.last_poll
        is_early = gap is not None and gap < shortest_allowed
        gaps = [known for known in (gap, task.shortest_gap) if known is not None]
        with self._transaction() as db:
            db.execute(
                "UPDATE task SET polls = polls + 1, early_polls = early_polls + ?, last_poll = ?,"
                " shortest_gap = ? WHERE id = ?",
                (is_early, now, min(gaps, default=None), task.id),
            )

    def make_due(self, now: float) -> None:
        """Let every open task end now."""
        with self._transaction() as db:
            db.execute("UPDATE task SET due = ? WHERE status = 'processing'", (now,))

    def succeed(self, task: StoredTask, counts: Counts, answered: array[int]) -> None:
        """End a task: charge the numbers answered, refund the rest, keep what was answered."""
        charged = task.price * len(answered)
        with self._transaction() as db:
            if _end(db, task, "success", charged):
                assignments = ", ".join(f"{spec.name} = ?" for spec in fields(Counts))
                db.execute(
                    f"UPDATE task SET {assignments} WHERE id = ?",  # noqa: S608 - names of our own fields
                    (*astuple(counts), task.id),
                )
                db.execute(
                    "UPDATE task_data SET file = NULL, answered = ? WHERE id = ?",
                    (answered.tobytes(), task.id),
                )

    def fail(self, task: StoredTask) -> None:
        """End a task as failed: refund all."""
        with self._transaction() as db:
            if _end(db, task, "failed", 0):
                db.execute("UPDATE task_data SET file = NULL WHERE id = ?", (task.id,))

    def file(self, task_id: str) -> bytes:
        """The upload of an open task; empty once it has ended."""
        with self._transaction() as db:
            row = db.execute("SELECT file FROM task_data WHERE id = ?", (task_id,)).fetchone()
        return row[0] or b"" if row else b""

    def answered(self, task_id: str) -> array[int]:
        """The numbers that a finished task was charged for, in the order of its file."""
        query = "SELECT answered FROM task_data WHERE id = ?"
        with self._transaction() as db:
            row = db.execute(query, (task_id,)).fetchone()
        numbers = array("q")
        numbers.frombytes(row[0] or b"" if row else b"")
        return numbers

    def accounts(self) -> dict[str, tuple[int, int]]:
        """Granted and spendable micros of each account."""
        with self._transaction() as db:
            return {row[0]: (row[1], row[2]) for row in db.execute("SELECT * FROM account")}

    def spent(self) -> dict[str, int]:
        """Micros charged by kind of check, over all accounts."""
        with self._transaction() as db:
            return dict(db.execute("SELECT kind, sum(micros) FROM spent GROUP BY kind").fetchall())

    def charges(self) -> dict[int, int]:
        """How often each number was charged by single and multi checks."""
        with self._transaction() as db:
            return dict(db.execute("SELECT number, times FROM charge").fetchall())


def _balance(db: sqlite3.Connection, account: str) -> int:
    row = db.execute("SELECT balance FROM account WHERE id = ?", (account,)).fetchone()
    return int(row[0])


def _spend(db: sqlite3.Connection, account: str, kind: str, micros: int) -> None:
    db.execute("UPDATE account SET balance = balance - ? WHERE id = ?", (micros, account))
    _note_spent(db, account, kind, micros)


def _note_spent(db: sqlite3.Connection, account: str, kind: str, micros: int) -> None:
    db.execute(
        "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET micros = micros + ?",
        (account, kind, micros, micros),
    )


def _end(db: sqlite3.Connection, task: StoredTask, status: str, charged: int) -> bool:
    """Close a task's reservation once; False where it was closed before."""
    refunded = task.reserved - charged
    changed = db.execute(
        "UPDATE task SET status = ?, reserved = 0, charged = ?, refunded = ?"
        " WHERE id = ? AND status = 'processing'",
        (status, charged, refunded, task.id),
    ).rowcount
    if changed:
        db.execute(
            "UPDATE account SET balance = balance + ? WHERE id = ?", (refunded, task.account)
        )
        _note_spent(db, task.account, task.product, charged)
    return bool(changed)
