"""How a ledger's database is reached: the engine, the private file, what errors may say."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from carrier_enrich.errors import LedgerError
from carrier_enrich.ledger.schema import DIALECTS

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

#: Milliseconds to wait for another writer.
BUSY_MS = 120_000

#: The PostgreSQL schema of a ledger whose URL names none: other programs in the same database,
#: such as Dagster, have a table of runs too.
SCHEMA = "carrier_enrich"

#: Milliseconds after which a PostgreSQL transaction whose process has stopped in the middle of
#: it gives way; as long as a run's lease.
STALLED_MS = 60_000

#: Every statement finds its rows by an index. The planner, which knows nothing of a table that
#: has just been filled, takes it for a small one and reads the whole of it.
_PLANS = ("seqscan", "bitmapscan")

#: Key in a connection's `info`: the transaction that begins only reads.
READING = "carrier_enrich_reading"


def engine_of(url: str) -> Engine:
    """The engine for a ledger's URL; on SQLite the file is made, for its user only.

    Raises:
        LedgerError: the URL can't be used.
        OSError: the file can't be made.
    """
    parts = _parsed(url)
    dialect = parts.get_backend_name()
    if dialect not in DIALECTS:
        raise LedgerError(f"a ledger is SQLite or PostgreSQL, not {dialect}")
    if dialect == "sqlite":
        engine = create_engine(parts, poolclass=NullPool, hide_parameters=True)
        if path := _file(engine):
            _create(path)
        event.listen(engine, "connect", _sqlite_connected)
        event.listen(engine, "begin", _sqlite_begins)
        return engine
    words: dict[str, object] = {
        "search_path": SCHEMA,
        "lock_timeout": BUSY_MS,
        "idle_in_transaction_session_timeout": STALLED_MS,
    }
    words |= {"jit": "off"} | {f"enable_{plan}": "off" for plan in _PLANS}
    options = " ".join(f"-c {name}={word}" for name, word in words.items())
    given = parts.query.get("options", "")
    return create_engine(
        parts.set(drivername="postgresql+psycopg").difference_update_query(["options"]),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={
            "options": f"{options} {given if isinstance(given, str) else ' '.join(given)}",
            "application_name": "carrier-enrich",
        },
    )


def reason(error: BaseException, url: str) -> str:
    """What the database said: one line, without the statement, its values or the password."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        error = error.orig
    said = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}".rstrip(": ")
    for secret in _secrets(url):
        said = said.replace(secret, "***")
    return said


def _parsed(url: str) -> URL:
    if url.startswith("postgres://"):
        url = "postgresql://" + url.removeprefix("postgres://")
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        # What could not be read may hold a password: nothing of it is repeated.
        raise LedgerError(
            "the ledger's URL can't be read: write sqlite:///path or "
            "postgresql://user:password@host/database, with special characters percent-encoded"
        ) from None
    if parts.get_backend_name() == "sqlite" and (parts.database or "").startswith("file:"):
        raise LedgerError("the ledger's URL must name a plain file: sqlite:///path")
    return parts


def _secrets(url: str) -> list[str]:
    """Everything in the URL that may be a password, longest first."""
    found = {url}
    authority = url.partition("://")[2]
    user_info = authority.rpartition("@")[0]
    found.add(user_info.partition(":")[2])
    query = authority.partition("?")[2]
    found.update(
        value
        for name, _, value in (item.partition("=") for item in query.split("&"))
        if "pass" in name.lower()
    )
    found |= {unquote(secret) for secret in found}
    return sorted(filter(None, found), key=len, reverse=True)


def _sqlite_connected(connection: sqlite3.Connection, _record: object) -> None:
    # The driver's own transaction control would begin too late and too weakly.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    # What is spent must survive a power cut, not only a crash.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    # As many pages: the answers of a bulk task are not copied twice at once.
    connection.execute("PRAGMA wal_autocheckpoint = 16384")


def _sqlite_begins(connection: Connection) -> None:
    # A reader that began without the write lock could not become a writer later on.
    reading = connection.info.get(READING, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _file(engine: Engine) -> Path | None:
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" else None


def secure(engine: Engine) -> None:
    """Make a SQLite ledger's files their user's alone, and its journal a write-ahead log.

    Only what was opened and found to be a ledger: a wrong path must not change what it names.
    """
    if path := _file(engine):
        with closing(engine.raw_connection()) as connection:
            # Changes nothing where it is one, as it is unless the file was made by other means.
            connection.cursor().execute("PRAGMA journal_mode = WAL")
        for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            if file.exists() and file.stat().st_mode & 0o077:
                file.chmod(0o600)


def _create(path: Path) -> None:
    """Make an empty WAL database that only its user can read, where there is none.

    It gets its name only when it is ready: of several first runs none meets a file that is
    still being changed to WAL, which SQLite reports as "locked" without waiting. A file that is
    there is not opened here: closing it would drop the locks that other connections of this
    process hold on it.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists():
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            return
        except OSError:
            # A file system without hard links.
            if not path.exists():
                fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)
