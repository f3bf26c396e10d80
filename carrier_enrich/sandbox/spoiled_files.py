"""Result files with something wrong: in their rows, their form, or their archive."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.result_files import Row, header_of, write_table

#: Faults of a download that leave the file itself as it is, with options and defaults.
TRANSFER_KINDS: Mapping[str, Mapping[str, Any]] = {
    "link_expired": {"http": 410},
    "link_cut": {"keep": 0.5},
    "link_expires_midway": {"keep": 0.5},
    "wrong_size": {"keep": 0.5},
}

_ENCRYPTED_FLAG = 0x1
_LOCAL_HEADER, _CENTRAL_HEADER = b"PK\x03\x04", b"PK\x01\x02"
_LOCAL_FLAG_AT, _CENTRAL_FLAG_AT = 6, 8

_BOMB_CHUNK = b"0,,,,,,\n" * (1 << 17)
_DEFLATED = 8
_ZIP_VERSION = 20

_PAGE = b"<!doctype html><html><body><h1>Sign in to continue</h1></body></html>\n"


def _missing(rows: Sequence[Row], count: int) -> list[Row]:
    return list(rows[: max(0, len(rows) - count)])


def _doubled(rows: Sequence[Row], count: int) -> list[Row]:
    return [*rows, *rows[:count]]


def _contradicting(rows: Sequence[Row], count: int) -> list[Row]:
    return [*rows, *((row[0], "Sandbox Contradiction", *row[2:]) for row in rows[:count])]


def _foreign(rows: Sequence[Row], count: int) -> list[Row]:
    # area code 999 is assigned to nobody
    made_up = (
        (f"1999000{n:04d}", "Sandbox Nobody", "", "mobile", "US", "", "") for n in range(count)
    )
    return [*rows, *made_up]


def _na(rows: Sequence[Row], count: int) -> list[Row]:
    texts = ("NA", "null", "None", "nan", "-", "1e5")
    changed = ((row[0], texts[n % len(texts)], *row[2:]) for n, row in enumerate(rows[:count]))
    return [*changed, *rows[count:]]


_ROW_KINDS: Mapping[str, Callable[[Sequence[Row], int], list[Row]]] = {
    "rows_missing": _missing,
    "rows_doubled": _doubled,
    "rows_contradict": _contradicting,
    "rows_foreign": _foreign,
    "na_text": _na,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A result file as it should be, and the options of what shall be wrong with it."""

    rows: Sequence[Row]
    product: str
    form: SandboxConfig
    options: Mapping[str, Any]

    def table(self, header: Sequence[str] | None = None) -> bytes:
        """The rows as CSV."""
        target = io.BytesIO()
        write_table(target, self.rows, self.form, header)
        return target.getvalue()

    def wrapped(self, table: bytes) -> bytes:
        """A CSV in the archive that the product puts it in, if any."""
        if self.product == "carrier_batch":
            return table
        return _archive({f"result_1{self.form.zip_member_suffix}": table})


def _archive(members: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def _wrong_columns(asked: Asked) -> bytes:
    names = [f"field_{place}" for place, _ in enumerate(header_of(asked.form))]
    return asked.wrapped(asked.table(names))


def _no_header(asked: Asked) -> bytes:
    return asked.wrapped(asked.table(header=()))


def _not_a_table(_: Asked) -> bytes:
    return _PAGE


def _encrypted(asked: Asked) -> bytes:
    archive = bytearray(_archive({"result_1.csv": asked.table()}))
    archive[_LOCAL_FLAG_AT] |= _ENCRYPTED_FLAG
    archive[archive.rindex(_CENTRAL_HEADER) + _CENTRAL_FLAG_AT] |= _ENCRYPTED_FLAG
    return bytes(archive)


def _stray_member(asked: Asked) -> bytes:
    return _archive(
        {
            "README.txt": b"Thank you for using the sandbox.\n",
            "__MACOSX/._result_1.csv": b"\x00\x05\x16\x07\x00",
            "result_1.csv": asked.table(),
        }
    )


def _path_tricks(asked: Asked) -> bytes:
    return _archive({asked.options["name"]: asked.table()})


def _bomb(asked: Asked) -> bytes:
    return bomb(asked.options["bytes"])


def bomb(size: int, name: bytes = b"result_1.csv") -> bytes:
    """A ZIP archive of about a thousandth of the size that its one member expands to.

    One chunk is compressed once and repeated: after a full flush the compressed pieces don't
    depend on one another.
    """
    chunks = max(1, size // len(_BOMB_CHUNK))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = deflate.compress(_BOMB_CHUNK) + deflate.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS).flush(zlib.Z_FINISH)
    packed = piece * chunks + end
    crc = 0
    for _ in range(chunks):
        crc = zlib.crc32(_BOMB_CHUNK, crc)
    sizes = (crc, len(packed), chunks * len(_BOMB_CHUNK))
    head = (_ZIP_VERSION, 0, _DEFLATED, 0, 0, *sizes, len(name), 0)
    local = _LOCAL_HEADER + struct.pack("<HHHHHIIIHH", *head) + name
    central = _CENTRAL_HEADER + struct.pack("<HHHHHHIIIHHHHHII", _ZIP_VERSION, *head, 0, 0, 0, 0, 0)
    central += name
    at = len(local) + len(packed)
    closing = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(central), at, 0)
    return local + packed + central + closing


@dataclass(frozen=True, slots=True)
class FileKind:
    """A fault of a result file: what makes the file, and its options with defaults."""

    make: Callable[[Asked], bytes]
    options: Mapping[str, Any] = field(default_factory=dict)


_FORM_KINDS: Mapping[str, FileKind] = {
    "wrong_columns": FileKind(_wrong_columns),
    "no_header": FileKind(_no_header),
    "not_a_table": FileKind(_not_a_table),
    "encrypted": FileKind(_encrypted),
    "stray_member": FileKind(_stray_member),
    "path_tricks": FileKind(_path_tricks, {"name": "../../evil.csv"}),
    "bomb": FileKind(_bomb, {"bytes": 1 << 31}),
}

#: Options and defaults of the faults of result files.
FILE_KINDS: Mapping[str, Mapping[str, Any]] = {
    **TRANSFER_KINDS,
    **{name: {"count": 1} for name in _ROW_KINDS},
    **{name: kind.options for name, kind in _FORM_KINDS.items()},
}


def spoiled_file(kind: str, asked: Asked) -> bytes:
    """A product's result file with the fault of that kind in it."""
    if kind in _FORM_KINDS:
        return _FORM_KINDS[kind].make(asked)
    changed = replace(asked, rows=_ROW_KINDS[kind](asked.rows, asked.options["count"]))
    return changed.wrapped(changed.table())
