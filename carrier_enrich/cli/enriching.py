"""`enrich` and `plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from carrier_enrich.cli.options import FILE, examples, phones_of, speaking
from carrier_enrich.errors import BadInput

if TYPE_CHECKING:
    from carrier_enrich.cli.output import Output


@click.command(
    epilog=examples(
        "carrier-enrich plan crm.parquet --phone mobile",
        "carrier-enrich plan crm.csv --phone mobile --phone office --country-column country",
        "carrier-enrich plan crm.csv --phone mobile --country US --max-cost 25 --json",
    )
)
@click.argument("source")
@phones_of
@speaking
def plan(source: str, phones: tuple[str, ...], *, out: Output, **options: Any) -> None:
    """Show what enriching SOURCE would send and cost at most. Free.

    The only request is the balance read. Ends with 4 where it would not fit the cap or the
    balance, so that a script can stop there.
    """
    from carrier_enrich.cli.gate import misfit
    from carrier_enrich.enricher import Enricher

    with Enricher() as enricher:
        made = enricher.plan_file(source, list(phones), **_asked(options))
    out.result(str(made), {"plan": made.to_dict()})
    if not made.fits:
        raise click.exceptions.Exit(misfit(made).exit_code)


@click.command(
    epilog=examples(
        "carrier-enrich enrich crm.parquet enriched.parquet --phone mobile",
        "carrier-enrich enrich crm.csv enriched.csv --phone mobile --country US --max-cost 25 -y",
        "carrier-enrich enrich crm.csv out.csv --phone mobile --phone office \\",
        "    --country-column country --columns carrier,number_type --report out.html",
    )
)
@click.argument("source")
@click.argument("target")
@phones_of
@click.option(
    "--on-limit",
    type=click.Choice(["raise", "partial"]),
    default="raise",
    show_default=True,
    help="Where a limit stops the buying: raise keeps what came and writes no file; partial "
    "writes the file with not_checked rows.",
)
@click.option("-y", "--yes", is_flag=True, help="Agree to the cost without being asked.")
@click.option("--report", type=FILE, metavar="FILE.html", help="Write a page with pictures too.")
@click.option(
    "--excel-safe",
    is_flag=True,
    help="For a CSV that people open in a spreadsheet: a leading apostrophe keeps phone columns "
    "text (no lost plus or zeros) and keeps the service's texts from being run as formulas; a "
    "mark in front tells the encoding. Other columns stay as they are.",
)
@speaking
def enrich(
    source: str,
    target: str,
    phones: tuple[str, ...],
    *,
    on_limit: Literal["raise", "partial"],
    yes: bool,
    report: Path | None,
    excel_safe: bool,
    out: Output,
    **options: Any,
) -> None:
    """Write SOURCE to TARGET with carrier, number type and region beside each phone number.

    Either file is Parquet or CSV; a folder of Parquet files becomes another. Both may be fsspec
    URLs. On a terminal the plan is shown and the cost is asked for;
    elsewhere --yes is needed where anything is to be bought. What is known already is not
    bought again. Run the same command again after any stop: it pays for the rest only.
    """
    from carrier_enrich.breakdown import counted
    from carrier_enrich.cli.gate import confirm
    from carrier_enrich.cli.stopping import telling_what_is_open
    from carrier_enrich.enricher import Enricher
    from carrier_enrich.progress import shown

    if report is not None:
        _check_report(report)
    asked = _asked(options)
    cap = asked.pop("max_cost_usd")
    with (
        Enricher() as enricher,
        telling_what_is_open(enricher),
        enricher.reading(
            source, list(phones), **asked, target=target, excel_safe=excel_safe
        ) as read,
    ):
        made = enricher.plan_reading(read, max_cost_usd=cap)
        out.aside(f"{made}\n")
        confirm(made, partial=on_limit == "partial", yes=yes)
        names = {name: asked[name] for name in ("columns", "prefix") if name in asked}
        try:
            with shown(quiet=out.quiet, expected=made.expected_seconds) as watch:
                written = enricher.enrich_reading(
                    read,
                    target,
                    **names,
                    max_cost_usd=cap,
                    on_limit=on_limit,
                    plan=made,
                    excel_safe=excel_safe,
                    progress=watch,
                )
            receipt = enricher.receipt
            assert receipt is not None
            if report is not None:
                seen = counted(written.lookups, written.cells.tolist(), asked.get("columns"))
                note = f"{_name(source)} to {_name(target)}, phone columns: {', '.join(phones)}"
                report.write_text(receipt.report(seen, note=note), encoding="utf-8")
        except OSError as error:
            error.add_note(
                "the answers are kept in the ledger: running this again pays nothing more"
            )
            raise
    document = {"target": target, "plan": made.to_dict(), "receipt": receipt.to_dict()}
    pages = f"\nReport: {report}" if report else ""
    out.result(
        f"{receipt}\n\n{receipt.headline}\nWritten: {target}{pages}",
        document | ({"report": str(report)} if report else {}),
    )
    if receipt.stopped and receipt.open_purchases:
        raise click.exceptions.Exit(5)


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """The options as the library names them; what is not given keeps its default there."""
    asked = dict(options)
    asked["max_cost_usd"] = asked.pop("max_cost")
    if not asked["columns"]:
        del asked["columns"]
    return asked


def _name(place: str) -> str:
    return place.rstrip("/").rsplit("/", 1)[-1]


def _check_report(report: Path) -> None:
    """Find out before anything is paid for whether the report can be written."""
    if report.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"{report} is to be a report: give it the suffix .html")
    if not report.resolve().parent.is_dir():
        raise BadInput(f"{report} can't be written: its folder is not there")
