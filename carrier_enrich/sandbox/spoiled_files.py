"""Result files with something wrong: in their rows, their form, or their archive."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def _table(rows: Iterable[Row], form: SandboxConfig, header: Sequence[str] | None = None) -> bytes:
    target = io.BytesIO()
    write_table(target, rows, form, header)
    return target.getvalue()


def _archive(members: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def _wrapped(table: bytes, product: str, form: SandboxConfig) -> bytes:
    if product == "carrier_batch":
        return table
    return _archive({f"result_1{form.zip_member_suffix}": table})


def _encrypted(table: bytes) -> bytes:
    archive = bytearray(_archive({"result_1.csv": table}))
    archive[_LOCAL_FLAG_AT] |= _ENCRYPTED_FLAG
    archive[archive.rindex(_CENTRAL_HEADER) + _CENTRAL_FLAG_AT] |= _ENCRYPTED_FLAG
    return bytes(archive)


def _with_strays(table: bytes) -> bytes:
    return _archive(
        {
            "README.txt": b"Thank you for using the sandbox.\n",
            "__MACOSX/._result_1.csv": b"\x00\x05\x16\x07\x00",
            "result_1.csv": table,
        }
    )


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


#: Options and defaults of the faults of result files.
FILE_KINDS: Mapping[str, Mapping[str, Any]] = {
    **TRANSFER_KINDS,
    **dict.fromkeys(_ROW_KINDS, {"count": 1}),
    "wrong_columns": {},
    "no_header": {},
    "not_a_table": {},
    "encrypted": {},
    "stray_member": {},
    "path_tricks": {"name": "../../evil.csv"},
    "bomb": {"bytes": 1 << 31},
}


def spoiled_file(
    kind: str,
    options: Mapping[str, Any],
    rows: Sequence[Row],
    product: str,
    form: SandboxConfig,
) -> bytes:
    """A product's result file with the fault of that kind in it."""
    if kind in _ROW_KINDS:
        return _wrapped(_table(_ROW_KINDS[kind](rows, options["count"]), form), product, form)
    match kind:
        case "wrong_columns":
            names = [f"field_{n}" for n, _ in enumerate(header_of(form))]
            return _wrapped(_table(rows, form, names), product, form)
        case "no_header":
            return _wrapped(_table(rows, form, ()), product, form)
        case "encrypted":
            return _encrypted(_table(rows, form))
        case "stray_member":
            return _with_strays(_table(rows, form))
        case "path_tricks":
            return _archive({options["name"]: _table(rows, form)})
        case "bomb":
            return bomb(options["bytes"])
        case _:
            return _PAGE
