"""The protocol without its transport: call → `Request`; (status, headers, body) → values.

Nothing here reads a clock, a socket or a file. Every reader takes what came back, whatever it
is, and returns values or raises a `ServiceError`; no other exception leaves it. The requests
are made in `calls` and stand here too, so that this module is the whole protocol.

The two shapes of a carrier result (spec, Resources and their fields) are read alike: a field
may stand in `extra` or beside it. See `lookup_of` for what tells found from unallocated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from carrier_enrich.errors import AnswerLost, UnexpectedAnswer
from carrier_enrich.model import (
    FIELDS,
    UNDETERMINED,
    BulkTask,
    Lookup,
    LookupStatus,
    TaskStatus,
    masked,
)
from carrier_enrich.wire.calls import (
    Request,
    balance,
    is_task_id,
    multi_check,
    numbers_of_file,
    query_bulk_task,
    single_check,
    submit_bulk_task,
    task_file,
)
from carrier_enrich.wire.envelope import data_of, integer, text

__all__ = [
    "Request",
    "balance",
    "lookup_of",
    "multi_check",
    "numbers_of_file",
    "query_bulk_task",
    "read_balance",
    "read_bulk_task",
    "read_multi_check",
    "read_single_check",
    "single_check",
    "submit_bulk_task",
    "task_file",
]

_UNDETERMINED_CODE = 42200
_STATES: Mapping[str | None, TaskStatus] = {state.value: state for state in TaskStatus}
_COUNTS = (
    "success_cnt",
    "failure_cnt",
    "submitted_lines",
    "invalid_cnt",
    "no_code_cnt",
    "other_country_cnt",
    "duplicate_cnt",
)


def read_single_check(
    status: int, headers: Mapping[str, str], body: bytes, number: int, now: float
) -> Lookup:
    """The answer to `single_check`; 42200 is the value undetermined, not an error.

    Args:
        now: seconds since the epoch, for a Retry-After that is a date.

    Raises:
        ServiceError: by the envelope's code (spec, Errors); AnswerLost where the answer did
            not come whole; UnexpectedAnswer where it speaks of another number or against the
            specification.
    """
    data = data_of(status, headers, body, now, also=_UNDETERMINED_CODE)
    if data is None:
        return UNDETERMINED
    answer = _object(data, "data")
    _same_number(answer, number, "the single check")
    return _lookup(answer)


def read_multi_check(
    status: int, headers: Mapping[str, str], body: bytes, numbers: Sequence[int], now: float
) -> list[Lookup]:
    """The answer to `multi_check`, aligned with `numbers`.

    Every entry must echo its number in its place (spec, Multi check result: same order, same
    length). A 42200 for the whole leaves every number undetermined, without a charge.

    Raises:
        ServiceError: as `read_single_check`.
    """
    data = data_of(status, headers, body, now, also=_UNDETERMINED_CODE)
    if data is None:
        return [UNDETERMINED] * len(numbers)
    answer = _object(data, "data")
    results = answer.get("results")
    if results is None:
        raise AnswerLost("the multi check's answer has no results")
    if not isinstance(results, list):
        raise UnexpectedAnswer("the multi check's results are no array")
    total = integer(answer.get("total"), "total")
    if len(results) != len(numbers) or total not in (None, len(numbers)):
        raise UnexpectedAnswer(
            f"the multi check of {len(numbers)} numbers has {len(results)} results, total {total}"
        )
    return [
        _multi_check_entry(entry, number, f"result {place}")
        for place, (entry, number) in enumerate(zip(results, numbers, strict=True), 1)
    ]


def read_bulk_task(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
    *,
    task_id: str | None = None,
) -> BulkTask:
    """The answer to `submit_bulk_task` and `query_bulk_task` (spec, Bulk task).

    Id and status must be there, since nothing can be done without them. A descriptive field
    that is left out is empty (a total: 0), for a task that is paid for must not be lost to it.

    Args:
        task_id: the id that was asked for, where there was one.

    Raises:
        ServiceError: as `read_single_check`.
    """
    answer = _object(data_of(status, headers, body, now), "data")
    raw_id = answer.get("id")
    found_id = text(str(raw_id) if type(raw_id) is int else raw_id, "id")
    state = text(answer.get("status"), "status")
    if found_id is None or not is_task_id(found_id) or task_id not in (None, found_id):
        raise UnexpectedAnswer("the bulk task's answer has no id, or another than was asked for")
    if state not in _STATES:
        raise UnexpectedAnswer("the bulk task's status is none of processing, success, failed")
    counts = {name: _count(answer, name) for name in _COUNTS}
    return BulkTask(
        id=found_id,
        status=_STATES[state],
        product=text(answer.get("product"), "product") or "",
        country=text(answer.get("country"), "country") or "",
        total=_count(answer, "total") or 0,
        created_at=text(answer.get("created_at"), "created_at") or "",
        result_url=text(answer.get("result_url"), "result_url"),
        preparing=_flag(answer, "preparing"),
        **counts,
    )


def read_balance(status: int, headers: Mapping[str, str], body: bytes, now: float) -> int:
    """The answer to `balance`: micros of USD.

    Raises:
        ServiceError: as `read_single_check`.
    """
    answer = _object(data_of(status, headers, body, now), "data")
    micros = integer(answer.get("balance_micros"), "balance_micros")
    if micros is None:
        raise AnswerLost("the balance's answer has no balance_micros")
    return micros


def lookup_of(
    texts: Mapping[str, str | None], *, registered: bool | None = None, exists: bool | None = None
) -> Lookup:
    """What the service says of one number, in whichever shape it says it.

    `exists` false is undetermined; `registered` decides between found and unallocated. Shape B
    and the result files have no such flag: there, a result in which nothing stands but the
    country code is unallocated, since the country follows from the number alone.

    Args:
        texts: by the names of `FIELDS`; an empty or blank text is None already.
    """
    if exists is False:
        return UNDETERMINED
    if registered is None:
        registered = any(texts.get(name) for name in FIELDS if name != "country_code")
    status = LookupStatus.FOUND if registered else LookupStatus.UNALLOCATED
    return Lookup(status, **{name: texts.get(name) for name in FIELDS})


def _multi_check_entry(value: object, number: int, where: str) -> Lookup:
    entry = _object(value, where)
    _same_number(entry, number, where)
    exists = _flag(entry, "exists")
    if exists is None:
        raise UnexpectedAnswer(f"{where} does not say whether it exists")
    return _lookup(entry) if exists else UNDETERMINED


def _lookup(answer: Mapping[str, Any]) -> Lookup:
    extra = answer.get("extra")
    nested = {} if extra is None else _object(extra, "extra")
    texts: dict[str, str | None] = {}
    for name in FIELDS:
        inner, outer = text(nested.get(name), name), text(answer.get(name), name)
        if inner and outer and inner != outer:
            raise UnexpectedAnswer(f"{name} is given twice, differently")
        texts[name] = inner or outer
    return lookup_of(texts, registered=_flag(answer, "registered"))


def _same_number(answer: Mapping[str, Any], number: int, where: str) -> None:
    echo = answer.get("identifier")
    if type(echo) is int:
        echo = str(echo)
    # The server normalises identifiers, to a form that is not shown: only digits are compared.
    if not isinstance(echo, str) or re.sub("[^0-9]", "", echo) != str(number):
        raise UnexpectedAnswer(f"{where} is not about {masked(number)}, which was asked for")


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UnexpectedAnswer(f"{what} is no object")
    return value


def _flag(answer: Mapping[str, Any], name: str) -> bool | None:
    value = answer.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise UnexpectedAnswer(f"{name} is no boolean")


def _count(answer: Mapping[str, Any], name: str) -> int | None:
    value = integer(answer.get(name), name)
    if value is not None and value < 0:
        raise UnexpectedAnswer(f"{name} is below zero")
    return value
