"""What each asset does: a few lines over the engine, and what people see of it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from carrier_enrich import files, frames
from carrier_enrich.dagster import joining, metadata
from carrier_enrich.dagster.stages import (
    Lane,
    Request,
    answers_of,
    answers_table,
    crosswalk_of,
    facts_of,
    joined,
    lane_of,
    planned,
    readable,
    with_facts,
)
from carrier_enrich.dagster.step import Step
from carrier_enrich.dagster.undertaking import Undertaking, opened, report
from carrier_enrich.dagster.watching import Watching, interruptions_told, observe_balance, told
from carrier_enrich.engine import ALL_KINDS, CHECKS, TASKS
from carrier_enrich.errors import PlanChanged
from carrier_enrich.ledger import Budget
from carrier_enrich.model import CallKind, usd
from carrier_enrich.planning import Plan


def read_balance(step: Step) -> dg.MaterializeResult[int]:
    """The balance of the account (spec, Balance)."""
    with told(), opened(step.carrier.settings(), time.time) as account:
        micros = account.balance()
        sandbox = account.settings.is_loopback
    return dg.MaterializeResult(
        value=micros,
        metadata={**metadata.banner(sandbox=sandbox), **metadata.amount("balance", micros)},
    )


def plan(step: Step, export: Any, request: Request) -> dg.MaterializeResult[None]:
    """What the export needs; its check fails where that is more than may be spent."""
    undertaking = step.context.run.run_id
    with told():
        settings = step.carrier.settings()
        if request.max_cost is None:
            request = replace(request, max_cost=settings.max_cost)
        walk = crosswalk_of(readable(export), request)
        made, table = planned(walk, request, settings, undertaking, time.time())
        path = step.write(undertaking, step.keys.plan, table)
    if made.balance is not None:
        observe_balance(step, made.balance, sandbox=made.sandbox)
    step.context.log.info(str(made))
    return dg.MaterializeResult(
        metadata={**metadata.of_plan(made), "file": path},
        check_results=[_check_cost(made)],
    )


def send_checks(step: Step) -> dg.MaterializeResult[None]:
    """Single and multi checks for the numbers that are too few for bulk tasks."""
    return _spend(step, step.keys.checks, Lane.CHECKS, CHECKS)


def submit_tasks(step: Step) -> dg.MaterializeResult[None]:
    """Bulk tasks for the others, submitted and not waited for."""
    return _spend(step, step.keys.submission, Lane.BULK, TASKS, wait_for_tasks=False)


def collect_tasks(step: Step) -> dg.MaterializeResult[None]:
    """Poll, download and record the tasks; then look again at what they left out."""
    return _spend(step, step.keys.results, Lane.BULK, ALL_KINDS)


def _spend(
    step: Step,
    key: dg.AssetKey,
    lane: Lane,
    buys: frozenset[CallKind],
    *,
    wait_for_tasks: bool = True,
) -> dg.MaterializeResult[None]:
    with told():
        table = step.read_plan()
        undertaking = Undertaking.of(facts_of(table))
        numbers, countries = lane_of(table, lane)
        with opened(step.carrier.settings(), time.time) as account:
            sandbox = account.settings.is_loopback
            with interruptions_told(step, account):
                outcome = account.engine.run(
                    numbers,
                    countries,
                    budget=Budget(undertaking.name, undertaking.request.max_cost),
                    buys=buys,
                    wait_for_tasks=wait_for_tasks,
                    watch=Watching(step, time.time, sandbox=sandbox),
                )
        sent = report(outcome)
        answers = with_facts(answers_table(outcome.answers), {"report": sent})
        path = step.write(undertaking.name, key, answers)
    left = [p for p in outcome.open if p.kind is CallKind.BULK_TASK]
    return dg.MaterializeResult(
        metadata={
            **metadata.of_report(sent, sandbox=sandbox),
            "distinct": len(numbers),
            "open_bulk_tasks": len(left),
            **({"bulk_tasks": metadata.of_tasks(left)} if left else {}),
            "file": path,
        }
    )


def enrich(
    step: Step, export: Any, target: Path | None, min_match_rate: float
) -> dg.MaterializeResult[Any]:
    """The answers beside the rows, held against the export and against the money.

    Args:
        target: where an enriched file goes, if not among the undertaking's tables.
    """
    keys = step.keys
    with told():
        facts = facts_of(step.read_plan())
        undertaking = Undertaking.of(facts)
        request = undertaking.request
        stages = [
            step.read(undertaking.name, key) for key in (keys.checks, keys.submission, keys.results)
        ]
        frame = readable(export)
        walk = crosswalk_of(frame, request)
        if walk.digest != facts["plan"]["digest"]:
            raise PlanChanged("the export is not what was planned for: materialize lookup_plan")
        with opened(step.carrier.settings(), time.time) as account:
            known = undertaking.recall(account, walk)
            answers = joined(*map(answers_of, stages), known)
            reports = [facts_of(stage)["report"] for stage in stages]
            receipt = undertaking.receipt(account, walk, answers, reports)
        enriched = frames.join_back(
            frame, walk, answers, columns=request.columns, prefix=request.prefix
        )
        is_file = isinstance(export, (str, Path))
        if is_file:
            target = target or step.path(undertaking.name, keys.enriched)
            target.parent.mkdir(parents=True, exist_ok=True)
            files.write_table(enriched, target)
    if receipt.balance_after is not None:
        observe_balance(step, receipt.balance_after, sandbox=receipt.sandbox)
    step.context.log.info(str(receipt))
    return dg.MaterializeResult(
        value=target if is_file else enriched,
        metadata={
            **metadata.of_enriched(frame, enriched, request, keys.export, receipt),
            **({"file": dg.MetadataValue.path(target)} if is_file and target else {}),
        },
        check_results=[
            _check_rows(frame, enriched),
            dg.AssetCheckResult(
                check_name="receipt_adds_up",
                passed=receipt.adds_up,
                metadata={"problems": list(receipt.problems())},
            ),
            _check_match_rate(receipt.match_rate, min_match_rate),
        ],
    )


def _check_cost(made: Plan) -> dg.AssetCheckResult:
    cost, cap, balance = made.highest_cost, made.cap, made.balance
    if cost is None:
        text = "a price is not known" + (", so the cap can't be kept" if cap is not None else "")
    else:
        limits = {"cap": cap, "balance": balance}
        known = [f"{name} {usd(limit)}" for name, limit in limits.items() if limit is not None]
        text = " / ".join([f"at most {usd(cost)}", *known])
    return dg.AssetCheckResult(
        check_name="cost_within_balance",
        passed=made.fits,
        description=text,
        metadata={
            **metadata.amount("highest_cost", cost),
            **metadata.amount("balance", balance),
            **metadata.amount("cap", cap),
        },
    )


def _check_rows(frame: Any, enriched: Any) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        check_name="rows_preserved",
        passed=joining.is_preserved(frame, enriched),
        description="every row and every column of the export, in its order",
        metadata={"rows": len(enriched), "rows_of_export": len(frame)},
    )


def _check_match_rate(rate: float | None, least: float) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        check_name="match_rate",
        passed=rate is None or rate >= least,
        severity=dg.AssetCheckSeverity.WARN,
        description="share of the phone cells with a value whose carrier data was found",
        metadata={"least": least, **({} if rate is None else {"match_rate": round(rate, 6)})},
    )
