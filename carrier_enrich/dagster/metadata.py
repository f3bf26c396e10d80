"""What people see beside each asset: numbers that are plotted, tables that are read.

A label means the same thing at every asset: ``_micros`` is the exact amount in micros of USD,
``_usd`` the same as a number to plot. Dagster plots numbers over time, label by label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from carrier_enrich.dagster import joining
from carrier_enrich.dagster.charts import picture, top
from carrier_enrich.dagster.stages import Request
from carrier_enrich.frames import STATUS_COLUMN
from carrier_enrich.ledger import Purchase
from carrier_enrich.planning import Plan
from carrier_enrich.receipt import Receipt
from carrier_enrich.tables import Row, money

Metadata = dict[str, Any]

#: Stands beside everything that the sandbox has answered.
SANDBOX_LABEL = "SANDBOX"
SANDBOX_TEXT = (
    "## ⚠ Sandbox: made-up answers, play money\n"
    "No number was looked up at the paid service. Set `CARRIER_ENRICH_BASE_URL` and "
    "`CARRIER_ENRICH_API_KEY` for real answers."
)

_TITLES = {"carrier": "Carrier", "number_type": "Number type", STATUS_COLUMN: "Status"}
_DESCRIPTIONS = {
    "carrier": "Carrier the number was originally allocated to, not after porting.",
    "underlying_carrier": "Underlying carrier, where it differs from the allocated one.",
    "number_type": "Line type.",
    "country_code": "ISO country code of the number.",
    "region": "Allocation region.",
    "city": "Allocation city.",
    STATUS_COLUMN: "found, unallocated, undetermined, invalid, missing, not_checked or "
    "charge_unknown.",
}


def banner(*, sandbox: bool) -> Metadata:
    """The warning, where the answers come from the sandbox."""
    return {SANDBOX_LABEL: dg.MetadataValue.md(SANDBOX_TEXT)} if sandbox else {}


def amount(label: str, micros: int | None) -> Metadata:
    """An amount of micros of USD, exact and to be plotted; nothing where it is not known."""
    if micros is None:
        return {}
    return {f"{label}_usd": micros / 1_000_000, f"{label}_micros": micros}


def table(rows: Sequence[Row]) -> dg.MarkdownMetadataValue:
    """Rows of label and value as a markdown table; a heading is in bold."""
    lines = ["| | |", "|:--|--:|"]
    lines += [
        f"| **{row.label}** | |" if row.value is None else f"| {row.label.strip()} | {row.value} |"
        for row in rows
    ]
    return dg.MetadataValue.md("\n".join(lines))


def of_plan(plan: Plan) -> Metadata:
    """A plan: what it would send, and cost at most."""
    return {
        **banner(sandbox=plan.sandbox),
        "plan": table(plan.lines()),
        "rows": plan.rows,
        "distinct": plan.distinct,
        "known": plan.known,
        "to_buy": plan.to_buy,
        "invalid_cells": sum(plan.invalid.values()),
        **amount("highest_cost", plan.highest_cost),
        **amount("balance", plan.balance),
        **amount("cap", plan.cap),
    }


def of_report(report: Mapping[str, Any], *, sandbox: bool) -> Metadata:
    """What one spending step sent, bought, and was charged."""
    return {
        **banner(sandbox=sandbox),
        "known": report["known"],
        "bought": report["bought"],
        "collected": report["collected"],
        "shared": report["shared"],
        "answered": report["answered"],
        "requests": sum(report["requests"].values()),
        "requests_by_kind": dg.MetadataValue.json(report["requests"]),
        "refusals_by_code": dg.MetadataValue.json(report["refusals"]),
        **amount("cost", report["charged_micros"]),
        "seconds": round(float(report["seconds"]), 3),
    }


def of_receipt(receipt: Receipt) -> Metadata:
    """A receipt: its table to read, and its figures to plot."""
    rate = receipt.match_rate
    return {
        "receipt": table(receipt.lines()),
        "rows": receipt.rows,
        "distinct": receipt.distinct,
        "known": receipt.known,
        "bought": receipt.bought,
        "collected": receipt.collected,
        "shared": receipt.shared,
        **amount("cost", receipt.charged),
        **amount("saved", receipt.saved),
        **({} if rate is None else {"match_rate": round(rate, 6)}),
    }


def of_tasks(tasks: Sequence[Purchase]) -> dg.MarkdownMetadataValue:
    """Open bulk tasks: paid for, and still to be collected."""
    lines = ["| Task | Country | Numbers | At most |", "|:--|:--|--:|--:|"]
    lines += [
        f"| {p.task_id or 'not confirmed'} | {p.country} | {p.count:,} | {money(p.highest_cost)} |"
        for p in tasks
    ]
    return dg.MetadataValue.md("\n".join(lines))


def of_enriched(
    frame: Any, enriched: Any, request: Request, source: dg.AssetKey, receipt: Receipt
) -> Metadata:
    """An enriched frame and its receipt, in the order in which people read.

    First what nobody may overlook, then the picture, the receipt and its figures; the columns and
    where they come from; and last the same as JSON, for programs.
    """
    title = f"{receipt.rows:,} rows" + (", answers made up by the sandbox" * receipt.sandbox)
    counts = counted(joining.added(frame, enriched))
    drawn = {"picture": dg.MetadataValue.md(picture(counts, title))} if counts else {}
    return {
        **banner(sandbox=receipt.sandbox),
        **drawn,
        **of_receipt(receipt),
        "dagster/row_count": receipt.rows,
        "dagster/column_schema": schema_of(enriched),
        "dagster/column_lineage": _lineage(frame, enriched, request, source),
        "counts": dg.MetadataValue.json({name: dict(top(c, 50)) for name, c in counts.items()}),
        "receipt_json": dg.MetadataValue.json(receipt.to_dict()),
    }


def schema_of(frame: Any) -> dg.TableSchema:
    """The columns of a frame as Dagster shows them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(name, kind, _DESCRIPTIONS.get(_field_of(name)))
            for name, kind in joining.columns_of(frame)
        ]
    )


def _lineage(
    frame: Any, enriched: Any, request: Request, source: dg.AssetKey
) -> dg.TableColumnLineage:
    given = [name for name, _ in joining.columns_of(frame)]
    names = [name for name, _ in joining.columns_of(enriched)]
    country = [] if request.country_column is None else [request.country_column]
    # For each phone column in turn: the asked columns, then the status.
    width = len(request.columns) + 1
    origins = {name: [name] for name in given}
    for at, name in enumerate(names[len(given) :]):
        origins[name] = [request.phone[at // width], *country]
    return dg.TableColumnLineage(
        deps_by_column={
            name: [dg.TableColumnDep(asset_key=source, column_name=column) for column in columns]
            for name, columns in origins.items()
        }
    )


def counted(added: pa.Table) -> dict[str, dict[str, int]]:
    """How often each carrier, number type and status stands in added columns, by title.

    The columns of several phone columns are counted together.
    """
    found: dict[str, Counter[str]] = {}
    for name in added.column_names:
        title = _TITLES.get(_field_of(name))
        if title is None:
            continue
        counts = found.setdefault(title, Counter())
        for entry in pc.value_counts(added[name].cast(pa.string()).drop_null()).to_pylist():
            counts[entry["values"]] += entry["counts"]
    return {title: dict(counts) for title, counts in found.items() if counts}


def _field_of(name: str) -> str:
    """The field that an added column holds, by the end of its name."""
    ends = (field for field in _DESCRIPTIONS if name == field or name.endswith(f"_{field}"))
    return max(ends, key=len, default="")
