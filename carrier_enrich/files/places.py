"""Where files are: in a local folder, or wherever fsspec reaches by a URL.

Whatever is written is written beside its target and takes its place when it is whole, so that
nobody ever sees half of a file or of a folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from carrier_enrich.errors import BadInput

#: Names that are no data: those of markers, checksums and files being written.
_HIDDEN = ("_", ".")


class Place(Protocol):
    """A file or a folder, which may not be there yet."""

    @property
    def name(self) -> str:
        """Its last part."""

    @property
    def identity(self) -> str:
        """The same for every way to write this place."""

    def is_folder(self) -> bool:
        """Whether it is there and a folder."""

    def version(self) -> tuple[Any, ...]:
        """What differs when the file has changed."""

    def open(self) -> IO[bytes]:
        """The file, to be read anywhere in it. BadInput where that can't be."""

    def files(self) -> Sequence[str]:
        """Relative names of the data files below a folder, in order, separated by slashes."""

    def within(self, name: str) -> Place:
        """A file below a folder, by its relative name."""

    def check_writable(self) -> None:
        """BadInput where it can be known now that nothing can be written here."""

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """A new file, safe on its disk at the end."""

    @contextmanager
    def staged(self) -> Iterator[Place]:
        """A place beside this one whose file or folder replaces this one's at the end."""


def place_of(path: str | Path) -> Place:
    """The place that a local path or a URL names. BadInput for a URL without its library."""
    text = str(path)
    if "://" not in text:
        return LocalPlace(Path(path))
    try:
        import fsspec
    except ImportError:
        raise BadInput(f"{text} is a URL: pip install fsspec, and what it needs there") from None
    try:
        system, within = fsspec.core.url_to_fs(text)
    except (ImportError, ValueError) as error:
        raise BadInput(f"{text} can't be reached: {str(error).splitlines()[0]}") from None
    return RemotePlace(system, within.rstrip("/"), text)


def _beside(name: str) -> str:
    return f".{name}.{secrets.token_hex(4)}.part"


def _is_data(name: str) -> bool:
    return not any(part.startswith(_HIDDEN) for part in name.split("/"))


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A path of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.name

    @property
    def identity(self) -> str:
        """The path with its links followed."""
        return str(self.path.resolve())

    def is_folder(self) -> bool:
        """Whether it is there and a folder."""
        return self.path.is_dir()

    def version(self) -> tuple[Any, ...]:
        """Size and time of the last change."""
        stat = self.path.stat()
        return stat.st_size, stat.st_mtime_ns

    def open(self) -> IO[bytes]:
        """The file. BadInput where it can't be read."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise BadInput(f"{self} can't be read: {error.strerror}") from None

    def files(self) -> Sequence[str]:
        """Relative names of the data files below."""
        found = (file for file in self.path.rglob("*") if file.is_file())
        names = (file.relative_to(self.path).as_posix() for file in found)
        return sorted(filter(_is_data, names))

    def within(self, name: str) -> LocalPlace:
        """A file below."""
        return LocalPlace(self.path / name)

    def check_writable(self) -> None:
        """BadInput where the folder around it is not there or not writable."""
        if not os.access(self.path.resolve().parent, os.W_OK):
            raise BadInput(f"{self} can't be written: its folder is not there or not writable")

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """A new file, synced at the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def staged(self) -> Iterator[LocalPlace]:
        """A place beside this one, which replaces it at the end, with its permissions."""
        target = self.path.resolve()
        beside = target.with_name(_beside(target.name))
        try:
            yield LocalPlace(beside)
            if target.is_dir():
                old = target.with_name(_beside(target.name))
                target.rename(old)
                beside.rename(target)
                shutil.rmtree(old)
            else:
                if target.exists():
                    shutil.copymode(target, beside)
                beside.replace(target)
        except BaseException:
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


def _sync_folder(path: Path) -> None:
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A path of an fsspec file system."""

    system: Any
    path: str
    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def identity(self) -> str:
        """The path with its file system."""
        return f"{self.system.protocol}:{self.path}"

    def is_folder(self) -> bool:
        """Whether it is there and a folder."""
        return bool(self.system.isdir(self.path))

    def version(self) -> tuple[Any, ...]:
        """Whatever the file system tells by which a change is seen."""
        info = self.system.info(self.path)
        marks = ("ETag", "mtime", "LastModified", "last_modified", "updated", "created")
        return (info.get("size"), *(str(info.get(mark)) for mark in marks))

    def open(self) -> IO[bytes]:
        """The file. BadInput where it can't be read."""
        try:
            file: IO[bytes] = self.system.open(self.path, "rb")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise BadInput(f"{self} can't be read: {reason}") from None
        return file

    def files(self) -> Sequence[str]:
        """Relative names of the data files below."""
        names = (str(found)[len(self.path) :].lstrip("/") for found in self.system.find(self.path))
        return sorted(filter(_is_data, names))

    def within(self, name: str) -> RemotePlace:
        """A file below."""
        return RemotePlace(self.system, f"{self.path}/{name}", f"{self.url.rstrip('/')}/{name}")

    def check_writable(self) -> None:
        """Nothing can be known before a file system is written to."""

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """A new file."""
        self.system.makedirs(self.path.rsplit("/", 1)[0], exist_ok=True)
        with self.system.open(self.path, "wb") as file:
            yield file

    @contextmanager
    def staged(self) -> Iterator[RemotePlace]:
        """A place beside this one, which is moved here at the end."""
        above, _, name = self.path.rpartition("/")
        beside = RemotePlace(self.system, f"{above}/{_beside(name)}", self.url)
        try:
            yield beside
            if self.system.exists(self.path):
                self.system.rm(self.path, recursive=True)
            self.system.mv(beside.path, self.path, recursive=beside.is_folder())
        except BaseException:
            if self.system.exists(beside.path):
                self.system.rm(beside.path, recursive=True)
            raise
