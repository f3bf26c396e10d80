"""Everything that can go wrong, named by what the user must do about it.

CarrierEnrichError
├── BadInput              change the data or the arguments; nothing was sent
├── BadSettings           change a setting; nothing was sent
├── PlanChanged           plan again: the data is not what was planned
├── OverBudget            raise the cap, or send less
├── PriceUnknown          name the price: a cap is set and a price is not known
├── PaidWorkOpen          run settle later: paid work is still open at the service
├── IntentionTooOld       decide: a submit of unknown outcome is too old to repeat
├── BadResultFile         look at the kept file; the task stays open
├── DeadlinePassed        give more time, or run again: what came is kept
├── RunTakenOver          run again: this one slept, and another took its work over
├── LedgerError           the ledger can't be read or written as it must be
└── ServiceError          the service, or the way to it, failed the call
    ├── BadApiKey             correct the key (40100)
    ├── OutOfBalance          top the account up (40200)
    ├── QuotaUsedUp           wait for quota or for open orders to end (42900)
    ├── RequestRefused        the request itself is wrong (40000, 40001, 40002)
    ├── Busy                  wait Retry-After (42901, 50303)
    ├── CheckTimedOut         again (50400)
    ├── ServiceUnavailable    wait for the end of maintenance (50300)
    ├── NotSent               the request never left; nothing was charged
    ├── AnswerLost            the request left, its answer did not arrive whole
    ├── UnexpectedAnswer      an answer that contradicts the specification
    ├── TaskFailed            a bulk task ended as failed; refunded in full
    └── LinkExpired           ask the task for a new result link

"Nothing found" and "undetermined" are values, never errors. No message holds
the API key or a whole phone number.
"""

from __future__ import annotations

from typing import ClassVar


class CarrierEnrichError(Exception):
    """The root of every error of this package.

    Attributes:
        exit_code: what the command line ends with. Of its class, except where the service fails
            while work is open that is paid for: that goes first (`PaidWorkOpen`).
    """

    exit_code: int = 1


class BadInput(CarrierEnrichError, ValueError):
    """The data or an argument can't be used. Raised before any request."""

    exit_code = 2


class BadSettings(BadInput):
    """A setting is missing or can't be used. Raised before any request."""


class PlanChanged(BadInput):
    """The data differs from what the given plan was made for. Nothing was sent."""


class OverBudget(CarrierEnrichError):
    """The highest possible cost passes the cap. What came before is kept in the ledger."""

    exit_code = 4


class PriceUnknown(OverBudget):
    """A cap is set, and a needed price is not known, so the cap can't be kept."""


class PaidWorkOpen(CarrierEnrichError):
    """Stopped while work that is paid for is open at the service; `settle` collects it."""

    exit_code = 5


class IntentionTooOld(PaidWorkOpen):
    """A bulk submit of unknown outcome is older than its Idempotency-Key can be trusted."""


class BadResultFile(PaidWorkOpen):
    """A result file can't be read as the answers that were bought. File and task are kept."""


class DeadlinePassed(CarrierEnrichError):
    """The deadline came before the answers did; nothing that is paid for is open."""

    exit_code = 6


class RunTakenOver(CarrierEnrichError):
    """This run was stopped for longer than its lease; what it held went to another run."""


class LedgerError(CarrierEnrichError):
    """The ledger can't be opened, or was asked for a move that its states do not allow."""

    exit_code = 2


class ServiceError(CarrierEnrichError):
    """A call that failed.

    Attributes:
        may_be_charged: whether the service may have charged for the call.
        code: the envelope code, where there was one (spec, Errors).
        retry_after: seconds to wait before the same request, where the service said so.
    """

    exit_code = 6
    may_be_charged: ClassVar[bool] = False

    def __init__(
        self, message: str, *, code: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class BadApiKey(ServiceError):
    """40100: the key is missing or invalid."""


class OutOfBalance(ServiceError):
    """40200: the balance does not cover the call."""

    exit_code = 4


class QuotaUsedUp(ServiceError):
    """42900: the usage quota is used up, or too many orders are unfinished."""


class RequestRefused(ServiceError):
    """40000, 40001, 40002: the service refuses the request as it is written."""


class Busy(ServiceError):
    """42901 or 50303: no room now; no charge; the same request again after Retry-After."""


class CheckTimedOut(ServiceError):
    """50400: the check passed the service's time limit; no charge; may be retried at once."""


class ServiceUnavailable(ServiceError):
    """50300: the lookup service is under maintenance."""


class NotSent(ServiceError):
    """No connection could be made: the request never left, so nothing was charged."""


class AnswerLost(ServiceError):
    """The request left; its answer did not come, or came unreadable (not an envelope)."""

    may_be_charged = True


class UnexpectedAnswer(ServiceError):
    """A whole, readable answer that contradicts the specification; nothing of it is used."""

    may_be_charged = True


class TaskFailed(ServiceError):
    """A bulk task ended as `failed`; its cost is refunded in full (spec, Bulk task)."""


class LinkExpired(ServiceError):
    """The result link no longer answers with the file; the task gives a new one."""
