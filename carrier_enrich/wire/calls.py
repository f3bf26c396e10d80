"""Call → `Request`: what is sent, as data. Pure; the client adds base URL and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from carrier_enrich.errors import BadInput
from carrier_enrich.model import BULK_MAX_BYTES, MULTI_CHECK_MAX, Product, e164

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

#: Seconds that the client waits for an answer: a little above the service's own time limits
#: (spec, Limits: 60 and 300), so that the service answers first.
SINGLE_CHECK_SECONDS = 65.0
MULTI_CHECK_SECONDS = 310.0
UPLOAD_SECONDS = 300.0
READ_SECONDS = 30.0

_CARRIER = "carrier"
_JSON = {"Content-Type": "application/json"}
_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,128}")
_COUNTRY = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, without the base URL and without the key.

    Attributes:
        path: below the base URL, quoted.
        json: the JSON body, None for none.
        form: fields of a multipart body, in the order in which they are sent.
        file: the content of the multipart field `file`, sent after every other field.
        read_seconds: how long the client waits for the answer.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object | None = field(default=None, repr=False)
    form: tuple[tuple[str, str], ...] = ()
    file: bytes | None = field(default=None, repr=False)
    read_seconds: float = READ_SECONDS


def single_check(number: int) -> Request:
    """One number, answered in the response (spec, POST /api/v1/check)."""
    body = {"service_type": _CARRIER, "identifier": e164(number)}
    return Request("POST", "/api/v1/check", _JSON, json=body, read_seconds=SINGLE_CHECK_SECONDS)


def multi_check(numbers: Sequence[int]) -> Request:
    """1 to 100 distinct numbers, answered in their order (spec, POST /api/v1/batch-check).

    Raises:
        BadInput: no number, more than 100, or one twice (each would be billed).
    """
    if not 1 <= len(numbers) <= MULTI_CHECK_MAX:
        raise BadInput(f"a multi check takes 1 to {MULTI_CHECK_MAX} numbers, not {len(numbers)}")
    if len(set(numbers)) != len(numbers):
        raise BadInput("a multi check takes distinct numbers: each one is billed")
    body = {"service_type": _CARRIER, "identifiers": [e164(number) for number in numbers]}
    return Request(
        "POST", "/api/v1/batch-check", _JSON, json=body, read_seconds=MULTI_CHECK_SECONDS
    )


def submit_bulk_task(product: Product, country: str, file: bytes, idempotency_key: str) -> Request:
    """A file of numbers; `country` precedes it in the body (spec, POST /api/v1/bulk-tasks).

    Args:
        country: ISO 3166-1 alpha-2, in capitals.
        file: see `task_file`; at most 20 MB.
        idempotency_key: 1 to 128 printable ASCII characters; the same key returns the original
            task instead of creating a second.

    Raises:
        BadInput: an argument outside these limits.
    """
    if not _COUNTRY.fullmatch(country):
        raise BadInput(f"a bulk task's country is an ISO 3166-1 alpha-2 code, not {country!r}")
    if not _IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        raise BadInput("an idempotency key is 1 to 128 printable ASCII characters")
    if not 1 <= len(file) <= BULK_MAX_BYTES:
        raise BadInput(f"a bulk file has 1 to {BULK_MAX_BYTES:,} bytes, not {len(file):,}")
    return Request(
        "POST",
        "/api/v1/bulk-tasks",
        {"Idempotency-Key": idempotency_key},
        form=(("service_type", product.value), ("country", country)),
        file=file,
        read_seconds=UPLOAD_SECONDS,
    )


def query_bulk_task(task_id: str) -> Request:
    """A bulk task by its id (spec, GET /api/v1/bulk-tasks/{id}).

    Raises:
        BadInput: an id that can't stand as one segment of a path.
    """
    if not is_task_id(task_id):
        raise BadInput("a bulk task id is printable text, and more than dots")
    return Request("GET", f"/api/v1/bulk-tasks/{quote(task_id, safe='')}")


def is_task_id(value: str) -> bool:
    """Whether a text can stand as one segment of a path: "." and ".." would name another."""
    return bool(value.strip(".")) and value.isprintable()


def balance() -> Request:
    """The account balance; free of charge (spec, GET /api/v1/balance)."""
    return Request("GET", "/api/v1/balance")


def task_file(numbers: Sequence[int] | Int64s) -> bytes:
    """The file that a bulk task uploads: one E.164 number per line."""
    values: Sequence[int] = numbers if isinstance(numbers, Sequence) else numbers.tolist()
    return "".join([f"+{number}\n" for number in values]).encode()


def numbers_of_file(file: bytes) -> Int64s:
    """The numbers of a `task_file`, in its order.

    Raises:
        BadInput: bytes that `task_file` does not write.
    """
    import numpy as np

    try:
        numbers = np.fromiter(map(int, file.split()), np.int64)
    except (ValueError, OverflowError):
        numbers = np.empty(0, np.int64)
    if task_file(numbers) != file:
        raise BadInput("not a bulk file: one E.164 number per line")
    return numbers
