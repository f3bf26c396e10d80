"""A receipt as rows of a table: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from carrier_enrich.tables import (
    Row,
    count,
    counted,
    duration,
    evened,
    money,
    percent,
    share,
    words,
)

if TYPE_CHECKING:
    from carrier_enrich.receipt import Receipt


def rows_of(receipt: Receipt) -> list[Row]:
    """Every figure of a receipt that says something, under headings."""
    return [
        *_statuses(receipt),
        *_origins(receipt),
        *_sent(receipt),
        Row("Money"),
        *evened([*_amounts(receipt), *_balances(receipt)]),
        Row("End"),
        *_end(receipt),
    ]


def _statuses(receipt: Receipt) -> list[Row]:
    cells = sum(receipt.cells.values())
    order = sorted(receipt.cells.items(), key=lambda item: -item[1])
    rows = [Row(words(name), count(part), share(part, cells)) for name, part in order if part]
    if not rows:
        return []
    if receipt.match_rate is not None:
        found, asked = receipt.cells.get("found", 0), cells - receipt.cells.get("missing", 0)
        rows.append(Row("found, of the cells with a value", percent(found, asked)))
    return [Row("Phone cells by status"), *rows]


def _origins(receipt: Receipt) -> list[Row]:
    if not receipt.distinct:
        return []

    def row(label: str, number: int) -> Row:
        return Row(label, count(number), share(number, receipt.distinct))

    rows = [row("bought now", receipt.bought), row("known before, free", receipt.known)]
    if receipt.collected:
        rows.append(row("paid for earlier, collected now", receipt.collected))
    if receipt.shared:
        rows.append(row("bought by another run meanwhile, free", receipt.shared))
    if receipt.unanswered:
        rows.append(row("without an answer", receipt.unanswered))
    return [Row("Distinct numbers by origin"), *rows, Row("all", count(receipt.distinct))]


def _sent(receipt: Receipt) -> list[Row]:
    rows = [Row(words(kind), count(n)) for kind, n in sorted(receipt.requests.items())]
    rows += [
        Row(f"answered with {code}" if code else "without an answer", count(times))
        for code, times in sorted(receipt.refusals.items())
    ]
    return [Row("Requests"), *rows] if rows else []


def _amounts(receipt: Receipt) -> list[Row]:
    rows = [Row("at most, when sent", money(receipt.estimated))]
    if receipt.cap is not None:
        rows.append(Row("cap", money(receipt.cap)))
    rows.append(Row("charged", money(receipt.charged)))
    kinds = [(kind, micros) for kind, micros in sorted(receipt.charged_by_kind.items()) if micros]
    if len(kinds) > 1:
        rows += [Row(f"  by {words(kind)}", money(micros)) for kind, micros in kinds]
    rows.append(Row("not charged or refunded", money(receipt.not_charged)))
    if receipt.charge_unknown_numbers:
        numbers = counted(receipt.charge_unknown_numbers, "number")
        rows.append(Row("perhaps charged", f"{money(receipt.charge_unknown)}: {numbers}"))
    if receipt.still_open:
        rows.append(Row("still open", money(receipt.still_open)))
    if receipt.unpriced:
        rows.append(Row("at unknown prices", counted(receipt.unpriced, "number")))
    saved = Row("saved by not paying twice", money(receipt.saved))
    return [*rows, saved, Row("  cells reused", count(receipt.saved_cells))]


def _balances(receipt: Receipt) -> list[Row]:
    if receipt.balance_before is None:
        return []
    rows = [
        Row("balance before", money(receipt.balance_before)),
        Row("balance after", money(receipt.balance_after)),
    ]
    if receipt.balance_agrees is False:
        rows.append(Row("the balance fell by", _disagreement(receipt)))
    return rows


def _disagreement(receipt: Receipt) -> str:
    """By how much the balance fell, where that is not what was charged, and what that may mean."""
    moved = receipt.balance_moved or 0
    why = (
        "others spend too, or a price is higher"
        if moved > receipt.charged
        else "a task was paid for already, a price is lower, or the account was topped up"
    )
    return f"{money(moved)}, not {money(receipt.charged)}: {why}"


def _end(receipt: Receipt) -> list[Row]:
    rows: list[Row] = []
    if receipt.open_purchases:
        purchases = counted(receipt.open_purchases, "purchase")
        rows.append(Row("open and paid for", f"{purchases}: carrier-enrich settle"))
    if receipt.stopped:
        rows.append(Row("stopped", receipt.stopped))
    rows.append(Row("time", duration(receipt.duration_seconds)))
    rows += [Row("does not add up", problem) for problem in receipt.problems()]
    return rows
