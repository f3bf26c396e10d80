"""Pictures as SVG text: pure, without scripts or outside links, readable without colours.

Every picture has a title and a description for those who don't see it, and every bar its label
and figure as text. Colours come from CSS variables where the page sets them (``--ce-bar`` and so
on), else from defaults that are readable on light and dark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: Units of width of every picture; at a phone's width one unit is about one pixel.
WIDTH = 360

_ROW = 38
_LABEL_MAX = 34
_INKS = {
    "bar": "var(--ce-bar,#3a76b8)",
    "good": "var(--ce-good,#2e8b6f)",
    "warn": "var(--ce-warn,#c77d1e)",
    "rest": "var(--ce-rest,#8a94a3)",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its length is `value`; `figure` is what people read beside its label.

    `ink` is one of bar, good, warn, rest.
    """

    label: str
    value: float
    figure: str
    ink: str = "bar"


def bar_chart(title: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars under their labels, the longest as wide as the picture."""
    most = max((bar.value for bar in bars), default=0)
    rows = [_bar(bar, at * _ROW, bar.value / most if most else 0) for at, bar in enumerate(bars)]
    return _picture(title, bars, _ROW * len(bars), rows)


def stacked_bar(title: str, bars: Sequence[Bar]) -> str:
    """One bar of several parts, and a line for each part under it."""
    whole = sum(bar.value for bar in bars)
    parts, start = [], 0.0
    for bar in bars:
        width = WIDTH * bar.value / whole if whole else 0
        # A thin gap keeps neighbours apart where colours are not seen.
        parts.append(_rect(start, 0, max(0.0, width - 1.5), 22, bar.ink))
        start += width
    for at, bar in enumerate(bars):
        y = 36 + at * 20
        parts += [_rect(0, y, 10, 10, bar.ink), _label(bar, y + 10, indent=16)]
    return _picture(title, bars, 36 + 20 * len(bars), parts)


def _picture(title: str, bars: Sequence[Bar], height: int, parts: Sequence[str]) -> str:
    told = _shown("; ".join(f"{bar.label}: {bar.figure}" for bar in bars) or "nothing to show")
    # Two pictures on one page must not share an id.
    name = "ce-" + hashlib.sha256(f"{title}\n{told}".encode()).hexdigest()[:12]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {max(1, height)}" '
        f'role="img" aria-labelledby="{name}-t {name}-d" width="100%" '
        'font-family="system-ui,sans-serif" font-size="13">'
        f'<title id="{name}-t">{escape(_shown(title))}</title>'
        f'<desc id="{name}-d">{escape(told)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _bar(bar: Bar, y: float, share: float) -> str:
    # What is above nothing must not look like nothing.
    width = max(2.0, WIDTH * share) if bar.value > 0 else 0.0
    track = f'<rect x="0" y="{y + 20:g}" width="{WIDTH}" height="8" rx="2" opacity=".12" {_TRACK}/>'
    return _label(bar, y + 14) + track + _rect(0, y + 20, width, 8, bar.ink, radius=2)


_TRACK = 'fill="currentColor"'


def _label(bar: Bar, y: float, indent: float = 0) -> str:
    label = _shown(bar.label)
    text = label if len(label) <= _LABEL_MAX else label[: _LABEL_MAX - 1] + "…"
    full = f"<title>{escape(label)}</title>" if text != label else ""
    return (
        f'<text x="{indent:g}" y="{y:g}" fill="currentColor">{full}{escape(text)}</text>'
        f'<text x="{WIDTH}" y="{y:g}" fill="currentColor" text-anchor="end" '
        f'style="font-variant-numeric:tabular-nums">{escape(_shown(bar.figure))}</text>'
    )


def _shown(text: str) -> str:
    """The text with a mark in place of what no picture may hold, such as control characters."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _rect(x: float, y: float, width: float, height: float, ink: str, *, radius: float = 0) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="{radius:g}" '
        f'style="fill:{_INKS[ink]}"/>'
    )
