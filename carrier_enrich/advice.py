"""What an error cost and what to do about it, where its own line does not say so: pure.

The lines of `PlanChanged`, `PaidWorkOpen` and the like are written where the data is known and say
all of it. Errors that repeat what the service said, or that may come at any point of a run, get the
rest from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from carrier_enrich import errors

_AGAIN = "what came before is kept: running it again pays for the rest only"

#: A line with these words tells its cost, and what to do, by itself.
_TOLD = "nothing was sent"

_ADVICE: Mapping[type[errors.CarrierEnrichError], str] = MappingProxyType(
    {
        errors.BadInput: "nothing was sent, so nothing was charged",
        errors.BadSettings: "nothing was sent, so nothing was charged",
        errors.OverBudget: "the call that would have passed it was not made: raise the cap, or "
        f"give none; {_AGAIN}",
        errors.PriceUnknown: f"that call was not made; {_AGAIN}",
        errors.DeadlinePassed: "nothing that this run paid for is outstanding; more time is given "
        "by CARRIER_ENRICH_DEADLINE_SECONDS",
        errors.RunTakenOver: "tasks go on under the other run; a check that was out may have been "
        "charged, and is charge_unknown in the other's receipt; " + _AGAIN,
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
        errors.AnswerLost: "a check may have been charged, and the receipt counts it as "
        f"charge_unknown; anything else is free to repeat. Try later; {_AGAIN}",
        errors.UnexpectedAnswer: "nothing of the answer was used; a check may have been charged, "
        "and its numbers are charge_unknown. Should it come again, the service has changed: look "
        "for a newer carrier-enrich",
        errors.TaskFailed: "nothing was charged for it: try later, or another product "
        "(CARRIER_ENRICH_BULK_PRODUCT)",
        errors.LinkExpired: "the task is paid for and stays open: carrier-enrich settle",
        errors.LedgerError: "what was committed before is kept: see that CARRIER_ENRICH_LEDGER "
        "names a SQLite file or a PostgreSQL URL that can be written to, with room left",
    }
)


def advice_on(error: BaseException) -> str | None:
    """A line that says what the error cost and what to do; None where its own line does."""
    if _TOLD in str(error):
        return None
    return _ADVICE.get(type(error))  # type: ignore[arg-type]  # any type may be looked up
