"""`demo`: the whole job on made-up answers, in less than a minute."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carrier_enrich.cli.options import FILE, examples, speaking
from carrier_enrich.errors import BadInput
from carrier_enrich.tables import Row, count, duration, money, share, text_table, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from carrier_enrich.cli.output import Output
    from carrier_enrich.dagster.demo import DemoResult

#: Carriers that are shown.
_TOP = 8

_LOUD = (
    "SANDBOX: these answers are made up, and the money is play money. The paid service was not "
    "asked."
)


@click.command(
    epilog=examples(
        "carrier-enrich demo",
        "carrier-enrich demo --folder ~/carrier-demo --report ~/carrier-demo/report.html",
    )
)
@click.option(
    "--source",
    type=FILE,
    help="A CRM export with the sample's columns (mobile, office_phone, country); by default one "
    "of 6,000 invented contacts.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("carrier-enrich-demo"),
    show_default=True,
    help="Where everything goes.",
)
@click.option("--report", type=FILE, metavar="FILE.html", help="Write a page with pictures too.")
@speaking
def demo(*, source: Path | None, folder: Path, report: Path | None, out: Output) -> None:
    """Enrich an invented CRM export on an embedded sandbox, as a Dagster job. Costs nothing.

    Needs no account, no key and no setting. The answers are made up, and say so.
    """
    if find_spec("dagster") is None:
        raise BadInput("the demo needs Dagster: pip install 'carrier-enrich[dagster]'")
    from carrier_enrich.dagster.demo import run_demo

    out.aside(_LOUD)
    result = run_demo(
        source=source, folder=folder.expanduser(), report=lambda text: out.aside(f"... {text}")
    )
    if report is not None:
        _write_report(result, report.expanduser())
    out.result(_told(result, report), _document(result, report))


def _told(result: DemoResult, report: Path | None) -> str:
    rows = [
        *_bars("Phone cells by status", result.cells_by_status),
        *_bars("Top carriers", result.carriers),
        *_bars("Number types", result.number_types),
        Row("Requests"),
        *(Row(words(kind), count(sent)) for kind, sent in sorted(result.requests.items())),
        Row("Money (play money)"),
        Row("charged", money(result.charged)),
        Row("saved by not paying twice", money(result.saved)),
        Row("Dagster asset checks"),
        *(Row(words(name), "passed" if ok else "FAILED") for name, ok in result.checks.items()),
    ]
    pages = f"\nReport: {report}" if report else ""
    return "\n".join(
        (
            text_table(f"{count(result.rows)} rows in {duration(result.seconds)}", rows),
            "",
            _LOUD,
            f"\nEnriched file: {result.file}{pages}",
            "\nNext, on a file of your own, still for nothing:",
            "  carrier-enrich sandbox --help",
            "  carrier-enrich plan --help",
        )
    )


def _bars(title: str, counts: Mapping[str, int]) -> list[Row]:
    """The largest counts under a heading, the rest in one line."""
    whole = sum(counts.values())
    order = sorted(((n, name) for name, n in counts.items() if n), reverse=True)
    rows = [Row(words(name), count(n), share(n, whole)) for n, name in order[:_TOP]]
    rest = order[_TOP:]
    if rest:
        rows.append(Row(f"{len(rest)} others", count(sum(n for n, _ in rest))))
    return [Row(title), *rows] if rows else []


def _document(result: DemoResult, report: Path | None) -> dict[str, Any]:
    return {
        "sandbox": True,
        "file": str(result.file),
        "report": None if report is None else str(report),
        "receipt": dict(result.receipt),
        "carriers": dict(result.carriers),
        "number_types": dict(result.number_types),
        "checks": dict(result.checks),
        "seconds": round(result.seconds, 1),
    }


def _write_report(result: DemoResult, page: Path) -> None:
    from carrier_enrich import files
    from carrier_enrich.breakdown import breakdown
    from carrier_enrich.dagster.demo import PHONES
    from carrier_enrich.receipt import Receipt

    counted = breakdown(files.read_table(result.file), PHONES)
    receipt = Receipt.from_dict(result.receipt)
    page.write_text(receipt.report(counted, title="Carrier lookup demo"), encoding="utf-8")
