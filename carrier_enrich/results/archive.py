"""What a downloaded result file holds: one CSV, or the text members of a ZIP. Nothing is
extracted to disk, and no more is unpacked than the caller allows.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from carrier_enrich.errors import BadResultFile

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
# A line end, also in UTF-16.
_TAIL_BYTES = 2
_TEXT = (".csv", ".txt", ".tsv")
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TRICK = re.compile(r"^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)")


@dataclass(frozen=True, slots=True)
class Member:
    """One text of a result file; `open` may be called several times.

    Reading raises BadResultFile where the text is damaged, or where all that was read of the
    result file passes its limit.
    """

    name: str
    open: Callable[[], io.RawIOBase]


@contextmanager
def members_of(path: Path, max_bytes: int) -> Iterator[list[Member]]:
    """The texts of a result file, which decides itself whether it is a ZIP or a CSV.

    Of a ZIP these are the members named .csv, .txt or .tsv, without a README and the hidden
    files that some packers add.

    Args:
        max_bytes: how much may be read, packed and unpacked, before it is called a bomb.

    Raises:
        BadResultFile: too large, encrypted, damaged, packed by an unusual method, or with a
            member whose name leads out of the archive.
    """
    if path.stat().st_size > max_bytes:
        raise BadResultFile(f"it has more than {max_bytes:,} bytes")
    budget = _Budget(max_bytes)
    if not _is_zip(path):
        yield [Member(path.name, lambda: _Bounded(path.open("rb"), budget))]
        return
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise BadResultFile(f"it is no whole ZIP archive ({type(error).__name__})") from None
    with archive:
        yield [_member(archive, info, budget) for info in archive.infolist() if _is_text(info)]


def is_open_ended(path: Path) -> bool:
    """Whether a result file is a text whose last line has no end, as one that was cut has not.

    A ZIP is never: its members have checksums.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
    return not _is_zip(path) and not any(end in tail for end in (b"\n", b"\r"))


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _ZIP_MAGIC


@dataclass(slots=True)
class _Budget:
    """Bytes that may still be read from one result file."""

    left: int

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise BadResultFile("it unpacks to more than the asked numbers could fill")


class _Bounded(io.RawIOBase):
    """A binary reader that stops at the budget, and says of damage what it is."""

    def __init__(self, inner: IO[bytes], budget: _Budget) -> None:
        super().__init__()
        self._inner = inner
        self._budget = budget

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        # Never all at once: what one call unpacks is bounded as well.
        limit = 1 << 20
        try:
            chunk = self._inner.read(min(size, limit) if size >= 0 else limit)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise BadResultFile(f"a member is damaged ({type(error).__name__})") from None
        self._budget.spend(len(chunk))
        return chunk

    def close(self) -> None:
        self._inner.close()
        super().close()


def _is_text(info: zipfile.ZipInfo) -> bool:
    """Whether a member may hold results; refuses the archive for one that must not be there."""
    if _TRICK.search(info.filename):
        raise BadResultFile("a member's name leads out of the archive")
    name = PurePosixPath(info.filename)
    hidden = any(part.startswith((".", "__")) for part in name.parts)
    if info.is_dir() or hidden or name.suffix.lower() not in _TEXT:
        return False
    return not name.stem.lower().startswith("readme")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> Member:
    if info.flag_bits & _ENCRYPTED:
        raise BadResultFile("it is encrypted")
    if info.compress_type not in _METHODS:
        raise BadResultFile("it is packed by a method other than deflate")

    def opened() -> io.RawIOBase:
        try:
            return _Bounded(archive.open(info), budget)
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise BadResultFile(f"a member is damaged ({type(error).__name__})") from None

    return Member(info.filename, opened)
