"""The client against real sockets: what leaves, what comes back, and what must not leave."""

from __future__ import annotations

import json
import logging
import os
import resource
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import httpx
import pytest

from carrier_enrich import wire
from carrier_enrich.client import CarrierClient
from carrier_enrich.client.connection import guarded
from carrier_enrich.errors import (
    AnswerLost,
    BadApiKey,
    BadInput,
    BadResultFile,
    BadSettings,
    Busy,
    LinkExpired,
    NotSent,
    UnexpectedAnswer,
)
from carrier_enrich.model import BulkTask, Lookup, LookupStatus, Product, TaskStatus

KEY = "sk-live-0a1b2c3d4e5f"
NUMBER = 14155550123
ROOT = Path(__file__).parent.parent
ANSWER = {
    "identifier": "+14155550123",
    "registered": True,
    "extra": {"carrier": "Verizon", "country_code": "US"},
}
VERIZON = Lookup(LookupStatus.FOUND, carrier="Verizon", country_code="US")


@dataclass
class Seen:
    """A request as the server received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """What the server sends back; a length of None ends the body by closing."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = -1


Script = Callable[[Seen], Reply]


@dataclass
class Server:
    """A running server, and what it has met."""

    url: str
    seen: list[Seen]
    connections: list[int]


@contextmanager
def serving(script: Script) -> Iterator[Server]:
    seen: list[Seen] = []
    connections: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            connections.append(1)
            super().setup()

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Seen(self.command, self.path, dict(self.headers.items()), body)
            seen.append(request)
            reply = script(request)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.length is not None:
                length = len(reply.body) if reply.length < 0 else reply.length
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = self.close_connection or reply.length != -1

        do_GET = do_POST = respond  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Keep the test's output for the test."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_port}", seen, connections)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def raw_serving(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """One connection at a time, handed to `talk`, which may mistreat it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                talk(connection)

    thread = Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def envelope(data: object, code: int = 0, msg: str = "ok") -> Reply:
    return Reply(json.dumps({"code": code, "msg": msg, "data": data}).encode())


def always(reply: Reply) -> Script:
    return lambda _: reply


def finished(link: str | None) -> BulkTask:
    return BulkTask("bt_1", "carrier_batch", TaskStatus.SUCCESS, "US", 1, "", result_url=link)


def everything_of(error: BaseException | None) -> str:
    """What an error and all that hangs on it can show."""
    shown = ""
    while error is not None:
        shown += f"{error!r} {error} {vars(error)!r} "
        request = getattr(error, "_request", None)
        shown += repr(request.headers.raw) if request is not None else ""
        error = error.__cause__ or error.__context__
    return shown


# API calls


def test_check():
    """A check sends the key and the number, and returns what is known of it."""
    with serving(always(envelope(ANSWER))) as server, CarrierClient(server.url, KEY) as client:
        assert client.check(NUMBER) == VERIZON
        assert client.check("+14155550123") == VERIZON
    first, second = server.seen
    assert (first.method, first.path) == ("POST", "/api/v1/check")
    assert first.headers["X-API-Key"] == KEY
    assert first.headers["Content-Type"] == "application/json"
    assert json.loads(first.body) == {"service_type": "carrier", "identifier": "+14155550123"}
    assert second.body == first.body


@pytest.mark.parametrize(
    "number",
    ["14155550123", "+1 415 555 0123", "+0415", "", "+1415555012345678", 0, -1, 10**15, True],
)
def test_numbers_that_are_not_sent(number):
    """What is no E.164 number is refused before anything is sent, and not repeated."""
    with serving(always(envelope(ANSWER))) as server, CarrierClient(server.url, KEY) as client:
        with pytest.raises(BadInput) as caught:
            client.check(number)
        with pytest.raises(BadInput):
            client.multi_check([NUMBER, number])
        assert server.seen == []
    assert "5550123" not in str(caught.value).replace("'+14155550123'", "")


def test_multi_check():
    """A multi check returns one lookup for each number, in their order."""
    results = [{**ANSWER, "exists": True}, {"identifier": "+442071838750", "exists": False}]
    reply = envelope({"total": 2, "results": results})
    with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
        answers = client.multi_check([NUMBER, "+442071838750"])
    assert answers == [VERIZON, Lookup(LookupStatus.UNDETERMINED)]
    assert json.loads(server.seen[0].body)["identifiers"] == ["+14155550123", "+442071838750"]


