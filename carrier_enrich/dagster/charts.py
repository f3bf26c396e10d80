"""A picture of carriers and number types, as markdown that a browser shows by itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence

#: Carriers and types beyond so many are drawn as one.
SHOWN = 10

_BAR = "#4f43dd"
_OTHER = "#b7b3e8"


def picture(counts: Mapping[str, Mapping[str, int]], title: str) -> str:
    """One row of horizontal bar charts, a chart for each entry, as a PNG inside markdown.

    Args:
        counts: by the chart's title, how often each value stands in the rows.
        title: stands above, and is the text where no picture is shown.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    figure.suptitle(title, fontsize=11)
    for axes, (name, values) in zip(
        figure.subplots(1, len(counts), squeeze=False)[0], counts.items(), strict=True
    ):
        bars = top(values)
        labels = [label for label, _ in bars][::-1]
        widths = [width for _, width in bars][::-1]
        drawn = axes.barh(labels, widths, color=[_OTHER if x == OTHERS else _BAR for x in labels])
        axes.bar_label(drawn, labels=[f"{width:,}" for width in widths], padding=3, fontsize=8)
        axes.set_title(name, fontsize=9, loc="left")
        axes.tick_params(labelsize=8, length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.set_xticks([])
        axes.margins(x=0.15)
    png = io.BytesIO()
    FigureCanvasAgg(figure).print_png(png)
    return f"![{title}](data:image/png;base64,{base64.b64encode(png.getvalue()).decode()})"


OTHERS = "all others"


def top(counts: Mapping[str, int], shown: int = SHOWN) -> Sequence[tuple[str, int]]:
    """The most frequent values, most frequent first, with the rest in one at the end."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(times for _, times in ranked[shown:])
    return [*ranked[:shown], *([(OTHERS, rest)] if rest else [])]
