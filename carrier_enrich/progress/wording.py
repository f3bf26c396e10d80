"""What is said of a run at one moment: pure."""

from __future__ import annotations

from carrier_enrich.engine.errands import Step
from carrier_enrich.engine.watch import Progress, TaskProgress
from carrier_enrich.tables import Row, count, counted, duration, money, share

#: Bulk tasks that are shown one by one; more are counted.
TASKS_SHOWN = 8


def rows_of(progress: Progress, now: float, expected: float | None = None) -> list[Row]:
    """The run as rows of a table.

    Args:
        now: seconds since the epoch.
        expected: seconds that the plan expects the whole run to take, None where unknown.
    """
    return [
        *_numbers(progress),
        *_calls(progress),
        *_tasks(progress, now),
        *_money(progress),
        *_time(progress, now, expected),
    ]


def line_of(progress: Progress, now: float, expected: float | None = None) -> str:
    """The run in one line, for a log."""
    parts = []
    if progress.wanted:
        made_of = ", ".join(f"{count(number)} {how}" for how, number in _origins(progress))
        parts.append(
            f"{count(progress.answered)} of {counted(progress.wanted, 'number')} answered"
            + (f" ({made_of})" if made_of else "")
        )
    if progress.checks:
        parts.append(f"{counted(progress.checks, 'check')} in flight")
    if progress.tasks:
        numbers = sum(task.numbers for task in progress.tasks)
        first = min(progress.tasks, key=lambda task: task.due)
        parts.append(
            f"{counted(len(progress.tasks), 'bulk task')} ({counted(numbers, 'number')}, "
            f"{_step(first, now)})"
        )
    parts.append(_spent(progress))
    left = seconds_left(progress, now, expected)
    if left:
        parts.append(f"about {duration(left)} left")
    return "; ".join(parts)


def seconds_left(progress: Progress, now: float, expected: float | None = None) -> float | None:
    """Seconds until the run is likely done; None where nothing tells.

    By what the plan expected, while that holds; else by the pace so far, which says nothing
    while bulk tasks are under way: they answer all at once.
    """
    left = progress.wanted - progress.answered
    if not left and not progress.tasks:
        return 0.0
    elapsed = now - progress.started_at
    if expected is not None and expected > elapsed:
        return expected - elapsed
    gained = progress.bought + progress.collected + progress.shared
    if progress.tasks or not gained or elapsed <= 0:
        return None
    return left * elapsed / gained


def _origins(progress: Progress) -> list[tuple[str, int]]:
    origins = [
        ("known before", progress.known),
        ("bought", progress.bought),
        ("collected", progress.collected),
        ("from another run", progress.shared),
    ]
    return [(how, number) for how, number in origins if number]


def _numbers(progress: Progress) -> list[Row]:
    if not progress.wanted:
        return []
    answered = f"{count(progress.answered)} of {count(progress.wanted)}"
    rows = [Row("numbers answered", answered, share(progress.answered, progress.wanted))]
    rows += [Row(f"  {how}", count(number)) for how, number in _origins(progress)]
    if progress.waiting:
        rows.append(Row("waiting to be bought", count(progress.waiting)))
    if progress.awaited:
        rows.append(Row("another run is buying", count(progress.awaited)))
    return rows


def _calls(progress: Progress) -> list[Row]:
    sent = counted(progress.requests, "request")
    flying = counted(progress.checks, "check")
    return [Row("calls", f"{flying} in flight, {sent} sent")]


def _tasks(progress: Progress, now: float) -> list[Row]:
    rows = [
        Row(
            f"bulk task {task.country}",
            f"{counted(task.numbers, 'number')}, {duration(now - task.since)} old, "
            + _step(task, now),
        )
        for task in progress.tasks[:TASKS_SHOWN]
    ]
    more = len(progress.tasks) - TASKS_SHOWN
    return [*rows, Row("", f"and {counted(more, 'more task')}")] if more > 0 else rows


def _step(task: TaskProgress, now: float) -> str:
    match task.step:
        case Step.SEND:
            return "being submitted"
        case Step.POLL:
            return f"next poll in {duration(task.due - now)}" if task.due > now else "being polled"
        case Step.DOWNLOAD:
            return "result is coming"


def _money(progress: Progress) -> list[Row]:
    part = None if progress.cap is None else share(progress.spent, progress.cap)
    rows = [Row("money", _spent(progress), part)]
    if progress.balance is not None:
        rows.append(Row("balance, last read", money(progress.balance)))
    return rows


def _spent(progress: Progress) -> str:
    of = "" if progress.cap is None else f" of the cap of {money(progress.cap)}"
    return f"{money(progress.spent)}{of} spent"


def _time(progress: Progress, now: float, expected: float | None) -> list[Row]:
    elapsed = duration(now - progress.started_at)
    left = seconds_left(progress, now, expected)
    return [Row("time", elapsed + (f", about {duration(left)} left" if left else ""))]
