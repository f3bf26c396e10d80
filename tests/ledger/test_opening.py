"""A ledger's file or server: private, migrated, whole, and silent about its secrets."""

from __future__ import annotations

import sqlite3
import stat
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from ledger.shop import NOW, Shop, answers, some
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from carrier_enrich.errors import LedgerError
from carrier_enrich.ledger import Budget, Freshness, Ledger, State
from carrier_enrich.ledger.database import Database
from carrier_enrich.ledger.schema import STEPS
from carrier_enrich.settings import Settings

RELEASED = Path(__file__).parent / "released"
FULL = "the ledger failed: OperationalError: database or disk is full"
KEY = "sk-live-0123456789"


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def execute(url: str, *statements: str) -> None:
    """Run statements on a ledger's database, beside the ledger."""
    address = make_url(url.replace("postgresql://", "postgresql+psycopg://", 1))
    engine = create_engine(address)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_the_file_and_its_side_files_are_the_user_s_alone(tmp_path: Path) -> None:
    """Mode 0600 for ledger, -wal and -shm, in a folder of mode 0700, while it is in use."""
    folder = tmp_path / "data"
    with Ledger.open(f"sqlite:///{folder / 'l.db'}", service="s", account="a") as ledger:
        Shop(ledger, ledger.leases.begin(NOW)).know(answers(some(3)))
        assert modes(folder) == {"l.db": 0o600, "l.db-wal": 0o600, "l.db-shm": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(modes(folder)) == {"l.db"}


def test_an_open_file_is_closed_to_others(tmp_path: Path) -> None:
    """A ledger that others could read is made private when it is opened."""
    path = tmp_path / "l.db"
    Database(f"sqlite:///{path}").close()
    path.chmod(0o644)
    Database(f"sqlite:///{path}").close()
    assert modes(tmp_path) == {"l.db": 0o600}


def test_opening_again_finds_everything(open_ledger: Callable[..., Ledger]) -> None:
    """What one connection has committed another sees; closing twice is harmless."""
    first = open_ledger()
    shop = Shop(first, first.leases.begin(NOW))
    shop.know(answers(some(3)))
    kept = shop.intend(some(3, 14_155_551_000))
    first.close()
    first.close()
    second = open_ledger()
    assert len(second.knowledge.recall(some(3), Freshness(0, 0))) == 3
    assert second.purchases.open() == [kept]


def test_a_newer_schema_is_refused_in_one_line(
    open_ledger: Callable[..., Ledger], ledger_url: str
) -> None:
    """A ledger of a later version is left alone, and the user is told what to do."""
    open_ledger().close()
    execute(ledger_url, f"INSERT INTO schema_steps (step) VALUES ({len(STEPS) + 1})")
    with pytest.raises(LedgerError) as raised:
        open_ledger()
    assert str(raised.value) == (
        f"the ledger was written by a newer carrier-enrich (schema {len(STEPS) + 1}, this one "
        f"knows {len(STEPS)}): upgrade this installation"
    )


def test_every_released_step_has_a_dump() -> None:
    """No step is released without a ledger of its time, on each database, to migrate from."""
    wanted = {f"step_{n + 1}.{d}.sql" for n in range(len(STEPS)) for d in ("sqlite", "postgresql")}
    assert {path.name for path in RELEASED.glob("*.sql")} == wanted


@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_every_released_schema_is_migrated(
    open_ledger: Callable[..., Ledger], ledger_url: str, step: int
) -> None:
    """A ledger of each released version opens today, with all that it knew and had open."""
    dialect = ledger_url.partition(":")[0]
    dump = (RELEASED / f"step_{step}.{dialect}.sql").read_text()
    execute(ledger_url, *filter(str.strip, dump.split(";\n")))
    ledger = open_ledger("released-service", "released-account")
    shop = Shop(ledger, ledger.leases.begin(NOW + 10))
    known = shop.recall(some(6))
    assert known.numbers.tolist() == some(4).tolist()
    assert {lookup.carrier for lookup in known.lookups} == {"NA", "移动", None}
    (open_one,) = ledger.purchases.open()
    assert (open_one.state, open_one.task_id, open_one.count) == (State.SUBMITTED, "t-1", 2)
    assert ledger.purchases.body(open_one) == b"+14155551000\n+14155551001"
    assert len(shop.claim(some(3, 14_155_551_000))) == 1
    assert shop.intend(some(3, 14_155_552_000)).state is State.INTENDED


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://me:hunter2@host/db", "SQLite or PostgreSQL, not mysql"),
        ("postgresql://me:hunter2@host:hunter2/db", "URL can't be read"),
        ("hunter2", "URL can't be read"),
        ("sqlite:///file:x?uri=true", "must name a plain file"),
        ("postgresql://me:hunter2@127.0.0.1:1/db", "can't be opened"),
        ("postgresql://me@127.0.0.1:1/db?password=hunter2", "can't be opened"),
        ("postgresql://me:hunter2@127.0.0.1:1/db?hunter2=1", "can't be opened"),
        ("sqlite:////proc/no/such/folder/l.db", "can't be opened"),
    ],
)
def test_a_ledger_that_can_not_be_opened_says_so_without_secrets(url: str, said: str) -> None:
    """One line, of the ledger's own error, without the password: in message, cause and trace."""
    with pytest.raises(LedgerError, match=said) as raised:
        Ledger.open(url, service="s", account="a")
    shown = "".join(traceback.format_exception(raised.value, chain=True))
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in shown
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """Any other file, or another program's database, keeps its content and its mode."""
    notes, theirs = tmp_path / "notes.txt", tmp_path / "theirs.db"
    notes.write_text("my notes, " * 1_000)
    with closing(sqlite3.connect(theirs)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    for path, said in ((notes, "not a database"), (theirs, "another program's database")):
        path.chmod(0o644)
        before = path.read_bytes()
        with pytest.raises(LedgerError, match=said):
            Database(f"sqlite:///{path}")
        assert path.read_bytes() == before
    assert modes(tmp_path) == {"notes.txt": 0o644, "theirs.db": 0o644}


def test_the_key_is_nowhere_in_the_database(tmp_path: Path) -> None:
    """Of key and address the ledger holds digests."""
    settings = Settings(base_url="https://secret-host.example", api_key=KEY)
    url = f"sqlite:///{tmp_path / 'l.db'}"
    with Ledger.open(url, service=settings.service, account=settings.account) as ledger:
        shop = Shop(ledger, ledger.leases.begin(NOW))
        shop.know(answers(some(3)))
        shop.intend(some(3, 14_155_551_000))
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert settings.account.encode() in written
    assert KEY.encode() not in written
    assert b"secret-host" not in written


def test_errors_hold_no_statement_and_no_number(ledger: Ledger, shop: Shop) -> None:
    """What the database reports is one line without values."""
    with pytest.raises(LedgerError) as raised, ledger.db.transaction():
        ledger.db.run("INSERT INTO lookups (number) VALUES (:n)", n=14_155_550_123)
    assert "14155550123" not in str(raised.value)
    assert "INSERT" not in str(raised.value)
    assert len(shop.recall(some(1, 14_155_550_123))) == 0


def test_a_transaction_is_whole_or_nothing(ledger: Ledger, shop: Shop) -> None:
    """Whatever is raised inside, nothing of it stays; nested transactions go with the outer."""
    purchase = shop.intend(some(3))

    def interrupted() -> None:
        with shop.ledger.db.transaction():
            shop.ledger.purchases.refused(purchase, "no", NOW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ledger.purchases.open() == [purchase]


@pytest.mark.parametrize("pages", range(0, 60, 6))
def test_a_full_disk_loses_nothing_and_writes_no_half(tmp_path: Path, pages: int) -> None:
    """With room for ever more pages, a purchase and its answers are written whole or not at all."""
    path = tmp_path / "l.db"
    with Ledger.open(f"sqlite:///{path}", service="s", account="a") as ledger:
        shop = Shop(ledger, ledger.leases.begin(NOW), budget=Budget("b", 10**9))
        with ledger.db.snapshot():
            used = ledger.db.run("PRAGMA page_count").scalar_one()
            ledger.db.run(f"PRAGMA max_page_count = {used + pages}").close()
        numbers, wrote = some(3_000), []
        full = ""
        try:
            purchase = shop.intend(numbers)
            wrote.append("intention")
            shop.ledger.purchases.refused(purchase, "no", NOW)
            shop.know(answers(numbers))
            wrote.append("answers")
        except LedgerError as error:
            full = str(error)
        assert full == ("" if "answers" in wrote else FULL)
        with closing(sqlite3.connect(path)) as beside:
            count = {
                table: beside.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
                for table in ("purchases", "payloads", "lookups")
            }
        spent = ledger.purchases.spent("b")
        assert count["purchases"] >= len(wrote)
        assert count["lookups"] == (3_000 if "answers" in wrote else 0)
        assert count["payloads"] == len(ledger.purchases.open())
        assert spent == sum(p.highest_cost or 0 for p in ledger.purchases.open())
        with ledger.db.snapshot():
            ledger.db.run("PRAGMA max_page_count = 1000000").close()
        for left in ledger.purchases.open():
            ledger.purchases.charge_unknown(left, "full disk", NOW)
        shop.know(answers(numbers))
        assert len(shop.recall(numbers)) == 3_000


def test_a_closed_connection_is_made_again(postgres_url: str) -> None:
    """A server that restarts between two transactions is not noticed by a run."""
    with Ledger.open(postgres_url, service="s", account="a") as ledger:
        shop = Shop(ledger, ledger.leases.begin(NOW))
        shop.know(answers(some(3)))
        with ledger.db.snapshot():
            backend = ledger.db.run("SELECT pg_backend_pid()").scalar_one()
        execute(postgres_url, f"SELECT pg_terminate_backend({backend}, 5000)")
        assert len(shop.recall(some(3))) == 3
        shop.know(answers(some(3, 14_155_551_000)))


def test_a_connection_that_breaks_inside_a_transaction_fails_it_whole(postgres_url: str) -> None:
    """What was begun is not committed, the error is the ledger's, and the next one works."""
    with Ledger.open(postgres_url, service="s", account="a") as ledger:
        shop = Shop(ledger, ledger.leases.begin(NOW))
        purchase = shop.intend(some(3))

        def cut_off() -> None:
            with ledger.db.transaction():
                ledger.purchases.refused(purchase, "no", NOW)
                backend = ledger.db.run("SELECT pg_backend_pid()").scalar_one()
                execute(postgres_url, f"SELECT pg_terminate_backend({backend}, 5000)")
                ledger.purchases.get(purchase.id)

        with pytest.raises(LedgerError, match="the ledger failed"):
            cut_off()
        assert ledger.purchases.open() == [purchase]


def test_the_database_s_clock_corrects_the_machine_s(ledger: Ledger) -> None:
    """A machine whose clock is an hour behind learns so from PostgreSQL; SQLite has no other."""
    offset = ledger.db.clock_offset(lambda: time.time() - 3_600)
    expected = 0.0 if ledger.db.dialect == "sqlite" else 3_600.0
    assert offset == pytest.approx(expected, abs=5.0)


def test_nothing_is_written_inside_a_snapshot(ledger: Ledger) -> None:
    """A transaction can't begin where only reading was announced."""
    with pytest.raises(AssertionError), ledger.db.snapshot(), ledger.db.transaction():
        pass


def test_a_postgresql_database_is_shared_with_other_programs(postgres_server: str) -> None:
    """Where the URL names no schema the ledger makes its own, beside a table of the same name."""
    execute(postgres_server, "CREATE TABLE public.runs (other TEXT)")
    try:
        for first in (14_155_550_000, 14_155_551_000):
            with Ledger.open(postgres_server, service="s", account="a") as ledger:
                shop = Shop(ledger, ledger.leases.begin(NOW))
                shop.know(answers(some(3, first)))
                assert len(ledger.knowledge.recall(some(3, 14_155_550_000), Freshness(0, 0))) == 3
        execute(postgres_server, "SELECT other FROM public.runs")
    finally:
        execute(postgres_server, "DROP TABLE public.runs", "DROP SCHEMA carrier_enrich CASCADE")
