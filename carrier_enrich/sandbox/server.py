"""A sandbox on sockets of the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
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
        self.app = self._with_connection(self.app)  # type: ignore[assignment]  # Starlette and uvicorn type ASGI apart

    def _with_connection(self, app: Any) -> ASGIApp:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            scope["extensions"] = {**scope.get("extensions", {}), CONNECTION: self.transport}
            await app(scope, receive, send)

        return serve


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals to whoever serves: the process decides how it ends."""
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
    ready: threading.Event = threading.Event()
    started: list[tuple[Service, _Server, asyncio.AbstractEventLoop]] = []
    failures: list[BaseException] = []

    def on_ready(service: Service, server: _Server) -> None:
        started.append((service, server, asyncio.get_running_loop()))
        ready.set()

    def run() -> None:
        try:
            asyncio.run(_serve(config, "127.0.0.1", port, clock, on_ready))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failures.append(error)
            ready.set()

    thread = threading.Thread(target=run, name="sandbox", daemon=True)
    thread.start()
    ready.wait(_START_SECONDS)
    if failures or not started:
        raise RuntimeError("the sandbox did not start") from (failures or [None])[0]
    service, server, _ = started[0]
    try:
        yield RunningSandbox(
            service.origin, service.elsewhere, config.api_keys[0], SandboxControl(service.origin)
        )
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

    def ready(service: Service, server: _Server) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, setattr, server, "should_exit", True)
        on_ready(service.origin)

    asyncio.run(_serve(config, host, port, time.time, ready))


async def _serve(
    config: SandboxConfig,
    host: str,
    port: int,
    clock: Callable[[], float],
    on_ready: Callable[[Service, _Server], None],
) -> None:
    sockets = [_bound(host, port)]
    if config.link_on_second_port:
        sockets.append(_bound(host, 0))
    service = Service(config, clock)
    try:
        service.origin, service.elsewhere = _origin(sockets[0]), _origin(sockets[-1])
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
            )
        )
        service.bulk.resume()
        watching = asyncio.create_task(_watch(service, server, on_ready))
        await server.serve(sockets=sockets)
        watching.cancel()
    finally:
        for bound in sockets:
            bound.close()
        service.close()


async def _watch(
    service: Service, server: _Server, on_ready: Callable[[Service, _Server], None]
) -> None:
    """Say when the server has started, and end it when nobody called for too long."""
    while not server.started:
        await asyncio.sleep(0.001)
    on_ready(service, server)
    idle = service.config.idle_exit_seconds
    if idle is None:
        return
    seen, since = server.server_state.total_requests, time.monotonic()
    while time.monotonic() - since < idle:
        await asyncio.sleep(min(_IDLE_CHECK_SECONDS, idle))
        if server.server_state.total_requests != seen or server.server_state.connections:
            seen, since = server.server_state.total_requests, time.monotonic()
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
