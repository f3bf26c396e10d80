"""Answers as data, and how they are put on the wire."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

#: The name under which a connection gives itself to the application, for replies that break it.
CONNECTION = "carrier_enrich.sandbox.connection"

_CHUNK_BYTES = 1 << 16
_DRIP_PIECES = 20
#: Closing with no time to linger resets the connection instead of ending it in order.
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        status: HTTP status.
        body: its pieces, in order.
        length: what ``Content-Length`` says; where the body is shorter, the connection is
            closed after it.
        headers: beside length and ``X-Sandbox``.
        envelope: what the body says, where it is an envelope.
        reset: break the connection instead of answering.
        drip_seconds: how long the body takes to arrive.
    """

    status: int
    body: Iterable[bytes]
    length: int
    headers: Mapping[str, str]
    envelope: Mapping[str, Any] | None = None
    reset: bool = False
    drip_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it is a success that a fault could spoil: a result, or code 0."""
        return self.status < 400 and (self.envelope is None or self.envelope.get("code") == 0)  # noqa: PLR2004 - the first error status


@dataclass(frozen=True, slots=True)
class FileBody:
    """The bytes of a file, or as many of them as are left of it."""

    path: Path
    length: int

    def __iter__(self) -> Iterator[bytes]:
        left = self.length
        with self.path.open("rb") as file:
            while left > 0 and (chunk := file.read(min(_CHUNK_BYTES, left))):
                left -= len(chunk)
                yield chunk


def plain(
    body: bytes, media: str, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Reply:
    """A body of some media type."""
    return Reply(status, (body,), len(body), {"Content-Type": media, **(headers or {})})


def enveloped(
    envelope: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Reply:
    """An envelope ``{code, msg, data}`` as JSON."""
    body = json.dumps(envelope, ensure_ascii=False).encode()
    told = {"Content-Type": "application/json", **(headers or {})}
    return Reply(status, (body,), len(body), told, envelope)


def success(data: Mapping[str, Any]) -> Reply:
    """Code 0 with data (spec, What the service does)."""
    return enveloped({"code": 0, "msg": "ok", "data": data})


def file(path: Path, media: str) -> Reply:
    """A file for download."""
    length = path.stat().st_size
    headers = {"Content-Type": media, "Content-Disposition": f'attachment; filename="{path.name}"'}
    return Reply(200, FileBody(path, length), length, headers)


async def send_reply(reply: Reply, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or break its connection, as the reply says."""
    connection = scope.get("extensions", {}).get(CONNECTION)
    if reply.reset:
        if connection is not None:
            connection.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER
            )
            connection.abort()
        await _disconnected(receive)
        return
    headers = {**reply.headers, "Content-Length": str(reply.length), "X-Sandbox": "true"}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    sent = 0
    pieces, pause = _dripped(reply) if reply.drip_seconds else (reply.body, 0.0)
    for piece in pieces:
        if pause:
            await asyncio.sleep(pause)
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        sent += len(piece)
    if sent == reply.length:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    elif connection is not None:
        connection.close()
        await _disconnected(receive)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _dripped(reply: Reply) -> tuple[Sequence[bytes], float]:
    """The body in small pieces, and the pause before each."""
    whole = b"".join(reply.body)
    size = max(1, -(-len(whole) // _DRIP_PIECES))
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    return pieces, reply.drip_seconds / max(1, len(pieces))
