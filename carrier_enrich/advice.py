"""What an error cost and what to do about it, where its own line does not say so: pure.

The lines of `BadInput`, `OverBudget`, `PaidWorkOpen` and the like are written where the data is
known and say all of it. Errors that repeat what the service said get the rest from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from carrier_enrich import errors

_AGAIN = "what came before is kept: running it again pays for the rest only"

_ADVICE: Mapping[type[errors.CarrierEnrichError], str] = MappingProxyType(
    {
        errors.BadApiKey: "nothing was charged for it: set CARRIER_ENRICH_API_KEY to the key from "
        "the account settings",
        errors.OutOfBalance: f"nothing was charged for it: top the account up; {_AGAIN}",
        errors.QuotaUsedUp: "nothing was charged for it: wait until the quota renews or open "
        f"orders end; {_AGAIN}",
        errors.RequestRefused: "nothing was charged for it, and the same request would be refused "
        "again: look for a newer carrier-enrich",
        errors.Busy: "nothing was charged for it: others use the account's slots, so try later or "
        f"give more time (CARRIER_ENRICH_DEADLINE_SECONDS); {_AGAIN}",
        errors.CheckTimedOut: f"nothing was charged for it: try later; {_AGAIN}",
        errors.ServiceUnavailable: "nothing was charged for it: try when the maintenance is over; "
        + _AGAIN,
        errors.NotSent: "nothing was sent, so nothing was charged for it: check "
        "CARRIER_ENRICH_BASE_URL and the network",
        errors.AnswerLost: "it may have been charged, and what may have been is in the receipt "
        f"as charge_unknown; {_AGAIN}",
        errors.UnexpectedAnswer: "it may have been charged, nothing of the answer was used, and "
        "its numbers are charge_unknown: should it come again, the service has changed, so look "
        "for a newer carrier-enrich",
        errors.TaskFailed: "it was refunded in full: try later, or another product "
        "(CARRIER_ENRICH_BULK_PRODUCT)",
        errors.LinkExpired: "the task is paid for and stays open: carrier-enrich settle",
        errors.LedgerError: "what was committed before is kept: see that CARRIER_ENRICH_LEDGER "
        "names a SQLite file or a PostgreSQL URL that can be written to, with room left",
    }
)


def advice_on(error: BaseException) -> str | None:
    """A line that says what the error cost and what to do; None where its own line does.

    `OutOfBalance` says so itself, except where it only repeats the service's refusal.
    """
    if isinstance(error, errors.OutOfBalance) and error.code is None:
        return None
    return _ADVICE.get(type(error))  # type: ignore[arg-type]  # any type may be looked up
