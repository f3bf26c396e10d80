"""What a sandbox has seen, as figures: for tests, demos and curious people."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

from carrier_enrich.sandbox.service import Service, account_of
from carrier_enrich.sandbox.store import Store, StoredTask


@dataclass(frozen=True, slots=True)
class Charges:
    """How often each number was charged, by single and multi checks and by bulk tasks."""

    by_checks: Counter[int]
    by_tasks: Counter[int]


def charges_of(store: Store) -> Charges:
    """The charges so far; the part of a report that takes long where numbers are many."""
    by_tasks: Counter[int] = Counter()
    for task in store.all_tasks():
        if task.status == "success":
            by_tasks.update(store.answered(task.id))
    return Charges(Counter(store.charges()), by_tasks)


def report_of(service: Service, charges: Charges, *, summary: bool) -> dict[str, Any]:
    """The report; with `summary` without the list of charges per number."""
    store, log, slots = service.store, service.log, service.checks.slots
    tasks = store.all_tasks()
    accounts = store.accounts()
    spent = store.spent()
    held = {account: service.checks.held(account) for account in accounts}
    open_micros: Counter[str] = Counter()
    for task in tasks:
        open_micros[task.account] += task.reserved
    gaps = [task.shortest_gap for task in tasks if task.shortest_gap is not None]
    report: dict[str, Any] = {
        "sandbox": True,
        "requests": dict(log.by_endpoint),
        "refusals": {str(code): count for code, count in sorted(service.refusals.items())},
        "accounts": [
            {
                "granted_micros": accounts[account][0],
                "balance_micros": accounts[account][1] - held[account],
                "reserved_micros": open_micros[account] + held[account],
            }
            for account in map(account_of, service.config.api_keys)
        ],
        "balance_micros": sum(b for _, b in accounts.values()) - sum(held.values()),
        "granted_micros": sum(granted for granted, _ in accounts.values()),
        "reserved_micros": sum(open_micros.values()) + sum(held.values()),
        "charged_micros": sum(spent.values()),
        "charged_micros_by_kind": spent,
        "refunded_micros": sum(task.refunded for task in tasks),
        "charged": _summary(charges),
        "limits": {
            "max_in_flight": slots.most_in_flight,
            "max_multis_at_once": slots.most_multis,
            "refused_42901": slots.refused,
            "early_polls": sum(task.early_polls for task in tasks),
            "shortest_poll_gap": min(gaps, default=None),
        },
        "keys": {
            "sent_to_results": log.keys_sent_to_results,
            "sent_elsewhere": log.keys_sent_elsewhere,
            "out_of_place": log.keys_out_of_place,
        },
        "tasks": [_task(task) for task in tasks],
        "faults": service.faults.as_json(),
    }
    if not summary:
        both = charges.by_checks + charges.by_tasks
        report["charges"] = {str(number): times for number, times in both.items()}
    return report


def _summary(charges: Charges) -> dict[str, int]:
    by_checks, by_tasks = charges.by_checks, charges.by_tasks
    in_both = by_checks.keys() & by_tasks.keys()
    more = sum(n > 1 for n in by_checks.values()) + sum(n > 1 for n in by_tasks.values())
    more += sum(by_checks[number] == 1 == by_tasks[number] for number in in_both)
    more -= sum(by_checks[number] > 1 < by_tasks[number] for number in in_both)
    return {
        "numbers": len(by_checks) + len(by_tasks) - len(in_both),
        "numbers_by_checks": len(by_checks),
        "numbers_by_tasks": len(by_tasks),
        "numbers_more_than_once": more,
        "charges": by_checks.total() + by_tasks.total(),
        "charges_by_checks": by_checks.total(),
        "charges_by_tasks": by_tasks.total(),
    }


def _task(task: StoredTask) -> dict[str, Any]:
    digest = None if task.key is None else hashlib.sha256(task.key.encode()).hexdigest()
    return {
        "id": task.id,
        "product": task.product,
        "country": task.country,
        "status": task.status,
        "total": task.total,
        "submitted_lines": task.submitted_lines,
        "success_cnt": task.success_cnt,
        "failure_cnt": task.failure_cnt,
        "idempotency_key_digest": digest,
        "submissions": task.submissions,
        "polls": task.polls,
        "early_polls": task.early_polls,
        "shortest_poll_gap": task.shortest_gap,
        "reserved_micros": task.reserved,
        "charged_micros": task.charged,
        "refunded_micros": task.refunded,
    }
