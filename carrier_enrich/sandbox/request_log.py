"""Which requests arrived, and whether the API key was where it belongs."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One request, without its content.

    Attributes:
        at: seconds since the epoch.
        endpoint: "check", "batch-check", "bulk-submit", "bulk-query", "balance", "result", or
            "other".
        origin: "service", or "elsewhere" where it reached the second port.
        headers: names, in lower case.
        key_sent: the ``X-API-Key`` header was there.
        key_elsewhere: the key stood in the address, in another header or in the body.
        form_fields: names of a multipart form, in order.
        body_digest: SHA-256 of the body, of a form that of its file.
    """

    at: float
    method: str
    path: str
    endpoint: str
    origin: str
    headers: tuple[str, ...]
    key_sent: bool
    key_elsewhere: bool
    form_fields: tuple[str, ...]
    idempotency_key: str | None
    body_digest: str
    body_bytes: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it came in."""

    method: str
    path: str
    query: str
    endpoint: str
    origin: str
    headers: Mapping[str, str]
    body: bytes
    form_fields: tuple[str, ...] = ()


class RequestLog:
    """The most recent requests, and counts of all."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self.by_endpoint: Counter[str] = Counter()
        self.keys_sent_to_results = 0
        self.keys_sent_elsewhere = 0
        self.keys_out_of_place = 0

    def note(self, arrival: Arrival, keys: Sequence[str], at: float) -> None:
        """Remember a request."""
        headers = {name.lower(): value for name, value in arrival.headers.items()}
        key_sent = "x-api-key" in headers
        others = [value for name, value in headers.items() if name != "x-api-key"]
        texts = " ".join([arrival.path, arrival.query, *others])
        key_elsewhere = any(key in texts or key.encode() in arrival.body for key in keys)
        self._entries.append(
            Entry(
                at=at,
                method=arrival.method,
                path=arrival.path,
                endpoint=arrival.endpoint,
                origin=arrival.origin,
                headers=tuple(headers),
                key_sent=key_sent,
                key_elsewhere=key_elsewhere,
                form_fields=arrival.form_fields,
                idempotency_key=headers.get("idempotency-key"),
                body_digest=hashlib.sha256(arrival.body).hexdigest(),
                body_bytes=len(arrival.body),
            )
        )
        self.by_endpoint[arrival.endpoint] += 1
        self.keys_sent_to_results += key_sent and arrival.endpoint == "result"
        self.keys_sent_elsewhere += key_sent and arrival.origin == "elsewhere"
        self.keys_out_of_place += key_elsewhere

    def as_json(self) -> list[dict[str, Any]]:
        """The most recent requests, oldest first."""
        return [asdict(entry) for entry in self._entries]
