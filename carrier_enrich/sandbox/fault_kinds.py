"""The table of faults: what each kind does to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from typing import Any

from carrier_enrich.sandbox.faults import ENDPOINTS, Fault, Stage
from carrier_enrich.sandbox.replies import Reply, enveloped, plain
from carrier_enrich.sandbox.spoiled_files import FILE_KINDS
from carrier_enrich.sandbox.task_scripts import EXCLUSIONS

_API = ENDPOINTS - {"result"}
_CHECKS = frozenset({"check", "batch-check"})
_MULTI = frozenset({"batch-check"})
_SUBMIT = frozenset({"bulk-submit"})
_TASK = frozenset({"bulk-submit", "bulk-query"})
_RESULT = frozenset({"result"})

_HTML = b"<!doctype html><html><head><title>Sandbox</title></head><body><h1>Bad gateway</h1></body>"


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault may need to know: seconds since the epoch, other origin, form of dates."""

    now: float
    elsewhere: str
    path: str
    retry_after_form: str


#: What becomes of an answer; of none (None) where the fault strikes before there is one.
Effect = Callable[[Reply | None, Mapping[str, Any], Scene], Reply]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault: where and when it strikes, its options with defaults, what it does."""

    stage: Stage
    on: frozenset[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    effect: Effect | None = None


def fault_of(asked: Mapping[str, Any]) -> Fault:
    """A fault from its JSON.

    Raises:
        ValueError: it can't be scripted; the message says what can.
    """
    options = dict(asked)
    on, name = options.pop("on", None), options.pop("kind", None)
    times, after = options.pop("times", 1), options.pop("after", 0)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"no such kind of fault; known: {', '.join(sorted(KINDS))}")
    if on not in kind.on:
        raise ValueError(f"{name} can be on: {', '.join(sorted(kind.on))}")
    unknown = options.keys() - kind.options.keys()
    if unknown:
        known = ", ".join(kind.options) or "none"
        raise ValueError(f"{name} has no option {', '.join(sorted(unknown))}; known: {known}")
    if options.get("as", EXCLUSIONS[0]) not in EXCLUSIONS:
        raise ValueError(f"as must be one of {', '.join(EXCLUSIONS)}")
    if (times is not None and type(times) is not int) or type(after) is not int:
        raise ValueError("times must be a whole number or null, after a whole number")
    complete = {**kind.options, **options}
    return Fault(on, name, _stage(kind, on, complete), complete, times, after)


def spoiled(fault: Fault, reply: Reply | None, scene: Scene) -> Reply:
    """The answer that a fault makes of an answer, or of none."""
    effect = KINDS[fault.kind].effect
    if effect is None:
        raise ValueError(f"{fault.kind} does nothing to an answer")
    return effect(reply, fault.options, scene)


def _stage(kind: Kind, on: str, options: Mapping[str, Any]) -> Stage:
    if kind.stage is Stage.TASK and on == "bulk-query":
        return Stage.AFTER
    if options.get("processed") or options.get("drip"):
        return Stage.AFTER
    return kind.stage


def _reset(_reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    return Reply(0, (), 0, {}, reset=True)


def _html(_reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    return plain(_HTML, "text/html", status=options["http"])


def _empty(_reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    return plain(b"", "application/json", status=options["http"])


def _cut(reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    whole = _given(reply)
    body = b"".join(whole.body)
    kept = body[: int(len(body) * options["keep"])]
    length = len(body) if options["declare"] == "whole" else len(kept)
    return replace(whole, body=(kept,), length=length)


def _code(_reply: Reply | None, options: Mapping[str, Any], scene: Scene) -> Reply:
    retry_after = options["retry_after"]
    if isinstance(retry_after, (int, float)):
        form = options["retry_after_form"] or scene.retry_after_form
        retry_after = retry_after_text(retry_after, form, scene.now)
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    envelope = {"code": options["code"], "msg": options["msg"], "data": None}
    return enveloped(envelope, status=options["http"], headers=headers)


def _redirect(_reply: Reply | None, options: Mapping[str, Any], scene: Scene) -> Reply:
    location = options["location"] or scene.elsewhere + scene.path
    return plain(b"", "text/plain", status=options["http"], headers={"Location": location})


def _drip(reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    return replace(_given(reply), drip_seconds=options["seconds"])


def _data_null(reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    return enveloped({**_envelope(reply), "data": None})


def _data_missing(reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    return enveloped({k: v for k, v in _envelope(reply).items() if k != "data"})


def _wrong_length(reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    results = _results(reply)
    if options["by"] < 0:
        return _with_results(reply, results[: options["by"]])
    return _with_results(reply, results + results[-1:] * options["by"])


def _wrong_echo(reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    data = _envelope(reply)["data"]
    if "results" in data:
        results = _results(reply)
        return _with_results(reply, [_renumbered(results[0]), *results[1:]])
    return enveloped({**_envelope(reply), "data": _renumbered(data)})


def _shuffled(reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    return _with_results(reply, _results(reply)[::-1])


def _doubled(reply: Reply | None, _options: Mapping[str, Any], _scene: Scene) -> Reply:
    results = _results(reply)
    return _with_results(reply, [*results[:-1], results[0]])


def _still_preparing(reply: Reply | None, options: Mapping[str, Any], _scene: Scene) -> Reply:
    data = dict(_envelope(reply)["data"])
    return enveloped({**_envelope(reply), "data": unsettled(data, options["status"])})


def unsettled(data: Mapping[str, Any], status: str) -> dict[str, Any]:
    """A task as it looks finished while its counts are still moving."""
    half = data["total"] // 2
    changed = {"status": status, "preparing": True, "success_cnt": half, "failure_cnt": 0}
    return {k: v for k, v in data.items() if k != "result_url" or status == "success"} | changed


def retry_after_text(seconds: float, form: str, now: float) -> str:
    """A ``Retry-After`` header: whole seconds, or the date that is so far from now."""
    whole = max(1, -(-int(seconds * 1000) // 1000)) if seconds else 0
    return formatdate(now + whole, usegmt=True) if form == "date" else str(whole)


def _given(reply: Reply | None) -> Reply:
    if reply is None:
        raise ValueError("this fault needs an answer to spoil")
    return reply


def _envelope(reply: Reply | None) -> dict[str, Any]:
    return dict(_given(reply).envelope or {})


def _results(reply: Reply | None) -> list[dict[str, Any]]:
    return list(_envelope(reply)["data"]["results"])


def _with_results(reply: Reply | None, results: list[dict[str, Any]]) -> Reply:
    envelope = _envelope(reply)
    return enveloped({**envelope, "data": {**envelope["data"], "results": results}})


def _renumbered(entry: Mapping[str, Any]) -> dict[str, Any]:
    identifier = str(entry["identifier"])
    return {**entry, "identifier": identifier[:-1] + ("1" if identifier[-1] == "0" else "0")}


#: Whether the request was served and charged before its answer was replaced.
_PROCESSED = {"processed": False}
#: Of a scripted error: a number of seconds is told in the form asked for, a text as it is.
_ENVELOPE = {"msg": "scripted", "http": 200, "retry_after": None, "retry_after_form": None}

KINDS: Mapping[str, Kind] = {
    "reset_before": Kind(Stage.BEFORE, ENDPOINTS, {}, _reset),
    "reset_after": Kind(Stage.AFTER, ENDPOINTS, {}, _reset),
    "html": Kind(Stage.BEFORE, ENDPOINTS, {"http": 502, **_PROCESSED}, _html),
    "empty": Kind(Stage.BEFORE, ENDPOINTS, {"http": 200, "processed": True}, _empty),
    "cut": Kind(Stage.AFTER, _API, {"keep": 0.5, "declare": "cut"}, _cut),
    "data_null": Kind(Stage.AFTER, _API, {}, _data_null),
    "data_missing": Kind(Stage.AFTER, _API, {}, _data_missing),
    "wrong_length": Kind(Stage.AFTER, _MULTI, {"by": -1}, _wrong_length),
    "wrong_echo": Kind(Stage.AFTER, _CHECKS, {}, _wrong_echo),
    "shuffled": Kind(Stage.AFTER, _MULTI, {}, _shuffled),
    "doubled": Kind(Stage.AFTER, _MULTI, {}, _doubled),
    "code": Kind(Stage.BEFORE, _API, {"code": 50300, **_ENVELOPE, **_PROCESSED}, _code),
    "unknown_code": Kind(Stage.BEFORE, _API, {"code": 59999, **_ENVELOPE, **_PROCESSED}, _code),
    "redirect": Kind(
        Stage.BEFORE, ENDPOINTS, {"http": 307, "location": None, **_PROCESSED}, _redirect
    ),
    "slow": Kind(Stage.DELAY, ENDPOINTS, {"seconds": 1.0, "drip": False}, _drip),
    "task_fails": Kind(Stage.TASK, _SUBMIT),
    "task_never_ends": Kind(Stage.TASK, _SUBMIT),
    "preparing": Kind(Stage.TASK, _TASK, {"polls": 1, "status": "processing"}, _still_preparing),
    "exclude": Kind(Stage.TASK, _SUBMIT, {"count": 1, "as": EXCLUSIONS[0]}),
    **{name: Kind(Stage.FILE, _RESULT, options) for name, options in FILE_KINDS.items()},
}
