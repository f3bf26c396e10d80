"""A run seen from its step: the log, the balance as it moves, and errors as Dagster has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass

import dagster as dg

from carrier_enrich.dagster.metadata import amount, banner
from carrier_enrich.dagster.step import Step
from carrier_enrich.dagster.undertaking import Account
from carrier_enrich.engine import Progress
from carrier_enrich.errors import (
    AnswerLost,
    Busy,
    CarrierEnrichError,
    LedgerError,
    LinkExpired,
    NotSent,
    RunTakenOver,
    ServiceUnavailable,
)
from carrier_enrich.model import usd

#: Seconds between two lines in the log about a run that goes well.
LOG_SECONDS = 5.0

#: What another attempt of the step may find mended; the ledger keeps it from paying again.
WORTH_A_RETRY = (
    AnswerLost,
    Busy,
    LedgerError,
    LinkExpired,
    NotSent,
    RunTakenOver,
    ServiceUnavailable,
)


@dataclass(slots=True)
class Watching:
    """Told of every progress of a run: writes what changed to the log and the event log.

    Attributes:
        clock: seconds since the epoch.
    """

    step: Step
    clock: Callable[[], float]
    _: KW_ONLY
    sandbox: bool
    logged_at: float = 0.0
    balance: int | None = None

    def __call__(self, progress: Progress) -> None:
        """Take note of a progress."""
        if progress.balance is not None and progress.balance != self.balance:
            self.balance = progress.balance
            observe_balance(self.step, progress.balance, sandbox=self.sandbox)
        if self.clock() - self.logged_at >= LOG_SECONDS:
            self.logged_at = self.clock()
            self.step.context.log.info(line(progress))


def observe_balance(step: Step, micros: int, *, sandbox: bool) -> None:
    """Record the balance as it was just read, on the one line that is plotted of it."""
    metadata = {**banner(sandbox=sandbox), **amount("balance", micros)}
    step.context.log_event(dg.AssetObservation(asset_key=step.keys.balance, metadata=metadata))


def line(progress: Progress) -> str:
    """A progress in one line."""
    parts = [f"{progress.answered:,} of {progress.wanted:,} numbers answered"]
    numbers = sum(task.numbers for task in progress.tasks)
    if progress.tasks:
        parts.append(f"{len(progress.tasks)} bulk tasks of {numbers:,} numbers under way")
    # The numbers of a task that an earlier step has submitted count as awaited, too.
    if progress.awaited > numbers:
        parts.append(f"{progress.awaited - numbers:,} being bought by another run")
    parts.append(f"{usd(progress.spent)} charged")
    return ", ".join(parts)


@contextmanager
def told() -> Iterator[None]:
    """Let errors of the package fail the step with their own words, and a retry where one helps.

    Raises:
        Failure: in place of a CarrierEnrichError.
    """
    try:
        yield
    except CarrierEnrichError as error:
        raise failure_of(error) from error


def failure_of(error: CarrierEnrichError) -> dg.Failure:
    """The failure that says what the error says."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    return dg.Failure(
        description=f"{type(error).__name__}: {error}" + (f"\n{notes}" if notes else ""),
        metadata={"error": type(error).__name__, "exit_code": error.exit_code},
        allow_retries=isinstance(error, WORTH_A_RETRY),
    )


@contextmanager
def interruptions_told(step: Step, account: Account) -> Iterator[None]:
    """Where the run is terminated, say what is paid for and still open before going."""
    try:
        yield
    except CarrierEnrichError:
        raise
    except BaseException:
        left = account.ledger.purchases.open()
        numbers = sum(purchase.count for purchase in left)
        step.context.log.warning(
            f"stopped: {len(left)} purchases ({numbers:,} numbers) are, or may be, paid for and "
            "still open at the service. Nothing is lost: bulk_task_poller, the next run, or "
            "`carrier-enrich settle` collects them without paying again."
            if left
            else "stopped: nothing that is paid for is open; what came is kept."
        )
        raise
