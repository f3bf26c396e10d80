"""The controls under ``/sandbox/``: outside of the specification, without a key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from carrier_enrich.sandbox.fault_kinds import fault_of
from carrier_enrich.sandbox.replies import Reply, plain
from carrier_enrich.sandbox.report import charges_of, report_of
from carrier_enrich.sandbox.service import Service, account_of

Handler = Callable[[Service, Mapping[str, str], Mapping[str, Any]], Awaitable[Any]]


async def handled(
    handle: Handler, service: Service, query: Mapping[str, str], body: bytes
) -> Reply:
    """What a control answers: JSON, or status 400 with an error that says what is wrong."""
    try:
        values = json.loads(body or b"{}")
        if not isinstance(values, Mapping):
            return await _json({"error": "the body must be a JSON object"}, status=400)
        return await _json(await handle(service, query, values))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        return await _json({"error": str(error)}, status=400)


async def _report(service: Service, query: Mapping[str, str], _: Mapping[str, Any]) -> Any:
    service.bulk.settle()
    summary = query.get("summary", "0") not in ("", "0")
    charges = await asyncio.to_thread(charges_of, service.store)
    return report_of(service, charges, summary=summary)


async def _requests(service: Service, _: Mapping[str, str], __: Mapping[str, Any]) -> Any:
    return {"requests": service.log.as_json()}


async def _faults(service: Service, _: Mapping[str, str], values: Mapping[str, Any]) -> Any:
    asked = values.get("faults", [values])
    faults = [fault_of(fault) for fault in asked]
    for fault in faults:
        service.faults.add(fault)
    return {"faults": service.faults.as_json()}


async def _clear_faults(service: Service, _: Mapping[str, str], __: Mapping[str, Any]) -> Any:
    service.faults.clear()
    return {"faults": []}


async def _balance(service: Service, _: Mapping[str, str], values: Mapping[str, Any]) -> Any:
    micros = values["micros"]
    if type(micros) is not int or micros < 0:
        raise ValueError("micros must be a whole number, not negative")
    account = account_of(service.config.api_keys[values.get("account", 0)])
    # what checks in flight may cost is theirs already
    service.store.set_balance(account, micros + service.checks.held(account))
    return {"balance_micros": micros}


async def _config(service: Service, _: Mapping[str, str], values: Mapping[str, Any]) -> Any:
    service.config = service.config.changed(values)
    shown = service.config.as_json()
    return {name: value for name, value in shown.items() if name != "api_keys"}


async def _finish(service: Service, _: Mapping[str, str], __: Mapping[str, Any]) -> Any:
    await service.bulk.finish()
    return {"open": len(service.store.open_tasks())}


async def _json(value: Any, *, status: int = 200) -> Reply:
    # half a million charges take a while, and other callers shall not wait for them
    body = await asyncio.to_thread(lambda: json.dumps(value).encode())
    return plain(body, "application/json", status=status)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "report", _report),
    ("GET", "requests", _requests),
    ("POST", "faults", _faults),
    ("DELETE", "faults", _clear_faults),
    ("POST", "balance", _balance),
    ("POST", "config", _config),
    ("POST", "finish", _finish),
)