def test_submit_sends_country_before_file():
    """A bulk submit is a multipart form in which the country precedes the file."""
    task = {"id": "bt_1", "product": "carrier_batch", "status": "processing", "country": "US"}
    file = wire.task_file([NUMBER, NUMBER + 1])
    with serving(always(envelope(task))) as server, CarrierClient(server.url, KEY) as client:
        assert client.submit_bulk_task(Product.CARRIER_BATCH, "US", file, "key-1").id == "bt_1"
        assert client.submit_bulk_task("carrier_batch", "US", file, "key-1").id == "bt_1"
        with pytest.raises(BadInput):
            client.submit_bulk_task("carrier", "US", file, "key-1")
    sent = server.seen[0]
    assert sent.headers["Idempotency-Key"] == "key-1"
    assert sent.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    places = [sent.body.index(b'name="%s"' % name) for name in (b"service_type", b"country")]
    places.append(sent.body.index(b'name="file"; filename="numbers.txt"'))
    assert places == sorted(places)
    assert b"\r\n\r\n" + file + b"\r\n" in sent.body


def test_bulk_task_query():
    """A task is asked for by its id, which is one segment of the path whatever it holds."""
    for task_id, path in (("bt_1", "bt_1"), ("../check?x=/#", "..%2Fcheck%3Fx%3D%2F%23")):
        reply = envelope({"id": task_id, "status": "success", "result_url": "https://f.example/r"})
        with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
            assert client.bulk_task(task_id).result_url == "https://f.example/r"
            assert server.seen[0].path == f"/api/v1/bulk-tasks/{path}"


def test_balance_below_a_path():
    """A base URL may have a path of its own."""
    reply = envelope({"balance_micros": 5})
    with serving(always(reply)) as server, CarrierClient(f"{server.url}/proxy/", KEY) as client:
        assert client.balance() == 5
    assert server.seen[0].path == "/proxy/api/v1/balance"


def test_several_threads_share_a_client():
    """Requests of several threads are in flight together, and each gets its own answer."""
    together = Barrier(5, timeout=120)

    def script(request: Seen) -> Reply:
        together.wait()
        return envelope({"identifier": json.loads(request.body)["identifier"], "carrier": "X"})

    with (
        serving(script) as server,
        CarrierClient(server.url, KEY) as client,
        ThreadPoolExecutor(5) as pool,
    ):
        answers = list(pool.map(client.check, range(NUMBER, NUMBER + 5)))
    assert answers == [Lookup(LookupStatus.FOUND, carrier="X")] * 5


def test_connections_are_not_kept():
    """Each request has a connection of its own: a kept one could break unknowably."""
    reply = envelope({"balance_micros": 5})
    with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
        for _ in range(3):
            client.balance()
    assert len(server.connections) == 3


def test_redirects_of_api_calls_are_not_followed():
    """A redirect of an API call is an answer lost; the key does not go elsewhere."""
    with serving(always(envelope(ANSWER))) as other:
        reply = Reply(status=307, headers={"Location": f"{other.url}/api/v1/check"})
        with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
            with pytest.raises(AnswerLost):
                client.check(NUMBER)
            assert len(server.seen) == 1
    assert other.seen == []


def test_retry_after_by_the_given_clock():
    """A Retry-After that is a date is read against the clock that was given."""
    reply = envelope(None, 42901)
    reply.headers["Retry-After"] = "Tue, 14 Nov 2023 22:13:50 GMT"
    with (
        serving(always(reply)) as server,
        CarrierClient(server.url, KEY, clock=lambda: 1_700_000_000.0) as client,
        pytest.raises(Busy) as caught,
    ):
        client.check(NUMBER)
    assert caught.value.retry_after == 30


def test_a_given_transport_sends():
    """A transport that is given sends the requests instead of the network."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["X-API-Key"] == KEY
        return httpx.Response(200, json={"code": 0, "data": {"balance_micros": 9}})

    transport = httpx.MockTransport(answer)
    with CarrierClient("https://service.example", KEY, transport=transport) as client:
        assert client.balance() == 9


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("", KEY),
        ("ftp://h", KEY),
        ("https://user:pw@h", KEY),
        ("http://127.0.0.1:1", ""),
        ("http://127.0.0.1:1", "a b"),
        ("http://127.0.0.1:1", "a\r\nX: y"),
        ("http://127.0.0.1:1", "ключ"),
    ],
)
def test_bad_settings(base_url, key):
    """A base URL or a key that can't be used is refused when the client is made."""
    with pytest.raises(BadSettings):
        CarrierClient(base_url, key)


# What goes wrong on the way


