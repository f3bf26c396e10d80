"""A sandbox on sockets of the loopback interface."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from carrier_enrich.sandbox.api import application
from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.control import SandboxControl
from carrier_enrich.sandbox.replies import CONNECTION
from carrier_enrich.sandbox.service import Service

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_START_SECONDS = 30.0
_IDLE_CHECK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class RunningSandbox:
    """A sandbox in this process.

    Attributes:
        base_url: ``http://127.0.0.1:PORT``.
        elsewhere: its second origin; the same where result links don't use one.
        api_key: of its first account.
        control: reads its report and makes it misbehave.
    """

    base_url: str
    elsewhere: str
    api_key: str = field(repr=False)
    control: SandboxControl


class _Protocol(H11Protocol):
    """HTTP/1.1 whose connections a reply can break."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = self._with_connection(self.app)

    def _with_connection(self, app: Any) -> ASGIApp:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            scope["extensions"] = {**scope.get("extensions", {}), CONNECTION: self.transport}
            await app(scope, receive, send)

        return serve


class _Server(uvicorn.Server):
    """Says when it has started, and leaves signals to whoever serves."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._on_started()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone."""
        yield


@contextmanager
def running_sandbox(
    config: SandboxConfig | None = None,
    port: int = 0,
    *,
    clock: Callable[[], float] = time.time,
) -> Iterator[RunningSandbox]:
    """Serve a sandbox from a thread of this process.

    Args:
        config: what it charges and how it answers.
        port: of the loopback interface; 0 takes a free one.
        clock: seconds since the epoch, by which tasks, links and polls are timed.
    """
    config = config or SandboxConfig()
    started: Future[tuple[Service, _Server]] = Future()

    def run() -> None:
        try:
            asyncio.run(_serve(config, "127.0.0.1", port, clock, started.set_result))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="sandbox", daemon=True)
    thread.start()
    service, server = started.result(_START_SECONDS)
    control = SandboxControl(service.origin)
    try:
        yield RunningSandbox(service.origin, service.elsewhere, config.api_keys[0], control)
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)


def serve(
    config: SandboxConfig,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a sandbox until SIGTERM, SIGINT, or as long idle as the config allows.

    Args:
        config: what it charges and how it answers.
        host: of the loopback interface.
        port: 0 takes a free one.
        on_ready: told the base URL once requests are answered.

    Raises:
        ValueError: the host is not the loopback interface.
        OSError: the port is taken.
    """
    if host not in _LOOPBACK:
        raise ValueError("a sandbox serves the loopback interface only")

    def ready(started: tuple[Service, _Server]) -> None:
        service, server = started
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows has no handlers in a loop, and no thread but the main one may set any.
            with suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, setattr, server, "should_exit", True)
        on_ready(service.origin)

    asyncio.run(_serve(config, host, port, time.time, ready))


async def _serve(
    config: SandboxConfig,
    host: str,
    port: int,
    clock: Callable[[], float],
    on_ready: Callable[[tuple[Service, _Server]], None],
) -> None:
    with ExitStack() as cleanup:
        sockets = [cleanup.enter_context(_bound(host, port))]
        if config.link_on_second_port:
            sockets.append(cleanup.enter_context(_bound(host, 0)))
        service = cleanup.enter_context(closing(Service(config, clock)))
        service.origin, service.elsewhere = _origin(sockets[0]), _origin(sockets[-1])
        service.bulk.resume()
        server = _Server(
            uvicorn.Config(
                application(service),
                http=_Protocol,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                log_level="error",
                timeout_graceful_shutdown=1,
            ),
            lambda: on_ready((service, server)),
        )
        watching = asyncio.create_task(_end_when_idle(server, config.idle_exit_seconds))
        await server.serve(sockets=sockets)
        watching.cancel()


async def _end_when_idle(server: _Server, idle_seconds: float | None) -> None:
    """End a server that nobody called for so long."""
    if idle_seconds is None:
        return
    state = server.server_state
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < idle_seconds:
        if state.total_requests != seen or state.tasks:
            seen, since = state.total_requests, time.monotonic()
        await asyncio.sleep(min(_IDLE_CHECK_SECONDS, idle_seconds))
    server.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def _origin(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
