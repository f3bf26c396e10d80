"""`enrich`, `plan` and `Enricher`: frames above, the engine below."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from carrier_enrich import frames, streams
from carrier_enrich.accounting import receipt_from, receipt_of
from carrier_enrich.client import CarrierClient
from carrier_enrich.engine import Engine, Outcome, Progress, Tally
from carrier_enrich.engine.courier import Courier, ThreadCourier
from carrier_enrich.errors import BadInput, PlanChanged
from carrier_enrich.ledger import Ledger
from carrier_enrich.model import Answers, Countries, micros_of_usd
from carrier_enrich.planning import Plan
from carrier_enrich.progress import watched
from carrier_enrich.receipt import Receipt
from carrier_enrich.settings import Settings

if TYPE_CHECKING:
    from decimal import Decimal

    from carrier_enrich.frames import Demand
    from carrier_enrich.streams import Reading, Written

logger = logging.getLogger("carrier_enrich")

Phone = str | Sequence[str]
Usd = str | int
Watch = Callable[[Progress], None]


class Enricher:
    """One ledger and one client for many calls; use it as a context manager.

    Neither is opened before the first call that needs it, and bad input is found before that.

    Args:
        settings: by default from the environment (`Settings.of`).
        clock: seconds since the epoch.
        courier: what sends requests and waits, made from a client and the clock.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        courier: Callable[[CarrierClient, Callable[[], float]], Courier] = ThreadCourier,
    ) -> None:
        self.settings = settings or Settings.of()
        self.receipt: Receipt | None = None
        self._clock = clock
        self._courier = courier
        self._client: CarrierClient | None = None
        self._ledger: Ledger | None = None

    def enrich(
        self,
        data: Any,
        phone: Phone,
        *,
        country: str | None = None,
        country_column: str | None = None,
        columns: Sequence[str] = frames.DEFAULT_COLUMNS,
        prefix: str = "",
        max_cost_usd: Usd | None = None,
        on_limit: Literal["raise", "partial"] = "raise",
        plan: Plan | None = None,
        progress: Watch | bool | None = None,
    ) -> Any:
        """The same kind of frame with carrier data and `lookup_status` beside each number.

        See `carrier_enrich.enrich` for the arguments and what is raised.
        """
        _check_limit(on_limit)
        frames.check_request(
            frames.column_labels(data), phone, country, country_column, columns, prefix
        )
        walk = frames.crosswalk(data, phone, country=country, country_column=country_column)
        _check_plan(plan, walk)
        cap = self._cap(max_cost_usd, plan)
        outcome = self.look_up(walk, cap=cap, partial=on_limit == "partial", watch=progress)
        self.receipt = receipt_of(walk, outcome, self.settings.with_cap(cap))
        out = frames.join_back(data, walk, outcome.answers, columns=columns, prefix=prefix)
        if hasattr(out, "attrs"):
            out.attrs["carrier_enrich"] = self.receipt.to_dict()
        return out

    def plan(
        self,
        data: Any,
        phone: Phone,
        *,
        country: str | None = None,
        country_column: str | None = None,
        columns: Sequence[str] = frames.DEFAULT_COLUMNS,
        prefix: str = "",
        max_cost_usd: Usd | None = None,
    ) -> Plan:
        """What `enrich` would send and cost at most; sends nothing but the balance read."""
        frames.check_request(
            frames.column_labels(data), phone, country, country_column, columns, prefix
        )
        walk = frames.crosswalk(data, phone, country=country, country_column=country_column)
        return self.plan_for(walk, self._cap(max_cost_usd, None))

    def enrich_file(
        self,
        source: str | Path,
        target: str | Path,
        phone: Phone,
        *,
        country: str | None = None,
        country_column: str | None = None,
        columns: Sequence[str] = frames.DEFAULT_COLUMNS,
        prefix: str = "",
        max_cost_usd: Usd | None = None,
        on_limit: Literal["raise", "partial"] = "raise",
        plan: Plan | None = None,
        excel_safe: bool = False,
        progress: Watch | bool | None = None,
    ) -> Receipt:
        """Enrich a file into another, a piece at a time: memory does not grow with the rows.

        The target appears only when it is whole; the source is never touched. See
        `carrier_enrich.enrich` for the other arguments and what is raised.

        Args:
            source: a Parquet or CSV file, or a folder of Parquet files (also hive-style, whose
                folder names count as columns): a local path or an fsspec URL.
            target: the same; a folder where the source is one.
            excel_safe: mark phone numbers and the service's texts in a CSV, so that a
                spreadsheet takes them for text.

        Raises:
            BadInput: also where the target is the source or can't be written, before anything
                is sent.
        """
        with self.reading(
            source,
            phone,
            country=country,
            country_column=country_column,
            columns=columns,
            prefix=prefix,
            target=target,
            excel_safe=excel_safe,
        ) as read:
            self.enrich_reading(
                read,
                target,
                columns=columns,
                prefix=prefix,
                max_cost_usd=max_cost_usd,
                on_limit=on_limit,
                plan=plan,
                excel_safe=excel_safe,
                progress=progress,
            )
        assert self.receipt is not None
        return self.receipt

    def plan_file(
        self,
        source: str | Path,
        phone: Phone,
        *,
        max_cost_usd: Usd | None = None,
        **options: Any,
    ) -> Plan:
        """What `enrich_file` would send and cost at most; sends nothing but the balance read."""
        with self.reading(source, phone, **options) as read:
            return self.plan_reading(read, max_cost_usd=max_cost_usd)

    def plan_reading(self, read: Reading, *, max_cost_usd: Usd | None = None) -> Plan:
        """The plan for what was read of a file."""
        return self.plan_for(read.demand, self._cap(max_cost_usd, None))

    @contextmanager
    def reading(self, source: str | Path, phone: Phone, **options: Any) -> Iterator[Reading]:
        """A file read once, for `plan_reading` and `enrich_reading`; options as `streams.reading`.

        Raises:
            BadInput: the file or a name can't be used.
        """
        rows = self.settings.batch_rows
        with streams.reading(source, phone, batch_rows=rows, **options) as read:
            yield read

    def enrich_reading(
        self,
        read: Reading,
        target: str | Path,
        *,
        columns: Sequence[str] = frames.DEFAULT_COLUMNS,
        prefix: str = "",
        max_cost_usd: Usd | None = None,
        on_limit: Literal["raise", "partial"] = "raise",
        plan: Plan | None = None,
        excel_safe: bool = False,
        progress: Watch | bool | None = None,
    ) -> Written:
        """Look up and write what was read; arguments and errors as `enrich_file`'s."""
        _check_limit(on_limit)
        _check_plan(plan, read.demand)
        cap = self._cap(max_cost_usd, plan)
        outcome = self.look_up(read.demand, cap=cap, partial=on_limit == "partial", watch=progress)
        written = streams.write(
            read,
            outcome.answers,
            target,
            columns=columns,
            prefix=prefix,
            excel_safe=excel_safe,
        )
        counts = frames.by_status(written.lookups, written.cells)
        self.receipt = receipt_from(
            outcome,
            self.settings.with_cap(cap),
            rows=read.demand.rows,
            phone_columns=len(read.phones),
            cells={str(status): cells for status, cells in counts.items() if cells},
            distinct=len(read.demand.numbers),
            answered=len(outcome.answers),
            blank=read.demand.missing + sum(read.demand.invalid.values()),
        )
        return written

    def balance(self) -> int:
        """The account's balance in micros of USD (spec, Balance)."""
        return self._open_client().balance()

    def settle(self, *, progress: Watch | bool | None = None) -> Receipt:
        """Collect whatever is paid for and open; buy nothing new."""
        with watched(progress) as told:
            outcome = self._engine(None).settle(watch=told)
        self.receipt = receipt_of(None, outcome, self.settings)
        return self.receipt

    def give_up(self, purchase_id: int) -> None:
        """Close an open purchase whose outcome nobody can tell any more, by the user's decision.

        One that the service never confirmed is charge_unknown, and its numbers may be bought
        again; one that it did is paid for, and its numbers stay charge_unknown.

        Raises:
            LedgerError: there is no such open purchase, or a run is at work on it.
        """
        ledger = self.open_ledger()
        now = ledger.clock(self._clock)()
        ledger.leases.bury(now)
        ledger.purchases.give_up(purchase_id, now)

    def look_up(
        self,
        walk: Demand,
        *,
        cap: int | None = None,
        partial: bool = False,
        watch: Watch | bool | None = None,
    ) -> Outcome:
        """Answers for the numbers of a frame or file."""
        if not len(walk.numbers):
            what = "no rows" if not walk.rows else "no phone number in any row"
            logger.warning("%s: nothing was looked up and nothing was sent", what)
            return Outcome(Answers.of(()), Tally(), ())
        engine = self._engine(cap)
        with watched(watch) as told:
            return engine.run(walk.numbers, _countries(walk), partial=partial, watch=told)

    def plan_for(self, walk: Demand, cap: int | None = None) -> Plan:
        """The plan for what was read of a frame or file."""
        engine = self._engine(cap) if len(walk.numbers) else None
        look = engine.look(walk.numbers, _countries(walk)) if engine else None
        return Plan(
            rows=walk.rows,
            missing=walk.missing,
            invalid={str(reason): cells for reason, cells in walk.invalid.items()},
            distinct=len(walk.numbers),
            known=look.known if look else 0,
            paid=look.paid if look else 0,
            calls=look.calls if look else (),
            balance=self.balance() if look and look.calls else None,
            cap=self.settings.max_cost if cap is None else cap,
            expected_seconds=look.expected_seconds if look else 0.0,
            sandbox=self.settings.is_loopback,
            digest=walk.digest,
        )

    def close(self) -> None:
        """Close the ledger and the client; closing twice is harmless."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Enricher({self.settings!r})"

    def _cap(self, max_cost_usd: Usd | Decimal | None, plan: Plan | None) -> int | None:
        if max_cost_usd is not None:
            return micros_of_usd(max_cost_usd)
        return plan.cap if plan is not None else None

    def _open_client(self) -> CarrierClient:
        if self._client is None:
            settings = self.settings.required()
            self._client = CarrierClient(settings.base_url, settings.api_key)
        return self._client

    def open_ledger(self) -> Ledger:
        """The ledger, opened at first need."""
        if self._ledger is None:
            settings = self.settings.required()
            self._ledger = Ledger.open(
                settings.ledger_url, service=settings.service, account=settings.account
            )
        return self._ledger

    def _engine(self, cap: int | None) -> Engine:
        settings = self.settings.required().with_cap(cap)
        client = self._open_client()
        courier = self._courier(client, self._clock)
        return Engine(self.open_ledger(), courier, settings, self._clock)


def _check_limit(on_limit: str) -> None:
    if on_limit not in ("raise", "partial"):
        raise BadInput(f"on_limit is {on_limit!r}: 'raise' or 'partial'")


def _check_plan(plan: Plan | None, demand: Demand) -> None:
    if plan is not None and plan.digest != demand.digest:
        raise PlanChanged(
            "the data is not what the plan was made for: plan again; nothing was sent"
        )


def _countries(walk: Demand) -> Countries:
    return Countries(walk.countries, walk.country_names)