def test_nothing_listens():
    """Without a connection the request was not sent, and can't be charged."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with CarrierClient(f"http://127.0.0.1:{port}", KEY) as client, pytest.raises(NotSent) as caught:
        client.check(NUMBER)
    assert not caught.value.may_be_charged
    assert KEY not in everything_of(caught.value)


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".invalid"])
def test_no_such_host(host):
    """A host that no name lookup knows or takes is a request that was not sent."""
    with CarrierClient(f"https://{host}", KEY) as client, pytest.raises(NotSent):
        client.check(NUMBER)


def test_tls_failure():
    """A server that does not speak TLS never saw the request."""

    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with raw_serving(talk) as url, CarrierClient(url.replace("http:", "https:"), KEY) as client:
        with pytest.raises(NotSent) as caught:
            client.check(NUMBER)
        assert KEY not in everything_of(caught.value)


def read_request(connection: socket.socket) -> None:
    received = b""
    while not received.endswith((b"}", b"\r\n\r\n")):
        received += connection.recv(1 << 16)


def reset(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close(connection: socket.socket) -> None:
    read_request(connection)


def cut_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"code": 0, "da')


def cut_chunk(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{")


def not_http(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")


def bad_gzip(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi")


def bad_location(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 302 F\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    "talk", [reset, close, cut_body, cut_chunk, not_http, bad_gzip, bad_location]
)
def test_lost_after_sending(talk):
    """Whatever breaks after the request left is an answer lost, without a trace of the key."""
    with raw_serving(talk) as url, CarrierClient(url, KEY) as client:
        with pytest.raises(AnswerLost) as caught:
            client.check(NUMBER)
        shown = everything_of(caught.value)
    assert caught.value.may_be_charged
    assert KEY not in shown
    assert str(NUMBER) not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_silence():
    """A service that does not answer within the request's time is an answer lost."""

    def talk(connection: socket.socket) -> None:
        read_request(connection)
        connection.recv(1)

    with raw_serving(talk) as url, CarrierClient(url, KEY) as client:
        hurried = wire.Request("GET", "/api/v1/balance", read_seconds=0.2)
        with pytest.raises(AnswerLost):
            client._ask(hurried, lambda *reply: wire.read_balance(*reply, 0.0))


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Drip: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_dripping(head):
    """An answer that drips in has an end, in its headers and in its body."""

    def talk(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head)
        connection.settimeout(0.05)
        while True:
            try:
                connection.sendall(b" ")
                if connection.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    with (
        raw_serving(talk) as url,
        httpx.Client() as client,
        pytest.raises(AnswerLost, match=r"not whole after 0\.4 s"),
    ):
        guarded(
            lambda watchdog: client.get(url, extensions={"trace": watchdog}),
            what="a read",
            seconds=0.4,
        )


def test_endless_answer():
    """An answer without end is stopped."""
    reply = Reply(b" " * 9_000_000)
    with (
        serving(always(reply)) as server,
        CarrierClient(server.url, KEY) as client,
        pytest.raises(AnswerLost, match="passes"),
    ):
        client.balance()


# Secrets


def test_key_is_masked():
    """Neither the client's repr shows the key, nor an error in which the service repeats it."""
    reply = envelope(None, 40100, f"no such key: {KEY}")
    with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
        assert KEY not in repr(client)
        with pytest.raises(BadApiKey) as caught:
            client.balance()
    assert KEY not in everything_of(caught.value)


def test_nothing_secret_is_logged(caplog, tmp_path):
    """At every log level neither key nor number nor result link is written."""

    def script(request: Seen) -> Reply:
        return Reply(b"x") if request.path.startswith("/r") else envelope(ANSWER)

    with (
        caplog.at_level(logging.DEBUG),
        serving(script) as server,
        CarrierClient(server.url, KEY) as client,
    ):
        client.check(NUMBER)
        client.download_result(finished(f"{server.url}/r?sig=s3cr3t"), tmp_path / "r")
    assert "HTTP Request" in caplog.text
    assert "s3cr3t" not in caplog.text
    assert KEY not in caplog.text
    assert str(NUMBER) not in caplog.text


ASK_PAST_A_PROXY = """
import sys
from carrier_enrich.client import CarrierClient
from carrier_enrich.errors import NotSent
loopback, proxied = sys.argv[1:]
with CarrierClient(loopback, "sk-live-0a1b2c3d4e5f") as client:
    print(client.balance())
with CarrierClient(proxied, "sk-live-0a1b2c3d4e5f") as client:
    try:
        client.balance()
    except NotSent as error:
        print("not sent")
"""


