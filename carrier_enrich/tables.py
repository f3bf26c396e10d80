"""Small tables of label, value and bar, as aligned text and as HTML: pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from carrier_enrich.model import usd

BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"

#: Longer values are sentences: they stand left and do not widen the column of figures.
_FIGURE_MAX = 16

#: A value that begins with an amount of USD: the amount, its decimals, the rest.
_AMOUNT = re.compile(r"(-?\$[\d,]+\.(\d+))(.*)")

_MINUTE = 60
_WITH_TENTHS = 10


class Row(NamedTuple):
    """A label and what stands beside it, perhaps with a bar; a label alone is a heading.

    `share` is the bar's length, from 0 to 1.
    """

    label: str
    value: str | None = None
    share: float | None = None


def text_table(title: str, rows: Sequence[Row]) -> str:
    """Aligned lines under a title; figures stand right, bars behind them."""
    labels = max((len(row.label) for row in rows if row.value is not None), default=0)
    values = (row.value for row in rows if row.value is not None)
    figures = max((len(value) for value in values if _is_figure(value)), default=0)
    # Bars behind sentences begin in one column too.
    told = max((len(row.value) for row in rows if row.value and row.share is not None), default=0)
    lines = [title]
    for label, value, length in rows:
        if value is None:
            lines.append(f"\n{label}")
            continue
        width = told if length is not None else 0
        beside = f"{value:>{figures}}" if _is_figure(value) else f"{value:<{width}}"
        bar = "" if length is None else f"  {text_bar(length)}"
        lines.append(f"  {label:<{labels}}  {beside}{bar}".rstrip())
    return "\n".join(lines)


def html_table(title: str, rows: Sequence[Row]) -> str:
    """The same as an HTML table that a notebook shows, in the notebook's own colours."""
    return (
        "<table style='border-collapse:collapse'>"
        f"<caption style='text-align:left;font-weight:bold'>{escape(title)}</caption>"
        f"{''.join(map(_html_row, rows))}</table>"
    )


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of many columns under their heads; columns of figures stand right."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_figure(cell) or not cell for cell in column[1:]) for column in columns]
    return "\n".join(
        "  ".join(
            f"{cell:>{width}}" if is_right else f"{cell:<{width}}"
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in (heads, *rows)
    )


def evened(rows: Sequence[Row]) -> list[Row]:
    """The rows with the same number of decimals on each amount, so that the eye can add them."""
    amounts = [_AMOUNT.match(row.value or "") for row in rows]
    most = max((len(amount[2]) for amount in amounts if amount), default=0)
    return [
        row
        if amount is None
        else row._replace(value=amount[1] + "0" * (most - len(amount[2])) + amount[3])
        for row, amount in zip(rows, amounts, strict=True)
    ]


def text_bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of at most `width` characters; what is above nothing shows at least a sliver."""
    eighths = min(width * 8, max(int(share > 0), round(share * width * 8)))
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * whole + _EIGHTHS[rest].strip()


def share(part: float, whole: float) -> float:
    """A part of a whole, 0 where there is no whole."""
    return part / whole if whole else 0.0


def percent(part: float, whole: float) -> str:
    """A share in per cent that never rounds something to nothing, nor almost all to all."""
    if not whole:
        return "none"
    if part and 100 * part < whole:
        return "< 1 %"
    if part != whole and 100 * part > 99 * whole:
        return "> 99 %"
    return f"{100 * part / whole:.0f} %"


def count(number: int) -> str:
    """A count as people read it."""
    return f"{number:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """A count with what it counts: ``counted(1, "bulk task")`` is ``'1 bulk task'``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def money(micros: int | None) -> str:
    """An amount of micros of USD, or that it is not known."""
    return "not known" if micros is None else usd(micros)


def words(name: str) -> str:
    """A name with underscores as words."""
    return name.replace("_", " ")


def duration(seconds: float) -> str:
    """A time as people read it: ``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < _WITH_TENTHS:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def html_label(label: str) -> str:
    """A label as HTML, which would swallow the spaces that indent it."""
    bare = label.lstrip(" ")
    return "&nbsp;" * (2 * (len(label) - len(bare))) + escape(bare)


def _is_figure(value: str) -> bool:
    return 0 < len(value) <= _FIGURE_MAX and (value[0].isdigit() or value[0] in "$-<>")


def _html_row(row: Row) -> str:
    label, value, length = row
    if value is None:
        style = "text-align:left;padding-top:.6em"
        return f"<tr><th colspan='3' style='{style}'>{escape(label)}</th></tr>"
    name = f"<td style='text-align:left'>{html_label(label)}</td>"
    if length is None and not _is_figure(value):
        return f"<tr>{name}<td colspan='2' style='text-align:left'>{escape(value)}</td></tr>"
    bar = ""
    if length is not None:
        width = max(0.5, min(100.0, length * 100)) if length > 0 else 0
        style = f"width:{width:.1f}%;height:.8em;background:#3a76b8;opacity:.8"
        bar = f"<div style='{style}'></div>"
    side = "right" if _is_figure(value) else "left"
    return (
        f"<tr>{name}<td style='text-align:{side}'>{escape(value)}</td>"
        f"<td style='width:12em;text-align:left;padding-left:.8em'>{bar}</td></tr>"
    )
