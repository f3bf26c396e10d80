"""A result file from its link: whole or not at all, without the API key.

The link is a secret of its own (whoever holds it can read the file), so it stands in no
message and no log.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import httpx

from carrier_enrich.client.connection import CONNECT_SECONDS, Watchdog, guarded
from carrier_enrich.errors import AnswerLost, BadResultFile, LinkExpired, UnexpectedAnswer

#: Seconds without a byte, and seconds for the whole file.
READ_SECONDS = 60.0
WHOLE_SECONDS = 1_800.0

REDIRECTS_MAX = 3

_WHAT = "download of the result file"
_TIMEOUT = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
# Answers of a busy server, not of an expired link.
_TRANSIENT = (408, 425, 429)


class _SecretUrl(httpx.URL):
    """An address that prints as its host only: httpx logs each address that it asks."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}/***"

    __repr__ = __str__


def download(client: httpx.Client, link: str, target: Path, *, max_bytes: int | None) -> None:
    """The file behind `link` as `target`, readable by the user only.

    Args:
        client: one that adds no key and follows no redirects by itself.
        max_bytes: stop a file that is larger; None for no limit.

    Raises:
        LinkExpired: the link answers with a refusal (4xx).
        AnswerLost, NotSent: no whole file came; a download may always be repeated.
        UnexpectedAnswer: not http(s), from https to http, or more than three redirects.
        BadResultFile: the file is larger than `max_bytes`; nothing of it is kept.
        OSError: it can't be written; `target` is as it was.
    """
    with _whole_file(target) as out:
        guarded(
            lambda watchdog: _fetch(client, link, out, max_bytes, watchdog),
            what=_WHAT,
            seconds=WHOLE_SECONDS,
        )


def _fetch(
    client: httpx.Client, link: str, out: BinaryIO, max_bytes: int | None, watchdog: Watchdog
) -> None:
    url = httpx.URL(link)
    for _ in range(1 + REDIRECTS_MAX):
        if url.scheme not in ("http", "https") or not url.host:
            raise UnexpectedAnswer("the result link is no http(s) address")
        request = client.build_request("GET", url, timeout=_TIMEOUT, extensions={"trace": watchdog})
        request.url = _SecretUrl(request.url)
        response = client.send(request, stream=True)
        try:
            if not response.has_redirect_location:
                _save(response, out, max_bytes)
                return
            following = url.join(response.headers["Location"])
        finally:
            response.close()
        if url.scheme == "https" and following.scheme == "http":
            raise UnexpectedAnswer("the result link leads from https to http")
        url = following
    raise UnexpectedAnswer(f"the result link has more than {REDIRECTS_MAX} redirects")


def _save(response: httpx.Response, out: BinaryIO, max_bytes: int | None) -> None:
    status = response.status_code
    if response.is_client_error and status not in _TRANSIENT:
        raise LinkExpired(f"the result link answers HTTP {status}")
    if status != httpx.codes.OK:
        raise AnswerLost(f"{_WHAT}: HTTP {status}")
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if max_bytes is not None and size > max_bytes:
            raise BadResultFile(
                f"the result file passes {max_bytes:,} bytes, more than its numbers could fill"
            )
        out.write(chunk)
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) != response.num_bytes_downloaded:
        raise AnswerLost(
            f"{_WHAT}: {response.num_bytes_downloaded:,} bytes came of {int(announced):,}"
        )


@contextmanager
def _whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the target's name only when the block has ended well."""
    # Created with mode 0600; in the same folder, so that the rename is atomic.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        with open(handle, "wb") as out:  # noqa: PTH123 - a Path can't open a descriptor
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
