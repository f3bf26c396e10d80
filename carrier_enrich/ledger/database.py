"""One connection to SQLite or PostgreSQL: transactions, migrations, sets of rows in bulk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from carrier_enrich.errors import LedgerError
from carrier_enrich.ledger.schema import DIALECTS, STEPS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import CursorResult

    from carrier_enrich.model import Int64s

#: Milliseconds to wait for another writer of the same SQLite file.
BUSY_MS = 120_000


class Database:
    """A connection that belongs to one thread.

    Every statement runs inside `transaction()`. SQLite takes its write lock at the start of
    each (BEGIN IMMEDIATE), so no transaction can fail half-way for want of it; PostgreSQL is
    given `lock()` where a decision rests on what was just read.

    Raises:
        LedgerError: the database can't be reached, read or written.
    """

    def __init__(self, url: str) -> None:
        try:
            self._engine = _engine(url)
            self.dialect = self._engine.dialect.name
            if self.dialect not in DIALECTS:
                raise LedgerError(f"a ledger is SQLite or PostgreSQL, not {self.dialect}")
            self._connection: Connection = self._engine.connect()
        except (SQLAlchemyError, ImportError, OSError) as error:
            raise LedgerError(f"the ledger can't be opened: {_reason(error)}") from None
        self._migrate()

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements inside are committed together, or none is; nested ones join in."""
        if self._connection.in_transaction():
            yield
            return
        try:
            with self._connection.begin():
                yield
        except SQLAlchemyError as error:
            raise LedgerError(f"the ledger failed: {_reason(error)}") from None

    def run(self, statement: str, **values: object) -> CursorResult[*tuple[Any, ...]]:
        """One statement with named parameters."""
        assert self._connection.in_transaction(), "statements run inside transaction()"
        return self._connection.execute(text(statement), values)

    def lock(self, account_id: int) -> None:
        """Until the transaction ends, nobody else decides for this account."""
        if self.dialect == "postgresql":
            self.run("SELECT 1 FROM accounts WHERE id = :id FOR UPDATE", id=account_id)

    def put_numbers(self, numbers: Int64s) -> None:
        """Fill the temporary table `asked` with these numbers, ascending."""
        self.run("CREATE TEMPORARY TABLE IF NOT EXISTS asked (number BIGINT PRIMARY KEY)")
        self.run("DELETE FROM asked")
        if self.dialect == "postgresql":
            self.insert("asked", ("number",), ((n,) for n in numbers.tolist()))
            self.run("ANALYZE asked")
            return
        # Slices keep the parameters of millions of rows from standing in memory at once.
        for start in range(0, len(numbers), 500_000):
            part = numbers[start : start + 500_000].tolist()
            self.insert("asked", ("number",), ((n,) for n in part))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert many rows: COPY on PostgreSQL, one prepared statement on SQLite."""
        names = ", ".join(columns)
        if self.dialect == "sqlite":
            marks = ", ".join("?" * len(columns))
            many = list(rows)
            if many:
                self._connection.exec_driver_sql(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})", many
                )
            return
        cursor = self._connection.connection.cursor()
        try:
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        except self._engine.dialect.loaded_dbapi.Error as error:
            raise LedgerError(f"the ledger failed: {_reason(error)}") from None
        finally:
            cursor.close()

    def _migrate(self) -> None:
        words = DIALECTS[self.dialect]
        with self.transaction():
            if self.dialect == "postgresql":
                # Two first runs at once would both create the tables.
                self.run("SELECT pg_advisory_xact_lock(7262661)")
            self.run("CREATE TABLE IF NOT EXISTS schema_steps (step BIGINT PRIMARY KEY)")
            done = self.run("SELECT COALESCE(MAX(step), 0) FROM schema_steps").scalar_one()
            if done > len(STEPS):
                raise LedgerError(
                    f"the ledger was written by a newer carrier-enrich (schema {done}, this one "
                    f"knows {len(STEPS)}): upgrade this installation"
                )
            for number, statements in enumerate(STEPS[done:], start=done + 1):
                for statement in statements:
                    self.run(_filled(statement, words))
                self.run("INSERT INTO schema_steps (step) VALUES (:step)", step=number)


def _filled(statement: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        statement = statement.replace(f"{{{name}}}", word)
    return statement


def _engine(url: str) -> Engine:
    if url.startswith("postgres://"):
        url = "postgresql://" + url.removeprefix("postgres://")
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        database = engine.url.database
        if database and database != ":memory:":
            _make_private(Path(database))

        @event.listens_for(engine, "connect")
        def connected(connection: sqlite3.Connection, _record: object) -> None:
            # The driver's own transaction control would begin too late and too weakly.
            connection.isolation_level = None
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            # What is spent must survive a power cut, not only a crash.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -65536")

        @event.listens_for(engine, "begin")
        def began(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # SQLite gives its side files the mode of the main one.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _reason(error: BaseException) -> str:
    """What the database said, without the statement, its values or the URL's password."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        error = error.orig
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
