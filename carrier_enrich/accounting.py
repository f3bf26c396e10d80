"""Receipts of runs: what was counted over the rows beside what the engine did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from carrier_enrich import frames
from carrier_enrich.receipt import Receipt

if TYPE_CHECKING:
    from carrier_enrich.engine import Outcome
    from carrier_enrich.frames import Crosswalk
    from carrier_enrich.settings import Settings


def receipt_of(walk: Crosswalk | None, outcome: Outcome, settings: Settings) -> Receipt:
    """The receipt of a run over a crosswalk; None for a run that only settled."""
    if walk is None:
        return receipt_from(outcome, settings)
    counts = frames.status_counts(walk, outcome.answers)
    return receipt_from(
        outcome,
        settings,
        rows=walk.rows,
        phone_columns=len(walk.columns),
        cells={str(status): cells for status, cells in counts.items() if cells},
        distinct=len(walk.numbers),
        answered=len(outcome.answers),
        blank=walk.missing + sum(walk.invalid.values()),
    )


def receipt_from(
    outcome: Outcome,
    settings: Settings,
    *,
    rows: int = 0,
    phone_columns: int = 0,
    cells: Mapping[str, int] | None = None,
    distinct: int = 0,
    answered: int = 0,
    blank: int = 0,
) -> Receipt:
    """The receipt of a run over rows that were counted elsewhere.

    Args:
        cells: phone cells by status; `blank` those of them that hold no number.
        distinct: distinct numbers; `answered` those of them with an answer.
    """
    tally, cells = outcome.tally, cells or {}
    collected = tally.collected if distinct else 0
    unanswered = distinct - answered
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
        rows=rows,
        phone_columns=phone_columns,
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
