"""What each failure gets: (error, attempt, clock values) → what to do next. Pure.

Nothing here waits, draws a random number or reads a clock; whoever asks performs the decision.
What a failed call may cost decides most of it: what is free, or repeatable under the same
idempotency key, is done again; a check whose answer was lost may have been charged, and is
never simply sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from carrier_enrich.errors import (
    AnswerLost,
    Busy,
    CheckTimedOut,
    LinkExpired,
    NotSent,
    QuotaUsedUp,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
    UnexpectedAnswer,
)
from carrier_enrich.model import CallKind

#: What was being done when it failed.
Operation: TypeAlias = CallKind | Literal["poll", "download", "balance"]

#: Seconds of the longest Retry-After that is followed.
RETRY_AFTER_MAX = 300.0

#: Times that a check is asked again after its answer was lost, each as a new purchase.
LOST_MAX = 3

#: Times that a timed-out check is sent again as it was.
TIMED_OUT_MAX = 2

#: Times that a repeatable call is sent again after an answer against the specification.
UNEXPECTED_MAX = 3

#: Times that the balance is asked for where no answer comes: it is the first call of a run, so
#: a wrong base URL shows here, in half a minute rather than at the deadline.
BALANCE_MAX = 5

#: Seconds for which the service may be at work on a check, from its request on (spec, Limits).
CHECK_SECONDS: Mapping[CallKind, float] = MappingProxyType(
    {CallKind.SINGLE_CHECK: 60.0, CallKind.MULTI_CHECK: 300.0}
)

_BACK_OFF_FIRST = 2.0
_BACK_OFF_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Wait:
    """The same request again, under the same purchase, after `seconds` (0: at once)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Halve:
    """Two multi checks instead of one, each with half of the numbers. Nothing was charged."""


@dataclass(frozen=True, slots=True)
class WaitForTask:
    """The same again when one of the open bulk tasks has ended."""


@dataclass(frozen=True, slots=True)
class AskLink:
    """Query the bulk task for a new result link (in its polling interval), then download."""


@dataclass(frozen=True, slots=True)
class ChargeUnknown:
    """Close the purchase as charge_unknown: the check may have been charged.

    Attributes:
        error: None to ask again, as a new purchase within the budget; else what to raise.
        seconds: to wait before asking again.
    """

    error: ServiceError | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Raise `error`. A bulk submit stays an open intention where its outcome is not known."""

    error: ServiceError


Decision: TypeAlias = Wait | Halve | WaitForTask | AskLink | ChargeUnknown | GiveUp


def decide(
    operation: Operation,
    error: ServiceError,
    *,
    attempt: int,
    deadline_left: float,
    numbers: int = 1,
    open_tasks: int = 0,
    jitter: float = 0.0,
) -> Decision:
    """What to do about a failed call.

    Args:
        attempt: how often this call has met this class of error, this time included: from 1.
            For a check, the purchases that charge_unknown made of the same numbers count too.
        deadline_left: seconds until the run's deadline; no wait passes it.
        numbers: how many numbers the call carries.
        open_tasks: bulk tasks of this account that are known to be unfinished.
        jitter: drawn from [0, 1), spreads the waits of several clients.
    """
    pause = back_off(attempt, jitter, error.retry_after)
    in_time = pause <= deadline_left
    if isinstance(error, (Busy, ServiceUnavailable)):
        return Wait(pause) if in_time else GiveUp(error)
    if isinstance(error, QuotaUsedUp) and isinstance(operation, CallKind):
        return WaitForTask() if open_tasks and deadline_left > 0 else GiveUp(error)
    match operation:
        case CallKind.SINGLE_CHECK | CallKind.MULTI_CHECK:
            parts = numbers if operation is CallKind.MULTI_CHECK else 1
            return _of_check(error, attempt, pause, deadline_left, parts)
        case CallKind.BULK_TASK | "poll":
            again = _is_worth_repeating(error, attempt)
        case "balance":
            again = _is_worth_repeating(error, attempt) and attempt < BALANCE_MAX
        case "download":
            # A cut download is tried once more from its link, which may have expired meanwhile.
            if isinstance(error, LinkExpired) or (isinstance(error, AnswerLost) and attempt > 1):
                return AskLink() if deadline_left > 0 else GiveUp(error)
            again = _is_worth_repeating(error, attempt)
        case _:
            assert_never(operation)
    return Wait(pause) if again and in_time else GiveUp(error)


def back_off(attempt: int, jitter: float, retry_after: float | None = None) -> float:
    """Seconds before the next attempt: 2, 4, 8 … 60, or what the service asks for, if usable.

    Jitter comes on top, so that nobody comes before the moment which the service named (spec,
    Errors: Retry-After): at most a quarter, or one second where that is more.
    """
    if retry_after is None:
        base = min(_BACK_OFF_MAX, _BACK_OFF_FIRST * 2.0 ** min(attempt - 1, 10))
    else:
        base = min(RETRY_AFTER_MAX, retry_after)
    return base + jitter * max(1.0, base / 4)


def _of_check(
    error: ServiceError, attempt: int, pause: float, deadline_left: float, parts: int
) -> Decision:
    """A single check, or a multi check of `parts` numbers, that failed."""
    in_time = pause <= deadline_left
    narrower: Decision = Halve() if parts > 1 else GiveUp(error)
    match error:
        case CheckTimedOut() if attempt <= TIMED_OUT_MAX and deadline_left > 0:
            return Wait(0.0)
        case CheckTimedOut() | RequestRefused(code=40002):  # 40002: invalid phone number
            return narrower
        case NotSent() if in_time:
            return Wait(pause)
        case AnswerLost() if attempt > LOST_MAX:
            lost = f"the answer to a check was lost {attempt} times; the last time: {error}"
            return ChargeUnknown(UnexpectedAnswer(lost, code=error.code))
        case AnswerLost() if in_time:
            return ChargeUnknown(seconds=pause)
    return ChargeUnknown(error) if error.may_be_charged else GiveUp(error)


def _is_worth_repeating(error: ServiceError, attempt: int) -> bool:
    """Whether a call that is free, or repeatable under its key, may succeed when done again."""
    match error:
        case NotSent() | AnswerLost():
            return True
        case CheckTimedOut():
            return attempt <= TIMED_OUT_MAX
        case UnexpectedAnswer():
            return attempt <= UNEXPECTED_MAX
        case _:
            return False
