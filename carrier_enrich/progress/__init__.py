"""A run as people watch it: a live panel, plain lines, or a cell of a notebook.

>>> ce.enrich(df, phone="phone", progress=True)  # doctest: +SKIP

Nothing is said here that the receipt does not say too.
"""

from carrier_enrich.progress.displays import Lines, LivePanel, NotebookPanel, shown, watched
from carrier_enrich.progress.wording import line_of, rows_of, seconds_left

__all__ = [
    "Lines",
    "LivePanel",
    "NotebookPanel",
    "line_of",
    "rows_of",
    "seconds_left",
    "shown",
    "watched",
]
