"""The edge to httpx: what it raises becomes a `ServiceError` here, once, and time has an end.

What tells `NotSent` from `AnswerLost` is whether the request can have left: the first costs
nothing and may be repeated, the second may have been charged.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from threading import Timer
from typing import Any, TypeVar

import httpx

from carrier_enrich.errors import AnswerLost, NotSent, ServiceError, UnexpectedAnswer
from carrier_enrich.wire.envelope import redacted

T = TypeVar("T")

#: Seconds to wait for a connection.
CONNECT_SECONDS = 15.0

#: No connection is kept: one that the server closes in the moment of the next request would
#: leave a paid check's outcome unknown.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)

#: For every request: no kept connection, and no compression that could unfold without end.
HEADERS: Mapping[str, str] = {
    "User-Agent": "carrier-enrich",
    "Connection": "close",
    "Accept-Encoding": "identity",
}

_NEVER_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    UnicodeError,  # a host name that no name lookup takes
)


class Watchdog:
    """Ends an exchange that lasts too long in all, however steadily its bytes drip.

    httpx limits the wait for each piece only. Given as the `trace` extension of a request, this
    learns of its socket, and shuts it down `seconds` after the connection was made.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.has_bitten = False
        self._timer = Timer(seconds, self._bite)
        self._timer.daemon = True
        self._stream: Any = None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpx at each step of a request."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info["return_value"]
            if self._timer.ident is None:
                self._timer.start()

    def leave(self) -> None:
        """The exchange is over."""
        self._timer.cancel()

    def loss(self, what: str) -> ServiceError:
        """The error of an exchange that this ended."""
        return AnswerLost(f"{what}: not whole after {self._seconds:g} s")

    def _bite(self) -> None:
        self.has_bitten = True
        held = self._stream.get_extra_info("socket")
        try:
            # Past TLS, whose own shutdown would wait for the other side.
            socket.socket.shutdown(held, socket.SHUT_RDWR)
        except OSError:
            return  # closed meanwhile


def guarded(exchange: Callable[[Watchdog], T], *, what: str, seconds: float) -> T:
    """The exchange's value; whatever httpx raises in it becomes an error of ours.

    The foreign error does not stay behind as cause or context: it holds the request, and with
    that the API key and the numbers.

    Args:
        exchange: gives the watchdog to its request as the `trace` extension.
        what: what was done, for the message.
        seconds: how long the exchange may last in all, from when the connection stands.

    Raises:
        NotSent: the request never left.
        AnswerLost: it left, and its answer did not arrive whole.
        UnexpectedAnswer: it was to an address that is none.
    """
    watchdog = Watchdog(seconds)
    try:
        value = exchange(watchdog)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as foreign:
        error = _own(foreign, what, watchdog)
    else:
        # A body that only the end of the connection ends looks whole when it was cut.
        if not watchdog.has_bitten:
            return value
        error = watchdog.loss(what)
    finally:
        watchdog.leave()
    raise error


def _own(foreign: Exception, what: str, watchdog: Watchdog) -> ServiceError:
    name = type(foreign).__name__
    if isinstance(foreign, httpx.InvalidURL):
        return UnexpectedAnswer(f"{what}: not an address that can be asked")
    if isinstance(foreign, _NEVER_LEFT):
        reason = "" if isinstance(foreign, UnicodeError) else redacted(str(foreign))
        return NotSent(f"{what}: no connection could be made ({name}: {reason})")
    if watchdog.has_bitten:
        return watchdog.loss(what)
    return AnswerLost(f"{what}: the connection broke before the answer was whole ({name})")
