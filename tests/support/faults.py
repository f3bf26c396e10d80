"""Every fault that the service, or the way to it, may show; and what a run must make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from carrier_enrich import errors


@dataclass(frozen=True)
class Fault:
    """One scripted fault and the end that it must come to.

    Attributes:
        name: for the table.
        numbers: how many US numbers the run asks for (1,000 and more go to a bulk task).
        on, kind, times, options: what the sandbox is told.
        raises: the error that the run ends with, None where it ends well.
        unknown: numbers reported as charge_unknown.
        twice: whether checks may have been charged twice; only where reported as unknown.
        settings: changes to the run's settings.
    """

    name: str
    numbers: int
    on: str
    kind: str
    times: int | None = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    raises: type[errors.CarrierEnrichError] | None = None
    unknown: int = 0
    twice: bool = False
    after: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


def code(number: int, **options: Any) -> Mapping[str, Any]:
    return {"code": number, **options}


MULTI, BULK = 50, 1_000

#: Only this product counts what it excludes (spec, Bulk task).
CARRIER_BATCH = {"bulk_product": "carrier_batch", "price_carrier_batch_usd": "0.0008"}

LOST_CHECKS = [
    Fault(
        f"multi check: {kind}{' processed' if processed else ''}",
        MULTI,
        "batch-check",
        kind,
        options=options,
        unknown=MULTI,
        twice=processed,
    )
    for kind, options, processed in [
        ("reset_before", {}, False),
        ("reset_after", {}, True),
        ("html", {}, False),
        ("html", {"processed": True}, True),
        ("empty", {}, True),
        ("cut", {}, True),
        ("cut", {"declare": "whole"}, True),
        ("data_null", {}, True),
        ("data_missing", {}, True),
        ("redirect", {}, False),
        ("redirect", {"http": 302, "processed": True}, True),
    ]
] + [
    Fault("single check: reset_after", 1, "check", "reset_after", unknown=1, twice=True),
    Fault(
        "multi check: answer lost twice",
        MULTI,
        "batch-check",
        "reset_after",
        2,
        unknown=2 * MULTI,
        twice=True,
    ),
    Fault(
        "multi check: answer lost for ever",
        MULTI,
        "batch-check",
        "reset_before",
        None,
        raises=errors.UnexpectedAnswer,
        unknown=4 * MULTI,
    ),
]

WRONG_CHECKS = [
    Fault(
        f"multi check: {kind}",
        MULTI,
        "batch-check",
        kind,
        raises=errors.UnexpectedAnswer,
        unknown=MULTI,
        twice=True,
    )
    for kind in ("wrong_length", "wrong_echo", "shuffled", "doubled", "unknown_code")
] + [
    Fault(
        "single check: wrong_echo",
        1,
        "check",
        "wrong_echo",
        raises=errors.UnexpectedAnswer,
        unknown=1,
        twice=True,
    ),
]

REFUSED_CHECKS = [
    Fault(
        "42901, Retry-After in seconds",
        MULTI,
        "batch-check",
        "code",
        3,
        code(42901, retry_after=2, http=429),
    ),
    Fault(
        "42901, Retry-After as a date",
        MULTI,
        "batch-check",
        "code",
        2,
        code(42901, retry_after=2, retry_after_form="date", http=429),
    ),
    Fault(
        "42901, Retry-After garbage",
        MULTI,
        "batch-check",
        "code",
        2,
        code(42901, retry_after="soon", http=429),
    ),
    Fault("42901 without Retry-After", MULTI, "batch-check", "code", 2, code(42901)),
    Fault("42901 for minutes", MULTI, "batch-check", "code", 40, code(42901, retry_after=5)),
    Fault("50303", MULTI, "batch-check", "code", 2, code(50303, retry_after=3, http=503)),
    Fault("50400 once", MULTI, "batch-check", "code", 1, code(50400, http=504)),
    Fault("50400 twice", MULTI, "batch-check", "code", 2, code(50400)),
    Fault("50400 three times, halved", MULTI, "batch-check", "code", 3, code(50400)),
    Fault(
        "50400 on a single check for ever",
        1,
        "check",
        "code",
        None,
        code(50400),
        raises=errors.CheckTimedOut,
    ),
    Fault("50300 for a while", MULTI, "batch-check", "code", 4, code(50300, http=503)),
    Fault(
        "50300 until the deadline",
        MULTI,
        "batch-check",
        "code",
        None,
        code(50300),
        raises=errors.ServiceUnavailable,
        settings={"deadline_seconds": 600},
    ),
    Fault(
        "42900 without open tasks",
        MULTI,
        "batch-check",
        "code",
        1,
        code(42900),
        raises=errors.QuotaUsedUp,
    ),
    Fault("40200", MULTI, "batch-check", "code", 1, code(40200), raises=errors.OutOfBalance),
    Fault("40100", MULTI, "batch-check", "code", 1, code(40100), raises=errors.BadApiKey),
    Fault("40000", MULTI, "batch-check", "code", 1, code(40000), raises=errors.RequestRefused),
    Fault("40001", MULTI, "batch-check", "code", 1, code(40001), raises=errors.RequestRefused),
    Fault("40002, narrowed", MULTI, "batch-check", "code", 3, code(40002)),
]

BALANCE = [
    Fault(f"balance: {kind}", MULTI, "balance", kind, 2, options)
    for kind, options in [
        ("reset_before", {}),
        ("reset_after", {}),
        ("html", {}),
        ("empty", {}),
        ("cut", {}),
        ("data_null", {}),
        ("redirect", {}),
        ("code", code(50300)),
        ("code", code(50303, retry_after=1)),
        ("unknown_code", {}),
    ]
] + [
    Fault("balance: 40100", MULTI, "balance", "code", 1, code(40100), raises=errors.BadApiKey),
]

SUBMIT = [
    Fault(f"bulk submit: {kind} {options or ''}".strip(), BULK, "bulk-submit", kind, times, options)
    for kind, times, options in [
        ("reset_before", 2, {}),
        ("reset_after", 2, {}),
        ("html", 1, {}),
        ("html", 1, {"processed": True}),
        ("empty", 1, {}),
        ("cut", 1, {}),
        ("data_null", 1, {}),
        ("redirect", 1, {}),
        ("code", 2, code(50300)),
        ("code", 2, code(50303, retry_after=2)),
        ("unknown_code", 1, {}),
    ]
] + [
    Fault(
        "bulk submit: 40200",
        BULK,
        "bulk-submit",
        "code",
        1,
        code(40200),
        raises=errors.OutOfBalance,
    ),
    Fault(
        "bulk submit: 40000",
        BULK,
        "bulk-submit",
        "code",
        1,
        code(40000),
        raises=errors.RequestRefused,
    ),
    Fault(
        "bulk submit: 42900 without open tasks",
        BULK,
        "bulk-submit",
        "code",
        1,
        code(42900),
        raises=errors.QuotaUsedUp,
    ),
]

QUERY = [
    Fault(f"bulk query: {kind}", BULK, "bulk-query", kind, 2, options)
    for kind, options in [
        ("reset_before", {}),
        ("reset_after", {}),
        ("html", {}),
        ("empty", {}),
        ("cut", {}),
        ("data_null", {}),
        ("redirect", {}),
        ("code", code(50300)),
        ("unknown_code", {}),
        ("preparing", {"polls": 2}),
        ("preparing", {"polls": 2, "status": "success"}),
    ]
]

TASK = [
    Fault("task fails once", BULK, "bulk-submit", "task_fails"),
    Fault("task fails for ever", BULK, "bulk-submit", "task_fails", None, raises=errors.TaskFailed),
    Fault(
        "task never ends",
        BULK,
        "bulk-submit",
        "task_never_ends",
        raises=errors.PaidWorkOpen,
        settings={"deadline_seconds": 600},
    ),
    *(
        Fault(
            f"task excludes five numbers as {why}",
            BULK,
            "bulk-submit",
            "exclude",
            options={"count": 5, "as": why},
            settings=CARRIER_BATCH,
        )
        for why in ("other_country", "invalid", "no_code", "duplicate")
    ),
]

LINK = [
    Fault(f"result: {kind} {options or ''}".strip(), BULK, "result", kind, times, options)
    for kind, times, options in [
        ("reset_before", 2, {}),
        ("reset_after", 1, {}),
        ("html", 1, {}),
        ("link_expired", 1, {}),
        ("link_expired", 2, {"http": 404}),
        ("link_expired", 1, {"http": 410}),
        ("link_cut", 2, {}),
        ("link_expires_midway", 1, {}),
        ("wrong_size", 1, {}),
        ("slow", 1, {"seconds": 0.2}),
    ]
]

GOOD_FILES = [
    Fault(f"result file: {kind}", BULK, "result", kind, None)
    for kind in ("rows_doubled", "rows_foreign", "no_header", "stray_member")
]

BAD_FILES = [
    Fault(f"result file: {kind}", BULK, "result", kind, None, raises=errors.BadResultFile)
    for kind in (
        "rows_contradict",
        "wrong_columns",
        "not_a_table",
        "encrypted",
        "path_tricks",
        "bomb",
    )
]

MISSING_ROWS = [
    Fault("result file: rows missing once", BULK, "result", "rows_missing", 1, {"count": 7}),
    Fault(
        "result file: rows missing for good",
        BULK,
        "result",
        "rows_missing",
        None,
        {"count": 7},
        unknown=7,
    ),
]

ALL = [
    *LOST_CHECKS,
    *WRONG_CHECKS,
    *REFUSED_CHECKS,
    *BALANCE,
    *SUBMIT,
    *QUERY,
    *TASK,
    *LINK,
    *GOOD_FILES,
    *BAD_FILES,
    *MISSING_ROWS,
]
