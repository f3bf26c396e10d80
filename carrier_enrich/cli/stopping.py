"""A stop from outside: what came is kept, and what is open and paid for is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.tables import counted

if TYPE_CHECKING:
    from carrier_enrich.enricher import Enricher


@contextmanager
def telling_what_is_open(enricher: Enricher) -> Iterator[None]:
    """Let a stop pass on with notes on what the ledger holds open."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if getattr(stop, "__notes__", None):
            raise  # the engine has said it
        stop.add_note("what came is kept: running this again pays for the rest only")
        for note in notes_on_open_work(enricher):
            stop.add_note(note)
        raise


def notes_on_open_work(enricher: Enricher) -> list[str]:
    """What is paid for, or may be, and not collected; and the command that collects it."""
    try:
        purchases = enricher.open_ledger().purchases.open()
    except CarrierEnrichError:
        return ["what is open can't be read now: carrier-enrich tasks shows it"]
    if not purchases:
        return ["nothing is open at the service"]
    numbers = sum(purchase.count for purchase in purchases)
    what = f"{counted(len(purchases), 'purchase')} ({counted(numbers, 'number')})"
    return [f"{what} may be paid for and still open: carrier-enrich settle"]
