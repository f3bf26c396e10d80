"""Small tables of label and value, as aligned text and as HTML: pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from carrier_enrich.model import usd

#: A heading, or a label with what stands beside it.
Row: TypeAlias = tuple[str] | tuple[str, str]


def text_table(title: str, rows: Sequence[Row]) -> str:
    """Aligned lines under a title; a row of one cell is a heading."""
    width = max((len(row[0]) for row in rows if len(row) == 2), default=0)
    lines = [title]
    for row in rows:
        lines.append(f"  {row[0]:<{width}}  {row[1]}" if len(row) == 2 else f"\n{row[0]}")
    return "\n".join(lines)


def html_table(title: str, rows: Sequence[Row]) -> str:
    """The same as an HTML table that a notebook shows."""
    cells = [
        f"<tr><td style='text-align:left'>{escape(row[0])}</td>"
        f"<td style='text-align:right'>{escape(row[1])}</td></tr>"
        if len(row) == 2
        else f"<tr><th colspan='2' style='text-align:left'>{escape(row[0])}</th></tr>"
        for row in rows
    ]
    return (
        f"<table><caption style='text-align:left;font-weight:bold'>{escape(title)}</caption>"
        f"{''.join(cells)}</table>"
    )


def count(number: int) -> str:
    """A count as people read it."""
    return f"{number:,}"


def money(micros: int | None) -> str:
    """An amount of micros of USD, or that it is not known."""
    return "not known" if micros is None else usd(micros)


def words(name: str) -> str:
    """A name with underscores as words."""
    return name.replace("_", " ")
