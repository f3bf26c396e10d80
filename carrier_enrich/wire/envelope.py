"""The envelope around every response: `{ code, msg, data }` (spec, What the service does).

Pure: (status, headers, body) → the `data`, or the error that the code stands for. The HTTP
status decides nothing where there is a code; it is only named where there is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NoReturn

from carrier_enrich.errors import (
    AnswerLost,
    BadApiKey,
    Busy,
    CheckTimedOut,
    OutOfBalance,
    QuotaUsedUp,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
    UnexpectedAnswer,
)

_ERRORS: Mapping[int, tuple[type[ServiceError], str]] = {
    40000: (RequestRefused, "unsupported service_type, or conflicting fields"),
    40001: (RequestRefused, "invalid JSON body"),
    40002: (RequestRefused, "invalid phone number"),
    40100: (BadApiKey, "the API key is missing or invalid"),
    40200: (OutOfBalance, "the balance does not cover the call"),
    42900: (QuotaUsedUp, "the usage quota is used up, or too many orders are unfinished"),
    42901: (Busy, "every slot for requests in flight is taken"),
    50303: (Busy, "the platform is at its limit of checks"),
    50400: (CheckTimedOut, "the check passed the service's time limit"),
    50300: (ServiceUnavailable, "the lookup service is under maintenance"),
}

_MSG_MAX = 200
_INTEGER_MAX = 2**63 - 1
# Digits with a few separators between them, as people write phone numbers.
_DIGITS = re.compile(r"\d(?:[\s().+/-]{0,3}\d){4,}")
_TOKEN = re.compile(r"[\w-]{20,}")
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def data_of(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
    *,
    also: int | None = None,
) -> object:
    """The `data` of a response that succeeded.

    Args:
        now: seconds since the epoch, for a Retry-After that is a date.
        also: a code beside 0 that is no error; it has no data, so None is returned.

    Raises:
        ServiceError: the one that the code stands for (spec, Errors); AnswerLost for what is
            no envelope or has no data; UnexpectedAnswer for a code that is not known.
    """
    envelope = _envelope(body)
    retry_after = retry_after_of(headers, now)
    if envelope is None:
        kind = redacted(_header(headers, "content-type") or "no content type")
        raise AnswerLost(
            f"no envelope came: HTTP {status}, {kind}, {len(body)} bytes", retry_after=retry_after
        )
    code, msg, data = envelope
    if also is not None and code == also:
        return None
    if code != 0:
        _refuse(code, msg, retry_after)
    if data is None:
        raise AnswerLost("the envelope came without its data", code=code, retry_after=retry_after)
    return data


def retry_after_of(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from a Retry-After of seconds or of a date; None without a usable one."""
    value = (_header(headers, "retry-after") or "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        # A date without a zone is one in UTC (RFC 9110, HTTP-date).
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def redacted(message: str) -> str:
    """A foreign text that may stand in an error: no phone number, no token, 200 characters."""
    printable = "".join(char if char.isprintable() else " " for char in message[: 20 * _MSG_MAX])
    return _TOKEN.sub("***", _DIGITS.sub("***", printable)).strip()[:_MSG_MAX]


def text(value: object, name: str) -> str | None:
    """A text of an answer; None where it is empty, blank or null.

    Raises:
        UnexpectedAnswer: not a text.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise UnexpectedAnswer(f"{name} is no text")
    return storable(value)


def storable(value: str) -> str | None:
    """The text as a database and a Parquet file can hold it; None where nothing is left.

    Lone surrogates (JSON can spell them) are replaced and NUL is left out.
    """
    if not value.isprintable():
        value = value.encode("utf-8", "replace").decode().replace("\x00", "")
    return value if value.strip() else None


def integer(value: object, name: str) -> int | None:
    """An integer of an answer, also one written as text or as an integral float.

    Raises:
        UnexpectedAnswer: anything else.
    """
    if value is None:
        return None
    found: int | None = None
    match value:
        case bool():
            pass
        case int():
            found = value
        case float() if math.isfinite(value) and value.is_integer():
            found = int(value)
        case str() if _INTEGER.fullmatch(value):
            found = int(value)
    if found is None or not -_INTEGER_MAX <= found <= _INTEGER_MAX:
        raise UnexpectedAnswer(f"{name} is no integer of 64 bits")
    return found


class _Twice(ValueError):
    """An object of the JSON text names a field twice: which one holds can't be known."""


def _envelope(body: bytes) -> tuple[int, str, object] | None:
    try:
        value = json.loads(body, object_pairs_hook=_object, parse_constant=_no_number)
    except _Twice:
        raise UnexpectedAnswer("the answer names a field twice in one object") from None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    try:
        code = integer(value.get("code"), "code")
    except UnexpectedAnswer:
        return None
    msg = value.get("msg")
    return None if code is None else (code, msg if isinstance(msg, str) else "", value.get("data"))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse(code: int, msg: str, retry_after: float | None) -> NoReturn:
    error, meaning = _ERRORS.get(code, (UnexpectedAnswer, "a code that is not specified"))
    said = redacted(msg)
    message = f"{code}: {meaning}" + (f" (the service says: {said})" if said else "")
    raise error(message, code=code, retry_after=retry_after)


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((value for key, value in headers.items() if key.lower() == name), None)
