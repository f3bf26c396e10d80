"""Where a run is shown: on a terminal, in a log, in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from carrier_enrich.progress.wording import line_of, rows_of
from carrier_enrich.tables import html_table, text_bar, text_table

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console, RenderableType

    from carrier_enrich.engine.watch import Progress, Watch

Clock = Callable[[], float]

#: Seconds between two plain lines, at least.
LINE_SECONDS = 5.0

#: Seconds between two changes of a notebook's cell, at least.
CELL_SECONDS = 0.5

_PANEL_WIDTH = 78


@contextmanager
def shown(
    stream: TextIO | None = None,
    *,
    quiet: bool = False,
    expected: float | None = None,
    clock: Clock = time.time,
) -> Iterator[Watch | None]:
    """What `progress=` takes, in the form that fits the place: None where silence is asked for.

    Args:
        stream: where to show it, standard error by default; a notebook shows it in the cell.
        expected: seconds that the plan expects the run to take.
        clock: seconds since the epoch.
    """
    stream = stream or sys.stderr
    if quiet:
        yield None
    elif _in_notebook():
        yield NotebookPanel(expected=expected, clock=clock)
    elif stream.isatty():
        from rich.console import Console

        console = Console(file=stream)
        if console.is_dumb_terminal:
            yield Lines(stream, expected=expected, clock=clock)
            return
        with LivePanel(console, expected=expected, clock=clock) as panel:
            yield panel
    else:
        yield Lines(stream, expected=expected, clock=clock)


def watched(
    progress: Watch | bool | None, *, expected: float | None = None
) -> AbstractContextManager[Watch | None]:
    """What ``progress=`` means: True is `shown`, a callable is itself, anything else silence."""
    if callable(progress):
        return nullcontext(progress)
    return shown(quiet=not progress, expected=expected)


class LivePanel:
    """One panel that renews itself on a terminal, and leaves no trace when the run is over."""

    def __init__(
        self, console: Console, *, expected: float | None = None, clock: Clock = time.time
    ) -> None:
        from rich.live import Live

        self._expected = expected
        self._clock = clock
        self._last: Progress | None = None
        self._live = Live(
            console=console, get_renderable=self.picture, refresh_per_second=2, transient=True
        )

    def __call__(self, progress: Progress) -> None:
        """Take the run's newest state; ages and times go on by themselves between two."""
        self._last = progress

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def picture(self) -> RenderableType:
        """The panel as it stands now."""
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        if self._last is None:
            table.add_row("starting", "")
        else:
            for label, value, share in rows_of(self._last, self._clock(), self._expected):
                told = Text(value or "")
                if share is not None:
                    told.append(f"  {text_bar(share)}", style="cyan")
                table.add_row(Text(label), told)
        return Panel(table, title="carrier-enrich", title_align="left", width=_PANEL_WIDTH)


class Lines:
    """A plain line now and then, for logs and pipes."""

    def __init__(
        self,
        stream: TextIO,
        *,
        every: float = LINE_SECONDS,
        expected: float | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._stream = stream
        self._every = every
        self._expected = expected
        self._clock = clock
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Write a line, unless the last one is too young and more is to come."""
        now = self._clock()
        if now < self._next and not _is_last(progress):
            return
        self._next = now + self._every
        self._stream.write(f"carrier-enrich: {line_of(progress, now, self._expected)}\n")
        self._stream.flush()


class Handle(Protocol):
    """A place on a notebook's page whose content can be replaced."""

    def update(self, content: object) -> object:
        """Show this instead."""


class NotebookPanel:
    """One table in a notebook's cell that renews itself.

    `display` puts an object into the cell and gives the handle by which to replace it: by
    default IPython's.
    """

    def __init__(
        self,
        display: Callable[[object], Handle] | None = None,
        *,
        every: float = CELL_SECONDS,
        expected: float | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._display = display or _display_in_cell
        self._handle: Handle | None = None
        self._every = every
        self._expected = expected
        self._clock = clock
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show the run's newest state, unless the cell has just changed and more is to come."""
        now = self._clock()
        if now < self._next and not _is_last(progress):
            return
        self._next = now + self._every
        picture = _Cell(progress, now, self._expected)
        if self._handle is None:
            self._handle = self._display(picture)
        else:
            self._handle.update(picture)


class _Cell:
    """A moment of a run, as notebooks show objects."""

    def __init__(self, progress: Progress, now: float, expected: float | None) -> None:
        self._rows = rows_of(progress, now, expected)

    def __repr__(self) -> str:
        return text_table("carrier-enrich", self._rows)

    def _repr_html_(self) -> str:
        return html_table("carrier-enrich", self._rows)


def _is_last(progress: Progress) -> bool:
    return progress.answered == progress.wanted and not progress.tasks


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel; IPython in a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


def _display_in_cell(content: object) -> Handle:
    # By name, because IPython is there only where a notebook is.
    display: Any = import_module("IPython.display").display
    handle: Handle = display(content, display_id=True)
    return handle
