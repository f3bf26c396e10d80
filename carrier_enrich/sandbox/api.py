"""The HTTP side: routes, and requests as the service wants them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from carrier_enrich.sandbox import control_api
from carrier_enrich.sandbox.bulk import Upload
from carrier_enrich.sandbox.refusals import BAD_REQUEST
from carrier_enrich.sandbox.replies import Reply, enveloped, send_reply
from carrier_enrich.sandbox.request_log import Arrival
from carrier_enrich.sandbox.service import Service

_ROUTES = (
    ("POST", "/api/v1/check", "check"),
    ("POST", "/api/v1/batch-check", "batch-check"),
    ("POST", "/api/v1/bulk-tasks", "bulk-submit"),
    ("GET", "/api/v1/bulk-tasks/{target}", "bulk-query"),
    ("GET", "/api/v1/balance", "balance"),
    ("GET", "/results/{target}", "result"),
)


class _Answer:
    """A reply as the ASGI application that sends it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_reply(self._reply, scope, receive, send)


def application(service: Service) -> Starlette:
    """The sandbox as an ASGI application."""

    def endpoint(name: str) -> Callable[[Request], Awaitable[Any]]:
        async def serve(request: Request) -> _Answer:
            upload = await _upload(request) if name == "bulk-submit" else None
            body = (upload.file or b"") if upload else await request.body()
            arrival = _arrival(service, request, name, body, upload)
            target = request.path_params.get("target", "")
            return _Answer(await service.answer(arrival, upload, target))

        return serve

    def control(handle: control_api.Handler) -> Callable[[Request], Awaitable[Any]]:
        async def serve(request: Request) -> _Answer:
            query = dict(request.query_params)
            return _Answer(await control_api.handled(handle, service, query, await request.body()))

        return serve

    async def failed(request: Request, error: Exception) -> Any:
        status = error.status_code if isinstance(error, HTTPException) else 500
        arrival = _arrival(service, request, "other", b"", None)
        service.log.note(arrival, service.config.api_keys, service.clock())
        envelope = {"code": BAD_REQUEST, "msg": "no such endpoint", "data": None}
        return _Answer(enveloped(envelope, status=status))

    routes = [Route(path, endpoint(name), methods=[method]) for method, path, name in _ROUTES]
    routes += [
        Route(f"/sandbox/{path}", control(handle), methods=[method])
        for method, path, handle in control_api.ROUTES
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: failed, Exception: failed})


def _arrival(
    service: Service, request: Request, endpoint: str, body: bytes, upload: Upload | None
) -> Arrival:
    server = request.scope.get("server") or ("", 0)
    at_home = service.origin.endswith(f":{server[1]}")
    return Arrival(
        method=request.method,
        path=request.url.path,
        query=request.url.query,
        endpoint=endpoint,
        origin="service" if at_home else "elsewhere",
        headers=dict(request.headers),
        body=body,
        form_fields=upload.field_names if upload else (),
    )


async def _upload(request: Request) -> Upload | None:
    """The form of a bulk submit, None where there is none."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return None
    try:
        form = await request.form(max_files=5, max_fields=20)
    except HTTPException:
        return None
    items = form.multi_items()
    texts = {name: value for name, value in items if isinstance(value, str)}
    files = [value for name, value in items if isinstance(value, UploadFile) and name == "file"]
    upload = Upload(
        field_names=tuple(name for name, _ in items),
        service_type=texts.get("service_type"),
        country=texts.get("country"),
        file_name=(files[0].filename or "") if files else "",
        file=await files[0].read() if files else None,
    )
    await form.close()
    return upload
