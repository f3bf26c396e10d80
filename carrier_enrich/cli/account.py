"""`balance`, `tasks`, `settle`: what the account holds, and what is still open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from carrier_enrich.cli.options import examples, speaking
from carrier_enrich.tables import count, counted, duration, grid, money, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from carrier_enrich.cli.output import Output
    from carrier_enrich.ledger import Purchase

_HEADS = ("id", "kind", "product", "country", "numbers", "state", "age", "at most", "next poll")
_STATES = (
    "intended   sent, and no answer seen yet",
    "submitted  the service works on it",
    "finished   its answers wait to be downloaded",
)


@click.command()
@speaking
def balance(*, out: Output) -> None:
    """Read the account's balance. Charges nothing."""
    from carrier_enrich.client import CarrierClient
    from carrier_enrich.settings import Settings

    settings = Settings.of().required()
    with CarrierClient(settings.base_url, settings.api_key) as client:
        micros = client.balance()
    play = settings.is_loopback
    text = money(micros) + (" of play money (sandbox)" if play else "")
    out.result(text, {"balance_micros": micros, "sandbox": play})


@click.command(epilog=examples(*_STATES, intro="States:"))
@speaking
def tasks(*, out: Output) -> None:
    """List what is open: sent, paid for or perhaps so, and not collected."""
    from carrier_enrich.enricher import Enricher

    now = time.time()
    with Enricher() as enricher:
        purchases = enricher.open_ledger().purchases.open()
        interval = enricher.settings.poll_seconds
    rows = [
        (
            str(purchase.id),
            words(purchase.kind),
            purchase.product or "",
            purchase.country or "",
            count(purchase.count),
            purchase.state.value,
            duration(now - purchase.created_at),
            money(purchase.highest_cost),
            _next_poll(purchase, now, interval),
        )
        for purchase in purchases
    ]
    text = grid(_HEADS, rows) + "\n\nTo collect them: carrier-enrich settle"
    out.result(
        text if rows else "Nothing is open.",
        {"open": [_plain(purchase, now, interval) for purchase in purchases]},
    )


@click.command(epilog=examples("carrier-enrich settle", "carrier-enrich settle --give-up 17"))
@click.option(
    "--give-up",
    "given_up",
    type=int,
    multiple=True,
    metavar="ID",
    help="First close this purchase for good (`tasks` shows the ids): for one whose outcome "
    "nobody can tell any more. Where the service never confirmed it, its numbers may be bought "
    "again, perhaps for a second charge; where it did, they count as paid and charge_unknown.",
)
@speaking
def settle(given_up: tuple[int, ...], *, out: Output) -> None:
    """Collect whatever is paid for and open. Buys nothing new.

    Waits for bulk tasks that are not finished. Ends with 5 while anything is open.
    """
    from carrier_enrich.cli.stopping import telling_what_is_open
    from carrier_enrich.enricher import Enricher
    from carrier_enrich.errors import PaidWorkOpen
    from carrier_enrich.progress import shown

    with Enricher() as enricher, telling_what_is_open(enricher):
        purchases = enricher.open_ledger().purchases
        before = purchases.open()
        for purchase_id in given_up:
            enricher.give_up(purchase_id)
        stopped = None
        if purchases.open():
            with shown(quiet=out.quiet) as watch:
                stopped = enricher.settle(progress=watch).stopped
        after = [purchases.get(purchase.id) for purchase in before]
        left = purchases.open()
    out.result(
        _settled(before, after),
        {
            "settled": [_plain(p, time.time(), 0.0) for p in after if p not in left],
            "open": [p.id for p in left],
            "stopped": stopped,
        },
    )
    if left:
        numbers = sum(purchase.count for purchase in left)
        error = PaidWorkOpen(
            f"{counted(len(left), 'purchase')} ({counted(numbers, 'number')}) still open: run "
            "settle again"
        )
        if stopped:
            error.add_note(stopped)
        raise error


def _settled(before: Sequence[Purchase], after: Sequence[Purchase]) -> str:
    if not before:
        return "Nothing was open."
    heads = ("id", "kind", "country", "numbers", "was", "is", "charged")
    rows = [
        (
            str(now.id),
            words(now.kind),
            now.country or "",
            count(now.count),
            was.state.value,
            words(now.state),
            "" if now.charged is None else money(now.charged),
        )
        for was, now in zip(before, after, strict=True)
    ]
    return grid(heads, rows)


def _plain(purchase: Purchase, now: float, interval: float) -> dict[str, Any]:
    due = _seconds_to_poll(purchase, now, interval)
    return {
        "id": purchase.id,
        "kind": purchase.kind.value,
        "product": None if purchase.product is None else purchase.product.value,
        "country": purchase.country,
        "numbers": purchase.count,
        "state": purchase.state.value,
        "task_id": purchase.task_id,
        "age_seconds": round(now - purchase.created_at, 1),
        "highest_cost_micros": purchase.highest_cost,
        "charged_micros": purchase.charged,
        "next_poll_seconds": None if due is None else round(due, 1),
    }


def _seconds_to_poll(purchase: Purchase, now: float, interval: float) -> float | None:
    """Seconds until the task may be polled again; None where nothing is to be polled."""
    if purchase.task_id is None:
        return None
    return max(0.0, (purchase.polled_at or now) + interval - now)


def _next_poll(purchase: Purchase, now: float, interval: float) -> str:
    due = _seconds_to_poll(purchase, now, interval)
    return "" if due is None else f"in {duration(due)}" if due else "now"