def test_proxies_do_not_see_the_key(tmp_path: Path):
    """A call over plain http passes by a proxy; one over https shows it no more than the host."""
    heard: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        heard.append(connection.recv(1 << 16))
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    reply = envelope({"balance_micros": 5})
    with raw_serving(talk) as proxy, serving(always(reply)) as server:
        done = subprocess.run(
            [sys.executable, "-c", ASK_PAST_A_PROXY, server.url, "https://service.example"],
            env={"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    assert done.stdout.split("\n")[:2] == ["5", "not sent"]
    assert len(heard) == 1
    assert heard[0].startswith(b"CONNECT service.example:443 ")
    assert KEY.encode() not in heard[0]


# Downloads


def test_download(tmp_path: Path):
    """A result is downloaded without the key, whole, and readable by the user only."""
    target = tmp_path / "result.csv"
    with serving(always(Reply(b"a,b\n" * 50_000))) as server:
        task = finished(f"{server.url}/files/r.csv?sig=a%2Fb")
        with CarrierClient("https://service.example", KEY) as client:
            assert client.download_result(task, target, max_bytes=200_000) == target
    assert target.read_bytes() == b"a,b\n" * 50_000
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["result.csv"]  # noqa: PTH208 - names are what counts
    (seen,) = server.seen
    assert seen.path == "/files/r.csv?sig=a%2Fb"
    assert KEY not in str(seen.headers)


def test_download_follows_redirects(tmp_path: Path):
    """Three redirects are followed, relative ones too; the fourth is refused."""

    def script(request: Seen) -> Reply:
        left = int(request.path.strip("/"))
        if not left:
            return Reply(b"whole")
        return Reply(status=302, headers={"Location": f"/{left - 1}"})

    with serving(script) as server, CarrierClient(server.url, KEY) as client:
        target = client.download_result(finished(f"{server.url}/3"), tmp_path / "r")
        assert target.read_bytes() == b"whole"
        with pytest.raises(UnexpectedAnswer, match="redirects"):
            client.download_result(finished(f"{server.url}/4"), tmp_path / "s")
        assert not any("X-API-Key" in seen.headers for seen in server.seen)


@pytest.mark.parametrize(
    "location", ["http://files.example/r", "ftp://files.example/r", "file:///etc/passwd"]
)
def test_download_refuses_to_be_led_astray(location, tmp_path):
    """A link on https does not lead to plain http, and none leads to another scheme."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.scheme == "https"
        return httpx.Response(302, headers={"Location": location})

    transport = httpx.MockTransport(answer)
    with CarrierClient("https://service.example", KEY, transport=transport) as client:
        with pytest.raises(UnexpectedAnswer):
            client.download_result(finished("https://files.example/r"), tmp_path / "r")
        with pytest.raises(UnexpectedAnswer):
            client.download_result(finished(location.replace("http:", "gopher:")), tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["http://[::1", "result.csv", "http://", "http://a:b:c/", "\x00"])
def test_download_from_no_address(link, tmp_path):
    """A link that is no address is an answer against the specification."""
    with (
        CarrierClient("https://service.example", KEY) as client,
        pytest.raises(UnexpectedAnswer),
    ):
        client.download_result(finished(link), tmp_path / "r")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(status=403), LinkExpired),
        (Reply(status=404), LinkExpired),
        (Reply(status=410), LinkExpired),
        (Reply(status=400), LinkExpired),
        (Reply(status=429), AnswerLost),
        (Reply(status=500), AnswerLost),
        (Reply(status=503), AnswerLost),
        (Reply(b"part", status=206), AnswerLost),
        (Reply(status=204, length=None), AnswerLost),
        (Reply(b"short", length=50), AnswerLost),
        (Reply(b"x" * 101), BadResultFile),
    ],
)
def test_download_that_fails(reply, kind, tmp_path):
    """What is no whole file of an allowed size leaves the target as it was, and names no link."""
    target = tmp_path / "r"
    target.write_bytes(b"before")
    with serving(always(reply)) as server, CarrierClient(server.url, KEY) as client:
        link = f"{server.url}/r?sig=s3cr3t"
        with pytest.raises(kind) as caught:
            client.download_result(finished(link), target, max_bytes=100)
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]
    assert "s3cr3t" not in everything_of(caught.value)


def test_download_that_breaks(tmp_path: Path):
    """A download that is reset, or has no one to ask, can be repeated and leaves no file."""
    with (
        raw_serving(reset) as url,
        CarrierClient(url, KEY) as client,
        pytest.raises(AnswerLost),
    ):
        client.download_result(finished(url), tmp_path / "r")
    with CarrierClient(url, KEY) as client, pytest.raises(NotSent):
        client.download_result(finished(url), tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_download_without_a_link(tmp_path: Path):
    """A task without a link is to be asked for one."""
    with CarrierClient("https://service.example", KEY) as client, pytest.raises(LinkExpired):
        client.download_result(finished(None), tmp_path / "r")


def test_download_to_a_full_disk(tmp_path: Path):
    """A file that can't be written whole is an OSError, and nothing of it stays."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (
        serving(always(Reply(b"x" * 3_000_000))) as server,
        CarrierClient(server.url, KEY) as client,
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                client.download_result(finished(server.url), tmp_path / "r")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
