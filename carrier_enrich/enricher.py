"""`enrich`, `plan` and `Enricher`: frames above, the engine below."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from carrier_enrich import files, frames
from carrier_enrich.client import CarrierClient
from carrier_enrich.engine import Engine, Outcome, Progress, Tally
from carrier_enrich.engine.courier import Courier, ThreadCourier
from carrier_enrich.errors import BadInput, PlanChanged
from carrier_enrich.ledger import Ledger
from carrier_enrich.model import Answers, Countries, LookupStatus, micros_of_usd
from carrier_enrich.planning import Plan
from carrier_enrich.receipt import Receipt
from carrier_enrich.settings import Settings

if TYPE_CHECKING:
    from decimal import Decimal

    from carrier_enrich.frames import Crosswalk

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
        progress: Watch | None = None,
    ) -> Any:
        """The same kind of frame with carrier data and `lookup_status` beside each number.

        See `carrier_enrich.enrich` for the arguments and what is raised.
        """
        if on_limit not in ("raise", "partial"):
            raise BadInput(f"on_limit is {on_limit!r}: 'raise' or 'partial'")
        frames.check_request(
            frames.column_labels(data), phone, country, country_column, columns, prefix
        )
        walk = frames.crosswalk(data, phone, country=country, country_column=country_column)
        if plan is not None and plan.digest != walk.digest:
            raise PlanChanged(
                "the data is not what the plan was made for: plan again; nothing was sent"
            )
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
        **options: Any,
    ) -> Receipt:
        """Enrich a Parquet or CSV file into another; options as `enrich`'s.

        The target appears only when it is whole; the source is never touched.

        Raises:
            BadInput: also where the target is the source or can't be written; nothing was sent.
        """
        if Path(source).resolve() == Path(target).resolve():
            raise BadInput(f"{target}: the target is the source: name another file")
        files.check_target(target)
        table = files.read_table(source)
        files.check_target(target, table)
        out = self.enrich(table, phone, **options)
        files.write_table(out, target)
        assert self.receipt is not None
        return self.receipt

    def balance(self) -> int:
        """The account's balance in micros of USD (spec, Balance)."""
        return self._open_client().balance()

    def settle(self, *, progress: Watch | None = None) -> Receipt:
        """Collect whatever is paid for and open; buy nothing new."""
        outcome = self._engine(None).settle(watch=progress)
        self.receipt = receipt_of(None, outcome, self.settings)
        return self.receipt

    def give_up(self, purchase_id: int) -> None:
        """Close an open purchase whose outcome nobody can tell any more, by the user's decision.

        One that the service never confirmed is charge_unknown, and its numbers may be bought
        again; one that it did is paid for, and its numbers stay charge_unknown.

        Raises:
            LedgerError: there is no such open purchase, or a run is at work on it.
        """
        ledger, now = self.open_ledger(), self._clock()
        ledger.leases.bury(now)
        ledger.purchases.give_up(purchase_id, now)

    def look_up(
        self,
        walk: Crosswalk,
        *,
        cap: int | None = None,
        partial: bool = False,
        watch: Watch | None = None,
    ) -> Outcome:
        """Answers for the numbers of a crosswalk."""
        if not len(walk.numbers):
            what = "no rows" if not walk.rows else "no phone number in any row"
            logger.warning("%s: nothing was looked up and nothing was sent", what)
            return Outcome(Answers.of(()), Tally(), ())
        engine = self._engine(cap)
        return engine.run(walk.numbers, countries_of(walk), partial=partial, watch=watch)

    def plan_for(self, walk: Crosswalk, cap: int | None = None) -> Plan:
        """The plan for a crosswalk."""
        engine = self._engine(cap) if len(walk.numbers) else None
        look = engine.look(walk.numbers, countries_of(walk)) if engine else None
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


def countries_of(walk: Crosswalk) -> Countries:
    """The country of each distinct number of a crosswalk."""
    return Countries(walk.countries, walk.country_names)


def receipt_of(walk: Crosswalk | None, outcome: Outcome, settings: Settings) -> Receipt:
    """The receipt of a run over a crosswalk; None for a run that only settled."""
    tally = outcome.tally
    cells: dict[str, int] = {}
    if walk is not None:
        cells = {str(k): n for k, n in frames.status_counts(walk, outcome.answers).items() if n}
    distinct = 0 if walk is None else len(walk.numbers)
    collected = tally.collected if walk is not None else 0
    unanswered = distinct - len(outcome.answers)
    blank = cells.get(LookupStatus.MISSING, 0) + (sum(walk.invalid.values()) if walk else 0)
    saved_cells = sum(cells.values()) - blank - tally.bought - collected - unanswered
    prices = [
        price
        for price in (
            settings.price_single,
            settings.price_multi,
            settings.price_carrier_batch,
            settings.price_global_carrier_batch,
        )
        if price is not None
    ]
    return Receipt(
        rows=0 if walk is None else walk.rows,
        phone_columns=0 if walk is None else len(walk.columns),
        cells=cells,
        distinct=distinct,
        known=tally.known,
        bought=tally.bought,
        collected=collected,
        shared=tally.shared,
        unanswered=unanswered,
        requests=dict(tally.requests),
        refusals=dict(tally.refusals),
        estimated=tally.estimated,
        charged=tally.charged,
        charged_by_kind=dict(tally.charged_by_kind),
        not_charged=tally.refunded,
        charge_unknown=tally.unknown_cost,
        charge_unknown_numbers=tally.unknown,
        still_open=tally.still_open,
        unpriced=tally.unpriced,
        saved=min(prices) * saved_cells if prices else None,
        saved_cells=saved_cells,
        balance_before=tally.balance_before,
        balance_after=tally.balance_after,
        open_purchases=len(outcome.open),
        duration_seconds=tally.ended_at - tally.started_at,
        stopped=None if outcome.stopped is None else str(outcome.stopped),
        sandbox=settings.is_loopback,
        cap=settings.max_cost,
    )
