# SPDX-License-Identifier: Apache-2.0
"""A session as one file: a ZIP archive with its SHA-256 beside it, read in place.

The bundled sessions are stored this way: thousands of small files would slow down every clone. The bytes of
each file are those of the session's folder, so the hashes in the records hold. Files that are compressed
already are stored, the others are deflated; names are sorted and time stamps fixed, so that the same session
gives the same archive.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from harness.agent.hashing import file_sha256
from harness.errors import InputError, StoreError
from harness.store import layout
from harness.store.durable import explained, sync_folder

SUFFIX = ".zip"
CHECKSUM = ".sha256"
#: The earliest time that ZIP can express; every entry has it.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_COMPRESSED = (".gz", ".jfr", ".zip", ".xz", ".zst")
#: Files of a session are compressed already or are small: an archive whose files are said to be more than this
#: much larger than itself is refused before a byte of them is read.
MAX_RATIO = 100
_SMALL_BYTES = 64 << 20
_COPY_BYTES = 1 << 20
_SHA256_DIGITS = 64
#: What the library raises for entries that are damaged, or ask for what it cannot do (then a RuntimeError).
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error)
_BROKEN = (*_DAMAGED, OSError)


def archive_of(folder: Path) -> Path:
    """Return where the archive of a session's folder lies: beside the folder, with ``.zip`` after its name."""
    return folder.with_name(folder.name + SUFFIX)


class Archive:
    """The files of one archived session. The checksum is verified before anything is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: tuple[int, zipfile.ZipFile] | None = None

    @cached_property
    def sha256(self) -> str:
        """The verified SHA-256 of the archive.

        Raises:
            InputError: the archive or its checksum file is missing or damaged.
        """
        expected = _expected(self.path)
        try:
            found = file_sha256(self.path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.path) from None
        if found != expected:
            raise InputError(
                "damaged: its bytes are not those of its checksum", file=self.path, found=found,
                allowed=expected,
            )  # fmt: skip
        return found

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Name of every file, relative to the session's folder -> its size in bytes.

        Raises:
            InputError: not a ZIP archive, damaged, or with an entry that does not belong into a session.
        """
        _ = self.sha256
        sizes = {entry.filename: entry.file_size for entry in map(self._checked, self._opened().infolist())}
        allowed = MAX_RATIO * self.path.stat().st_size + _SMALL_BYTES
        if sum(sizes.values()) > allowed:
            raise InputError(
                "damaged: too large when unpacked", file=self.path, found=f"{sum(sizes.values())} bytes",
                allowed=f"{allowed} bytes",
            )  # fmt: skip
        return sizes

    def read(self, name: str) -> bytes:
        """Return the bytes of one file.

        Raises:
            InputError: there is no such file, or it is damaged.
        """
        self._require(name)
        try:
            return self._opened().read(name)
        except _BROKEN as error:
            raise InputError(f"damaged: {error}", file=self.path, place=name) from None

    def extracted(self, name: str) -> Path:
        """Return a copy of one file outside of the archive, for readers that need a path.

        It is made once per process and removed when the process ends.
        """
        self._require(name)
        copy = _scratch() / self.sha256 / name
        if not copy.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            self._copy(name, copy)
        return copy

    def unpack(self, target: Path) -> None:
        """Write every file below ``target``, which must not exist yet or be empty.

        Raises:
            InputError: ``target`` holds something, or the archive is damaged.
            StoreError: it cannot be written.
        """
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError("already exists", file=target, allowed="a new or an empty folder")
        for name in self.sizes:
            copy = target / name
            with explained(copy):
                copy.parent.mkdir(parents=True, exist_ok=True)
                self._copy(name, copy)

    def _copy(self, name: str, target: Path) -> None:
        """Copy one file out; it appears whole or not at all."""
        fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with self._opened().open(name) as source, fresh.open("wb") as stream:
                shutil.copyfileobj(source, stream, _COPY_BYTES)
        except _DAMAGED as error:
            fresh.unlink(missing_ok=True)
            raise InputError(f"damaged: {error}", file=self.path, place=name) from None
        fresh.rename(target)

    def _require(self, name: str) -> None:
        if name not in self.sizes:
            raise InputError("the session has no such file", file=self.path, place=name)

    def _opened(self) -> zipfile.ZipFile:
        """The archive, open for reading; once per process, since a fork shares the position in the file."""
        if self._open is None or self._open[0] != os.getpid():
            try:
                self._open = (os.getpid(), zipfile.ZipFile(self.path))
            except (*_BROKEN, ValueError) as error:
                raise InputError(f"not a readable ZIP archive ({error})", file=self.path) from None
        return self._open[1]

    def _checked(self, entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
        """Refuse what could be written outside of a session's folder, or fill a disk."""
        name = PurePosixPath(entry.filename)
        mode = entry.external_attr >> 16
        problem = None
        if entry.is_dir() or name.is_absolute() or ".." in name.parts or "\\" in entry.filename:
            problem = "not the name of a file below the session's folder"
        elif str(name) != entry.filename or "\0" in entry.orig_filename:
            problem = "a name in another spelling"
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            problem = "not a regular file"
        elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problem = "packed by a method that no session is"  # LZMA asks for as much memory as it likes
        elif entry.flag_bits & 0x1:
            problem = "encrypted"
        if problem is not None:
            raise InputError(f"damaged: {problem}", file=self.path, place=repr(entry.filename))
        return entry


def pack(folder: Path, target: Path) -> Path:
    """Write a session's folder as one archive with its checksum file; return the archive.

    What was interrupted is part of it; locks and unfinished trials are not.

    Raises:
        InputError: there is no session in ``folder``.
        StoreError: the archive cannot be written, or stands there already.
    """
    if not (folder / layout.HEADER).is_file():
        raise InputError("no session here", file=folder, allowed=f"a folder with {layout.HEADER}")
    if target.exists():
        raise StoreError(f"{target}: exists already; an archive is never rewritten")
    fresh = target.with_name(f".{target.name}.new")
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(fresh, "w") as archive:
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder).as_posix()
                if path.is_file() and not path.is_symlink() and not _left_out(name):
                    _add(archive, path, name)
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        line = f"{file_sha256(fresh)}  {target.name}\n"
        target.with_name(target.name + CHECKSUM).write_text(line, encoding="ascii")
        fresh.rename(target)
        sync_folder(target.parent)
    return target


def _left_out(name: str) -> bool:
    first = name.split("/", 1)[0]
    return first == layout.LOCK or first.startswith(layout.PARTIAL)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.compress_type = zipfile.ZIP_STORED if name.endswith(_COMPRESSED) else zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.create_system = 3  # Unix, on every system: the same bytes everywhere
    archive.writestr(entry, path.read_bytes(), compresslevel=9)


def _expected(path: Path) -> str:
    """Return the SHA-256 that the file beside the archive names."""
    beside = path.with_name(path.name + CHECKSUM)
    try:
        text = beside.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=beside) from None
    digest = text.split(" ", 1)[0].strip().lower()
    if len(digest) != _SHA256_DIGITS or set(digest) - set("0123456789abcdef"):
        raise InputError(
            "no SHA-256", file=beside, place="line 1", found=text[:80], allowed="as sha256sum writes it"
        )
    return digest


@cache
def _scratch() -> Path:
    """A folder of this process for copies; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="rematch-archive-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
