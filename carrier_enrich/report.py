"""A receipt as a page of its own: pictures, tables, no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from carrier_enrich.charts import Bar, bar_chart, stacked_bar
from carrier_enrich.tables import Row, count, counted, html_label, money, percent, words

if TYPE_CHECKING:
    from carrier_enrich.breakdown import Breakdown, Top
    from carrier_enrich.receipt import Receipt

_GOOD = frozenset({"found"})
_WARN = frozenset({"charge_unknown", "not_checked", "invalid"})

_FIELD_TITLES = {
    "carrier": "Carriers",
    "number_type": "Number types",
    "country_code": "Countries",
    "region": "Regions",
    "city": "Cities",
}

_SANDBOX = (
    "<p class='banner'><strong>Sandbox.</strong> These answers are made up and no real money was "
    "spent. The paid service was not asked.</p>"
)

_FOOT = (
    "<footer>The carrier is the one to which a number was first allocated, not the one it may "
    "have moved to since. Counts are phone cells unless they say numbers.</footer>"
)

_STYLE = """
:root{color-scheme:light dark;--ink:#1b2430;--soft:#5a6675;--paper:#fbfbfa;--card:#fff;
--edge:#dfe3e8;--flag:#8a4b00;--flag-paper:#fff4e0;
--ce-bar:#3a76b8;--ce-good:#24805f;--ce-warn:#b86e14;--ce-rest:#8a94a3}
@media (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--soft:#a3afbd;--paper:#12161b;
--card:#1a2027;--edge:#323b46;--flag:#ffc978;--flag-paper:#33260f;
--ce-bar:#6ea8e6;--ce-good:#5cc39d;--ce-warn:#e8a552;--ce-rest:#7d8896}}
*{box-sizing:border-box}
body{margin:0;padding:1.5rem 1rem 3rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:70rem;margin:0 auto}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1rem;margin:0 0 .6rem;break-after:avoid}
.note{color:var(--soft);margin:0 0 1rem;overflow-wrap:anywhere}
.lead{font-size:1.1rem;margin:0 0 1.25rem;max-width:60rem}
.banner{background:var(--flag-paper);color:var(--flag);border:1px solid;border-radius:6px;
padding:.6rem .9rem;margin:0 0 1rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;
margin:0 0 1rem;padding:0;list-style:none}
.tiles li,section{background:var(--card);border:1px solid var(--edge);border-radius:8px;
padding:.8rem 1rem}
.tiles b{display:block;font-size:1.45rem;line-height:1.3;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:.85rem}
.cards{columns:3 19rem;column-gap:.75rem;margin-bottom:.75rem}
.cards section{break-inside:avoid;margin:0 0 .75rem}
.cards svg{display:block;max-width:30rem}
.cards p{margin:.5rem 0 0;color:var(--soft);font-size:.85rem}
.figures{columns:3 17rem;column-gap:2rem}
table{border-collapse:collapse;width:100%;font-size:.92rem;break-inside:avoid;margin:0 0 1rem}
caption{text-align:left;font-weight:600;padding:.2rem 0}
td{padding:.22rem 0;vertical-align:top;border-bottom:1px solid var(--edge)}
td+td{text-align:right;font-variant-numeric:tabular-nums;padding-left:.8rem}
footer{color:var(--soft);font-size:.85rem;margin-top:1rem}
@media print{:root{--ink:#000;--soft:#444;--paper:#fff;--card:#fff;--edge:#bbb;
--ce-bar:#3a76b8;--ce-good:#24805f;--ce-warn:#b86e14;--ce-rest:#8a94a3}
html{font-size:13px}body{padding:0;font-size:1rem}main{max-width:none}
.tiles{grid-template-columns:repeat(5,1fr)}.cards,.figures{columns:2}
.cards section,.tiles li{break-inside:avoid}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".strip()


def html_report(
    receipt: Receipt, breakdown: Breakdown | None = None, *, title: str, note: str = ""
) -> str:
    """The page, as text; every figure of the receipt is on it, also without the pictures."""
    cards = [*_run_cards(receipt), *_answer_cards(breakdown)]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p class='note'>{escape(note)}</p>" if note else "",
        _SANDBOX if receipt.sandbox else "",
        f"<p class='lead'>{escape(receipt.headline)}</p>",
        _stopped(receipt),
        _tiles(receipt),
        f"<div class='cards'>{''.join(cards)}</div>",
        _table(receipt.lines()),
        _FOOT,
    ]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _stopped(receipt: Receipt) -> str:
    told = []
    if receipt.stopped:
        told.append(f"Stopped before everything was looked up: {receipt.stopped}")
    if receipt.open_purchases:
        purchases = counted(receipt.open_purchases, "purchase")
        told.append(f"{purchases} paid for and still open: carrier-enrich settle collects them.")
    told += [f"The receipt does not add up: {problem}." for problem in receipt.problems()]
    return "".join(f"<p class='banner'>{escape(text)}</p>" for text in told)


def _tiles(receipt: Receipt) -> str:
    asked = sum(receipt.cells.values()) - receipt.cells.get("missing", 0)
    tiles = [
        (percent(receipt.cells.get("found", 0), asked), "found, of the cells with a value"),
        (count(receipt.bought), "numbers bought"),
        (money(receipt.charged), "charged"),
        (count(receipt.saved_cells), "cells answered without paying again"),
        (money(receipt.saved), "saved by that"),
    ]
    items = (f"<li><b>{escape(figure)}</b><span>{escape(of)}</span></li>" for figure, of in tiles)
    return f"<ul class='tiles'>{''.join(items)}</ul>"


def _run_cards(receipt: Receipt) -> list[str]:
    cells = sum(receipt.cells.values())
    statuses = sorted(receipt.cells.items(), key=lambda item: -item[1])
    origins = [
        ("bought now", receipt.bought, "bar"),
        ("known before, free", receipt.known, "good"),
        ("paid for earlier, collected now", receipt.collected, "good"),
        ("bought by another run, free", receipt.shared, "good"),
        ("without an answer", receipt.unanswered, "warn"),
    ]
    cards = [
        _card(
            "What became of the phone cells",
            [_of(words(status), n, cells, _ink(status)) for status, n in statuses if n],
        ),
        _card(
            "Where the numbers' answers came from",
            [_of(label, n, receipt.distinct, ink) for label, n, ink in origins if n],
            stacked=True,
        ),
        _card(
            "What it cost, by route",
            [
                Bar(words(kind), micros, money(micros))
                for kind, micros in sorted(receipt.charged_by_kind.items(), key=lambda kv: -kv[1])
                if micros
            ],
        ),
    ]
    if receipt.saved:
        cards.append(
            _card(
                "What was saved by not paying twice",
                [
                    Bar("charged", receipt.charged, money(receipt.charged)),
                    Bar("saved", receipt.saved, money(receipt.saved), "good"),
                ],
                stacked=True,
                below="Known, shared and repeated numbers, at the lowest known price.",
            )
        )
    return cards


def _answer_cards(breakdown: Breakdown | None) -> list[str]:
    if breakdown is None:
        return []
    return [
        _card(
            _FIELD_TITLES[field],
            [_of(value, cells, top.cells) for value, cells in top.shares],
            below=_rest(top),
        )
        for field, top in breakdown.fields.items()
        if top.cells
    ]


def _rest(top: Top) -> str:
    """What the bars leave out: a bar for all others would dwarf the ones that tell something."""
    rest = []
    if top.others:
        part = percent(top.others, top.cells)
        rest.append(f"{count(top.other_values)} others: {counted(top.others, 'cell')}, {part}.")
    if top.blank:
        rest.append(f"{counted(top.blank, 'cell')} without one.")
    return " ".join(rest)


def _of(label: str, part: int, whole: int, ink: str = "bar") -> Bar:
    return Bar(label, part, f"{count(part)} · {percent(part, whole)}", ink)


def _ink(status: str) -> str:
    return "good" if status in _GOOD else "warn" if status in _WARN else "rest"


def _card(title: str, bars: Sequence[Bar], *, stacked: bool = False, below: str = "") -> str:
    if not bars:
        return ""
    picture = stacked_bar(title, bars) if stacked else bar_chart(title, bars)
    under = f"<p>{escape(below)}</p>" if below else ""
    return f"<section><h2>{escape(title)}</h2>{picture}{under}</section>"


def _table(rows: Sequence[Row]) -> str:
    """The receipt's rows, each heading's rows as a table of their own."""
    groups: list[tuple[str, list[Row]]] = []
    for row in rows:
        if row.value is None:
            groups.append((row.label, []))
        else:
            groups[-1][1].append(row)
    tables = "".join(
        f"<table><caption>{escape(heading)}</caption>{''.join(map(_table_row, group))}</table>"
        for heading, group in groups
    )
    return f"<section><h2>Receipt</h2><div class='figures'>{tables}</div></section>"


def _table_row(row: Row) -> str:
    return f"<tr><td>{html_label(row.label)}</td><td>{escape(row.value or '')}</td></tr>"
