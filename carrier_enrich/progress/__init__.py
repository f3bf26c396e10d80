"""A run as people watch it: a live panel, plain lines, or a cell of a notebook.

>>> with shown() as watch:  # doctest: +SKIP
...     ce.enrich(df, phone="phone", progress=watch)

Nothing is said here that the receipt does not say too.
"""

from carrier_enrich.progress.displays import Lines, LivePanel, NotebookPanel, shown
from carrier_enrich.progress.wording import line_of, rows_of, seconds_left

__all__ = ["Lines", "LivePanel", "NotebookPanel", "line_of", "rows_of", "seconds_left", "shown"]
