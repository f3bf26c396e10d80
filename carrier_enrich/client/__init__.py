"""A client of the service: sends one call, returns values. It repeats nothing by itself."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import httpx

from carrier_enrich import wire
from carrier_enrich.client.connection import CONNECT_SECONDS, HEADERS, LIMITS, Watchdog, guarded
from carrier_enrich.client.download import download
from carrier_enrich.errors import AnswerLost, BadInput, LinkExpired, ServiceError
from carrier_enrich.model import BulkTask, Lookup, Product
from carrier_enrich.settings import Settings

T = TypeVar("T")

#: Bytes of the longest answer that is read: a multi check has about 30 kB.
ANSWER_MAX_BYTES = 8_000_000

#: Seconds that an exchange may take in all beyond its read limit.
GRACE_SECONDS = 5.0

_E164 = re.compile(r"\+[1-9][0-9]{1,14}", re.ASCII)
_E164_MAX = 10**15

# Links on this machine are the sandbox's; a proxy elsewhere could not reach them.
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


class CarrierClient:
    """The five endpoints and the download of results. Safe to use from several threads.

    The key goes to the base URL's origin only: redirects of API calls are not followed, and
    results are downloaded by a second client that does not know it. Proxies and certificates
    are taken from the environment as usual (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE), a .netrc
    never; a call over plain http passes by proxies, which could read the key.

    Args:
        base_url: without ``/api/v1``.
        api_key: shared by all endpoints (spec, Authentication).
        transport: sends the requests instead of the network.
        clock: seconds since the epoch, to read a Retry-After that is a date.

    Raises:
        BadSettings: a base URL or a key that can't be used.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # Whether plain http is allowed was decided where the settings were made.
        checked = Settings(base_url=base_url, api_key=api_key, allow_plain_http=True).required()
        self._base_url = checked.base_url
        self._key = api_key
        self._clock = clock
        tls = httpx.create_ssl_context()
        self._api = httpx.Client(
            headers={**HEADERS, "X-API-Key": api_key},
            verify=tls,
            limits=LIMITS,
            transport=transport,
            mounts={"http://": transport},
        )
        self._links = httpx.Client(
            headers=dict(HEADERS),
            verify=tls,
            limits=LIMITS,
            transport=transport,
            mounts=dict.fromkeys(_LOOPBACK, transport),
        )

    def check(self, number: int | str) -> Lookup:
        """One number (spec, POST /api/v1/check); undetermined is a value.

        Args:
            number: E.164, as text with its plus or as the integer of its digits.

        Raises:
            BadInput: not a number of this form; nothing was sent.
            ServiceError: see `errors`; `may_be_charged` tells whether it can have cost.
        """
        value = _number(number)
        return self._ask(
            wire.single_check(value),
            lambda status, headers, body: wire.read_single_check(
                status, headers, body, value, self._clock()
            ),
        )

    def multi_check(self, numbers: Sequence[int | str]) -> list[Lookup]:
        """1 to 100 distinct numbers, answered in their order (spec, POST /api/v1/batch-check).

        Raises:
            BadInput, ServiceError: as `check`.
        """
        values = [_number(number) for number in numbers]
        return self._ask(
            wire.multi_check(values),
            lambda status, headers, body: wire.read_multi_check(
                status, headers, body, values, self._clock()
            ),
        )

    def submit_bulk_task(
        self, product: Product | str, country: str, file: bytes, idempotency_key: str
    ) -> BulkTask:
        """A new bulk task, or the original one of this key (spec, POST /api/v1/bulk-tasks).

        Args:
            country: ISO 3166-1 alpha-2.
            file: one E.164 number per line (`wire.task_file`), at most 20 MB.
            idempotency_key: 1 to 128 printable ASCII characters.

        Raises:
            BadInput, ServiceError: as `check`. After an AnswerLost the same bytes with the same
                key are safe to send again.
        """
        if product not in list(Product):
            raise BadInput(f"no bulk product: {product!r}; there are {', '.join(Product)}")
        return self._ask(
            wire.submit_bulk_task(Product(product), country, file, idempotency_key),
            lambda status, headers, body: wire.read_bulk_task(status, headers, body, self._clock()),
        )

    def bulk_task(self, task_id: str) -> BulkTask:
        """A bulk task as it stands; at most once in 30 seconds (spec, Limits).

        Raises:
            BadInput, ServiceError: as `check`.
        """
        return self._ask(
            wire.query_bulk_task(task_id),
            lambda status, headers, body: wire.read_bulk_task(
                status, headers, body, self._clock(), task_id=task_id
            ),
        )

    def balance(self) -> int:
        """The balance in micros of USD (spec, GET /api/v1/balance).

        Raises:
            ServiceError: as `check`.
        """
        return self._ask(
            wire.balance(),
            lambda status, headers, body: wire.read_balance(status, headers, body, self._clock()),
        )

    def download_result(
        self, task: BulkTask, target: Path, *, max_bytes: int | None = None
    ) -> Path:
        """The result file of a task, as `target`, readable by the user only; whole or not at all.

        Raises:
            LinkExpired: the task, as it was queried, has no link that works (any more).
            AnswerLost, NotSent, UnexpectedAnswer, BadResultFile, OSError: see `download`.
        """
        if task.result_url is None:
            raise LinkExpired("the bulk task came without a result link")
        download(self._links, task.result_url, target, max_bytes=max_bytes)
        return target

    def close(self) -> None:
        """Close the connections."""
        self._api.close()
        self._links.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"CarrierClient({self._base_url!r}, api_key='***')"

    def _ask(self, request: wire.Request, read: Callable[[int, Mapping[str, str], bytes], T]) -> T:
        status, headers, body = guarded(
            lambda watchdog: self._exchange(request, watchdog),
            what=f"{request.method} {request.path.rpartition('/api/v1')[2]}",
            seconds=request.read_seconds + GRACE_SECONDS,
        )
        try:
            return read(status, headers, body)
        except ServiceError as error:
            # A service that repeats the key in its msg must not bring it into a log.
            error.args = (str(error).replace(self._key, "***"),)
            raise

    def _exchange(
        self, request: wire.Request, watchdog: Watchdog
    ) -> tuple[int, Mapping[str, str], bytes]:
        parts: list[tuple[str, tuple[str | None, bytes, str | None]]] = []
        if request.file is not None:
            # The service reads `country` before the file (spec, POST /api/v1/bulk-tasks).
            parts += [(name, (None, value.encode(), None)) for name, value in request.form]
            parts += [("file", ("numbers.txt", request.file, "text/plain"))]
        outgoing = self._api.build_request(
            request.method,
            self._base_url + request.path,
            headers=dict(request.headers),
            json=request.json,
            files=parts or None,
            timeout=httpx.Timeout(request.read_seconds, connect=CONNECT_SECONDS),
            extensions={"trace": watchdog},
        )
        response = self._api.send(outgoing, stream=True)
        try:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > ANSWER_MAX_BYTES:
                    raise AnswerLost(f"the answer passes {ANSWER_MAX_BYTES:,} bytes")
        finally:
            response.close()
        return response.status_code, response.headers, bytes(body)


def _number(number: int | str) -> int:
    """The integer of an E.164 number."""
    if isinstance(number, str) and _E164.fullmatch(number):
        return int(number)
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < _E164_MAX:
        return number
    raise BadInput(
        "a number is its E.164 text ('+14155550123', with plus and country code) or the integer "
        f"of its digits; this {type(number).__name__} is neither"
    )
