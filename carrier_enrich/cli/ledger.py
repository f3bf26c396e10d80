"""`ledger export`: what was paid for, as a file of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from carrier_enrich.cli.options import FILE, examples, speaking
from carrier_enrich.tables import counted

if TYPE_CHECKING:
    from carrier_enrich.cli.output import Output


@click.group()
def ledger() -> None:
    """What was paid for and is known: the answers are yours."""


@ledger.command(
    epilog=examples(
        "carrier-enrich ledger export answers.parquet",
        "carrier-enrich ledger export spending.parquet --purchases",
    )
)
@click.argument("target", type=FILE)
@click.option("--purchases", is_flag=True, help="The purchases instead of the answers.")
@speaking
def export(target: Path, *, purchases: bool, out: Output) -> None:
    """Write every answer that the ledger knows to TARGET, a Parquet file.

    One row per number: its E.164 form, status, carrier and the rest, when it was answered, and
    by which purchase. With --purchases one row per purchase: kind, numbers, highest cost, what
    was charged, state and times.
    """
    from carrier_enrich.enricher import Enricher
    from carrier_enrich.export import export_answers, export_purchases

    with Enricher() as enricher:
        write = export_purchases if purchases else export_answers
        rows = write(enricher.open_ledger(), target)
    what = counted(rows, "purchase" if purchases else "answer")
    out.result(f"{what} written: {target}", {"target": str(target), "rows": rows})
