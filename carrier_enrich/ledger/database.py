"""One connection to SQLite or PostgreSQL: transactions, migrations, numbers in bulk."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from carrier_enrich.blocks import ahead
from carrier_enrich.errors import LedgerError
from carrier_enrich.ledger import arrays
from carrier_enrich.ledger.opening import READING, SCHEMA, engine_of, reason, secure
from carrier_enrich.ledger.schema import DIALECTS, STEPS

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine import CursorResult

    from carrier_enrich.model import Int64s

#: PostgreSQL's advisory locks are pairs of numbers; the first says what for.
_MIGRATION_LOCK, _NAME_LOCK = 7_262_661, 7_262_662

#: Times that the clocks of database and machine are compared; the quickest answer counts.
_COMPARISONS = 3


class Database:
    """A connection that belongs to one thread.

    Every statement runs inside `transaction()`, or inside `snapshot()` where nothing is
    written. SQLite takes its write lock at the start of each transaction (BEGIN IMMEDIATE), so
    none can fail half-way for want of it, and nobody else decides meanwhile. PostgreSQL reads
    what is committed when each statement begins: a transaction whose decision rests on what it
    reads calls `lock()` first.

    Raises:
        LedgerError: the database can't be reached, read or written.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._engine = engine_of(url)
            self.dialect = self._engine.dialect.name
            if self.dialect == "postgresql":
                event.listen(self._engine, "connect", lambda raw, _: arrays.register(raw))
            self._errors = (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error)
            self._connection: Connection = self._engine.connect()
        except (SQLAlchemyError, sqlite3.Error, ImportError, OSError) as error:
            raise LedgerError(f"the ledger can't be opened: {reason(error, url)}") from None
        try:
            self._migrate()
            secure(self._engine)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            self.close()
            raise LedgerError(f"the ledger can't be opened: {reason(error, url)}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements inside are committed together, or none is; nested ones join in."""
        if self._connection.in_transaction():
            assert not self._connection.info[READING], "nothing is written inside snapshot()"
            yield
        else:
            with self._begun(reading=False):
                yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Statements that only read; on SQLite they neither wait for a writer nor stop one."""
        if self._connection.in_transaction():
            yield
        else:
            with self._begun(reading=True):
                yield

    def run(self, statement: str, **values: object) -> CursorResult[*tuple[Any, ...]]:
        """One statement with named parameters."""
        assert self._connection.in_transaction(), "statements run inside transaction()"
        return self._connection.execute(text(statement), values)

    def run_many(self, statement: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One statement with named parameters for each of these rows."""
        assert self._connection.in_transaction(), "statements run inside transaction()"
        self._connection.execute(text(statement), rows)

    def run_listed(
        self, statement: str, values: Sequence[int] | Sequence[str]
    ) -> CursorResult[*tuple[Any, ...]]:
        """The rows of a query with ``{is_listed}`` after a column, for however many values."""
        given = json.dumps(values) if self.dialect == "sqlite" else values
        return self.run(_filled(statement, DIALECTS[self.dialect]), listed=given)

    def lock(self, service_id: int) -> None:
        """Until the transaction ends, nobody else decides for any account of this service."""
        if self.dialect == "postgresql":
            self.run("SELECT 1 FROM services WHERE id = :id FOR NO KEY UPDATE", id=service_id)

    def lock_name(self, name: str) -> None:
        """Until the transaction ends, nobody else decides under this name; after `lock()`."""
        if self.dialect == "postgresql":
            self.run(
                f"SELECT pg_advisory_xact_lock({_NAME_LOCK}, hashtext(:name))", name=name
            ).close()

    def select(
        self, columns: tuple[str, ...], tail: str, numbers: Int64s, **values: object
    ) -> tuple[Int64s, ...]:
        """Integer columns as arrays, of a query over many numbers.

        ``tail`` goes on from the table ``asked``, whose column ``number`` holds the numbers:
        ``CROSS JOIN {lookups_of_asked} WHERE ...``; words in braces: see `DIALECTS`. The rows
        come in no certain order.
        """
        tail = _filled(tail, DIALECTS[self.dialect])
        sqlite = self.dialect == "sqlite"
        asked = "(SELECT value AS number FROM json_each(:numbers)) AS asked"
        asked = asked if sqlite else "unnest(:numbers) AS asked (number)"
        parts = []
        for part in arrays.slices(numbers):
            given = arrays.as_json(part) if sqlite else part
            parts.append(self.gather(columns, f"FROM {asked} {tail}", numbers=given, **values))
        return tuple(
            np.concatenate([part[i] for part in parts]) if parts else np.empty(0, np.int64)
            for i in range(len(columns))
        )

    def gather(self, columns: tuple[str, ...], source: str, **values: object) -> list[Int64s]:
        """Integer columns as arrays, of one query; the rows come in no certain order."""
        assert self._connection.in_transaction(), "statements run inside snapshot()"
        names = [f"c{i}" for i in range(len(columns))]
        named = ", ".join(f"{c} AS {n}" for c, n in zip(columns, names, strict=True))
        sqlite = self.dialect == "sqlite"
        # As text they become arrays without an object for each.
        form = "group_concat({})" if sqlite else "COALESCE(array_agg({}), '{{}}')"
        gathered = ", ".join(form.format(name) for name in names)
        statement = f"SELECT {gathered} FROM (SELECT {named} {source}) AS found"
        if sqlite:
            cursor = self._cursor()
            cursor.execute(statement, values)
            return [arrays.of_text(text) for text in cursor.fetchone()]
        cursor = self._cursor(binary=True)
        cursor.execute(re.sub(r":(\w+)", r"%(\1)s", statement), values)
        return list(cursor.fetchone())

    def upsert(
        self, table: str, keys: Mapping[str, Int64s | int], values: Mapping[str, Int64s | float]
    ) -> None:
        """Insert many rows, or change those whose keys are there.

        One key and one value are arrays, with an item for each row, and the key ascends without
        doubles; what is a single number stands for all rows.
        """
        columns: dict[str, Int64s | float] = {**keys, **values}
        key, value = (name for name in columns if isinstance(columns[name], np.ndarray))
        singles = {name: columns[name] for name in columns if name not in (key, value)}
        changes = ", ".join(f"{name} = excluded.{name}" for name in values)
        sqlite = self.dialect == "sqlite"
        source = (
            f"""(SELECT :first + (value >> :bits) AS {key}, :low + (value & :mask) AS {value}
                FROM json_each(:packed))"""
            if sqlite
            else f"unnest(%({key})s, %({value})s)"
        )
        chosen = {
            name: name if name in (key, value) else f":{name}" if sqlite else f"%({name})s"
            for name in columns
        }
        statement = f"""INSERT INTO {table} ({", ".join(columns)})
            SELECT {", ".join(chosen.values())} FROM {source} AS given ({key}, {value}) WHERE true
            ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {changes}"""
        if sqlite:
            statement = statement.replace(f" AS given ({key}, {value})", "")
        arrayed = np.asarray(columns[key]), np.asarray(columns[value])
        if sqlite:
            for given in ahead(map(_given, arrays.pairs_of(*arrayed))):
                self._cursor().execute(statement, {**singles, **given})
            return
        for first, second in zip(*map(arrays.slices, arrayed), strict=True):
            self._cursor().execute(statement, {**singles, key: first, value: second})

    def clock_offset(self, clock: Callable[[], float]) -> float:
        """Seconds by which the database's clock is ahead of `clock`; SQLite's is the machine's.

        Machines that share a ledger compare each other's moments; with this added to their own,
        all of them speak of the database's time.
        """
        if self.dialect == "sqlite":
            return 0.0
        found: list[tuple[float, float]] = []
        with self.snapshot():
            for _ in range(_COMPARISONS):
                before = clock()
                there = self.run("SELECT EXTRACT(EPOCH FROM clock_timestamp())").scalar_one()
                after = clock()
                found.append((after - before, float(there) - (before + after) / 2))
        return min(found)[1]

    @contextmanager
    def _begun(self, *, reading: bool) -> Iterator[None]:
        try:
            self._revive()
            self._connection.info[READING] = reading
            with self._connection.begin():
                yield
        except self._errors as error:
            raise LedgerError(f"the ledger failed: {reason(error, self._url)}") from None

    def _revive(self) -> None:
        """Connect again where the server has closed the connection since it was last used."""
        if self.dialect == "sqlite":
            return
        driver = self._connection.connection.driver_connection
        assert driver is not None
        try:
            # Reads what lies in the socket, without a round trip: a notice, then its end.
            driver.pgconn.consume_input()
            driver.pgconn.consume_input()
        except self._errors:
            self._connection.invalidate()

    def _cursor(self, **options: bool) -> Any:
        """A cursor of the driver, for what SQLAlchemy would make an object a row of."""
        return self._connection.connection.cursor(**options)

    def _migrate(self) -> None:
        words = DIALECTS[self.dialect]
        with self.snapshot():
            # A ledger that is up to date is opened without a write.
            if self._step() == len(STEPS):
                return
            if self.dialect == "sqlite" and not self._step() and self._has_tables():
                raise LedgerError("the ledger can't be opened: this is another program's database")
        with self.transaction():
            if self.dialect == "postgresql":
                # Two first runs at once would both create the tables.
                self.run(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK}, 0)").close()
                if self.run("SELECT current_schema()").scalar_one() is None:
                    self.run(f"CREATE SCHEMA {SCHEMA}")
            self.run("CREATE TABLE IF NOT EXISTS schema_steps (step BIGINT PRIMARY KEY)")
            done = self._step()
            if done > len(STEPS):
                raise LedgerError(
                    f"the ledger was written by a newer carrier-enrich (schema {done}, this one "
                    f"knows {len(STEPS)}): upgrade this installation"
                )
            for number, statements in enumerate(STEPS[done:], start=done + 1):
                for statement in statements:
                    self.run(_filled(statement, words))
                self.run("INSERT INTO schema_steps (step) VALUES (:step)", step=number)

    def _has_tables(self) -> bool:
        return bool(inspect(self._connection).get_table_names())

    def _step(self) -> int:
        if not inspect(self._connection).has_table("schema_steps"):
            return 0
        return int(self.run("SELECT COALESCE(MAX(step), 0) FROM schema_steps").scalar_one())


def _given(pairs: arrays.Pairs) -> Mapping[str, int | str]:
    packed = arrays.as_json(pairs.packed)
    values = {"first": pairs.first, "low": pairs.low, "bits": pairs.bits, "mask": pairs.mask}
    return {**values, "packed": packed}


def _filled(statement: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        statement = statement.replace(f"{{{name}}}", word)
    return statement
