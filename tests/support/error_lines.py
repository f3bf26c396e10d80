"""Every error of the tree by a cause that real runs meet, and what its line must say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from carrier_enrich import errors
from carrier_enrich.cli.gate import NotConfirmed
from support.error_causes import (
    FEW,
    MANY,
    Stage,
    another_program,
    another_run_is_slow,
    asleep_for_two_minutes,
    code,
    frame,
    nobody_to_ask,
    old_link,
    other_data,
    poor,
    submit_never_confirmed,
    under_fault,
)


@dataclass(frozen=True)
class Case:
    """A cause, the error that it ends in, and the three things that its line must say.

    Attributes:
        cause: in words, different for each.
        happened, cost, advice: parts of the line, as they stand in it.
    """

    error: type[errors.CarrierEnrichError]
    cause: str
    trigger: Callable[[Stage], object]
    happened: str
    cost: str
    advice: str


AGAIN = "pays for the rest only"
NOTHING_SENT = "nothing was sent"
NOT_CHARGED = "nothing was charged for it"

CASES = [
    Case(
        errors.BadInput,
        "a column that is not there",
        lambda stage: stage.enricher().plan(frame(FEW), "mobile"),
        "there is no column 'mobile'",
        NOTHING_SENT,
        "there are: phone",
    ),
    Case(
        errors.BadSettings,
        "no API key",
        lambda stage: stage.enrich(FEW, api_key=""),
        "no API key",
        NOTHING_SENT,
        "set CARRIER_ENRICH_API_KEY",
    ),
    Case(
        errors.PlanChanged,
        "a plan for other data",
        other_data,
        "the data is not what the plan was made for",
        NOTHING_SENT,
        "plan again",
    ),
    Case(
        errors.OverBudget,
        "a cap below the cost",
        lambda stage: stage.enrich(FEW, {"max_cost_usd": "0.003"}),
        "3 numbers may cost $0.006, over the cap of $0.003",
        NOTHING_SENT,
        "Raise the cap",
    ),
    Case(
        errors.OverBudget,
        "a lost answer used the cap up",
        lambda stage: (
            stage.failing("batch-check", "reset_after", 1),
            stage.enrich(FEW, {"max_cost_usd": "0.006"}),
        ),
        "$0.006 of the cap of $0.006 is spent",
        "was not made",
        "raise the cap",
    ),
    Case(
        errors.PriceUnknown,
        "a cap without a price",
        lambda stage: stage.enrich(FEW, {"max_cost_usd": "1"}, price_multi_usd=None),
        "not every price is known",
        NOTHING_SENT,
        "CARRIER_ENRICH_PRICE_MULTI_USD",
    ),
    Case(
        errors.PaidWorkOpen,
        "a bulk task that does not end",
        under_fault(MANY, "bulk-submit", "task_never_ends", settings={"deadline_seconds": 600}),
        "the deadline of 10 min 0 s passed with 1 bulk task (1,000 numbers)",
        "paid for",
        "carrier-enrich settle",
    ),
    Case(
        errors.IntentionTooOld,
        "a submit of two days ago that never was confirmed",
        submit_never_confirmed,
        "was sent 48 hours ago and never confirmed",
        "Nothing new was bought",
        "carrier-enrich settle --give-up",
    ),
    Case(
        errors.BadResultFile,
        "a result file that is no table",
        under_fault(MANY, "result", "not_a_table"),
        "result file",
        "is paid for",
        "run this again",
    ),
    Case(
        errors.DeadlinePassed,
        "another run buys the same numbers, slowly",
        another_run_is_slow,
        "the deadline of 5.0 s passed before all answers came",
        "nothing that this run paid for is outstanding",
        "CARRIER_ENRICH_DEADLINE_SECONDS",
    ),
    Case(
        errors.RunTakenOver,
        "a machine that slept for two minutes",
        asleep_for_two_minutes,
        "stopped for longer than its lease",
        "charge_unknown",
        AGAIN,
    ),
    Case(
        errors.LedgerError,
        "a ledger that is another program's file",
        another_program,
        "the ledger",
        "what was committed before is kept",
        "see that CARRIER_ENRICH_LEDGER names",
    ),
    Case(
        errors.BadApiKey,
        "a key that nobody has",
        lambda stage: stage.enrich(FEW, api_key="key-of-nobody-at-all"),
        "40100",
        NOT_CHARGED,
        "set CARRIER_ENRICH_API_KEY",
    ),
    Case(
        errors.OutOfBalance,
        "a balance below the cost",
        poor,
        "3 numbers may cost $0.006, and the balance is $0.001",
        NOTHING_SENT,
        "Top the account up",
    ),
    Case(
        errors.OutOfBalance,
        "the service's own refusal",
        under_fault(FEW, "batch-check", "code", **code(40200)),
        "40200",
        NOT_CHARGED,
        "top the account up",
    ),
    Case(
        errors.QuotaUsedUp,
        "the quota is used up",
        under_fault(FEW, "batch-check", "code", **code(42900)),
        "42900",
        NOT_CHARGED,
        "wait until the quota renews",
    ),
    Case(
        errors.RequestRefused,
        "the service refuses the request as it is",
        under_fault(FEW, "batch-check", "code", **code(40000)),
        "40000",
        NOT_CHARGED,
        "look for a newer carrier-enrich",
    ),
    Case(
        errors.Busy,
        "somebody else holds the account's slots",
        under_fault(
            FEW,
            "batch-check",
            "code",
            **code(42901, retry_after=7),
            settings={"deadline_seconds": 60},
        ),
        "42901",
        NOT_CHARGED,
        "try later",
    ),
    Case(
        errors.CheckTimedOut,
        "a check that the service never finishes in time",
        under_fault(FEW[:1], "check", "code", **code(50400)),
        "50400",
        NOT_CHARGED,
        "try later",
    ),
    Case(
        errors.ServiceUnavailable,
        "maintenance",
        under_fault(FEW, "batch-check", "code", **code(50300), settings={"deadline_seconds": 60}),
        "50300",
        NOT_CHARGED,
        "when the maintenance is over",
    ),
    Case(
        errors.NotSent,
        "nothing listens at the base URL",
        lambda stage: stage.enrich(FEW, base_url="http://127.0.0.1:9"),
        "no connection could be made",
        "nothing was charged",
        "check CARRIER_ENRICH_BASE_URL and the network",
    ),
    Case(
        errors.AnswerLost,
        "a gateway answers with a page of its own",
        under_fault(FEW, "balance", "html"),
        "no envelope came: HTTP",
        "may have been charged",
        AGAIN,
    ),
    Case(
        errors.UnexpectedAnswer,
        "a multi check's results in another order",
        under_fault(FEW, "batch-check", "shuffled", 1),
        "which was asked for",
        "may have been charged",
        "look for a newer carrier-enrich",
    ),
    Case(
        errors.TaskFailed,
        "a bulk task that fails each time",
        under_fault(MANY, "bulk-submit", "task_fails"),
        "failed 3 times",
        "refunded in full",
        "CARRIER_ENRICH_BULK_PRODUCT",
    ),
    Case(
        errors.LinkExpired,
        "a result link that is too old",
        old_link,
        "the result link answers HTTP",
        "paid for",
        "carrier-enrich settle",
    ),
    Case(
        NotConfirmed,
        "nobody has agreed to the cost",
        nobody_to_ask,
        "3 numbers to buy would spend at most $0.006",
        NOTHING_SENT,
        "add --yes",
    ),
]
