"""`enrich` and `plan`: one call, one ledger opened and closed around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from carrier_enrich import frames
from carrier_enrich.enricher import Enricher, Phone, Usd, Watch
from carrier_enrich.planning import Plan
from carrier_enrich.progress import watched
from carrier_enrich.settings import Settings


def enrich(
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
    settings: Settings | None = None,
    progress: Watch | bool | None = None,
) -> Any:
    """A frame with carrier, number type and region beside every phone number.

    Args:
        data: a pandas DataFrame, a pyarrow Table, or a polars DataFrame. It is not changed.
        phone: the phone column, or several.
        country: ISO 3166-1 alpha-2; completes numbers written without a country code.
        country_column: the same row by row: codes or English names.
        columns: of carrier, underlying_carrier, number_type, country_code, region, city.
        prefix: before each new column's name.
        max_cost_usd: what this call may cost at most, as text: ``"25"``.
        on_limit: ``"partial"`` returns with `not_checked` rows where a limit stops the buying;
            ``"raise"`` raises, with what came kept in the ledger.
        plan: a plan made by `plan`; other data than it was made for is refused.
        settings: by default from the environment.
        progress: True shows the run: one live panel on a terminal, a table in a notebook's cell,
            plain lines on standard error elsewhere. By default nothing is shown. A callable is
            called with a `Progress` whenever it changes.

    Returns:
        The same kind of frame: the asked columns and `lookup_status` added, named ``{column}``
        for one phone column and ``{phone}_{column}`` for several. Null where nothing is known.

    Raises:
        BadInput: the data or an argument can't be used; nothing was sent.
        OverBudget, OutOfBalance, QuotaUsedUp, DeadlinePassed, PaidWorkOpen, ServiceError: see
            `carrier_enrich.errors`; a second call pays for the rest only.
    """
    expected = None if plan is None else plan.expected_seconds
    with Enricher(settings) as enricher, watched(progress, expected=expected) as watch:
        return enricher.enrich(
            data,
            phone,
            country=country,
            country_column=country_column,
            columns=columns,
            prefix=prefix,
            max_cost_usd=max_cost_usd,
            on_limit=on_limit,
            plan=plan,
            progress=watch,
        )


def plan(
    data: Any,
    phone: Phone,
    *,
    country: str | None = None,
    country_column: str | None = None,
    columns: Sequence[str] = frames.DEFAULT_COLUMNS,
    prefix: str = "",
    max_cost_usd: Usd | None = None,
    settings: Settings | None = None,
) -> Plan:
    """What `enrich` would send for this data and cost at most; costs nothing.

    Arguments and errors as `enrich`'s. The only request is the balance read.
    """
    with Enricher(settings) as enricher:
        return enricher.plan(
            data,
            phone,
            country=country,
            country_column=country_column,
            columns=columns,
            prefix=prefix,
            max_cost_usd=max_cost_usd,
        )
