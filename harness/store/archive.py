# SPDX-License-Identifier: Apache-2.0
"""A session as one file: a ZIP archive with its SHA-256 beside it, read in place.

The bundled sessions are stored this way: thousands of small files would slow down every clone. Every file has the
name and the bytes that it had in the session's folder, so the hashes in the records hold. A file is an entry of its
own, stored or deflated, or a part of a block of contents (``harness/store/blocks.py``). A ``.gz`` file of a block is
compressed again when its bytes are asked for; readers of what it holds get that without.
"""

from __future__ import annotations

import atexit
import gzip
import hashlib
import io
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import IO, NamedTuple, cast

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.store import blocks
from harness.store.blocks import Block, Contents, Damaged, PackedFile
from harness.store.layout import explained, pieces_of, probe_sha256, write_gzip

SUFFIX = ".zip"
CHECKSUM = ".sha256"
#: An archive whose files, or their contents, are said to be more than this much larger than itself is refused
#: before a byte of them is read. Contents of sessions are several times below that.
MAX_RATIO = 100
_SMALL_BYTES = 64 << 20
#: What the library raises for entries that are damaged, or ask for what it cannot do (then a RuntimeError).
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error, Damaged)
_BROKEN = (*_DAMAGED, OSError)


def archive_of(folder: Path) -> Path:
    """Return where the archive of a session's folder lies: beside the folder, with ``.zip`` after its name."""
    return folder.with_name(folder.name + SUFFIX)


def archive_at(path: Path) -> Archive:
    """Return the archive of that file, the same object until the file changes: a session is opened by many."""
    state = path.stat()
    return _opened_once(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=32)
def _opened_once(path: Path, _mtime_ns: int, _size: int) -> Archive:
    return Archive(path)


class _Place(NamedTuple):
    """Where the content of a file is: from which byte on of which block; ``None``: an entry of its own."""

    file: PackedFile
    block: Block | None = None
    begin: int = 0


class Archive:
    """The files of one archived session. The checksum is verified before anything is read.

    An archive, or a file of it, that is missing or damaged is an ``InputError``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: tuple[int, zipfile.ZipFile] | None = None

    @cached_property
    def sha256(self) -> str:
        """The verified SHA-256 of the archive."""
        beside = self.path.with_name(self.path.name + CHECKSUM)
        try:
            text = beside.read_text(encoding="ascii", errors="replace")
            result = file_sha256(self.path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=error.filename or self.path) from None
        expected = text.split(" ", 1)[0].strip().lower()
        if len(expected) != len(result) or set(expected) - set("0123456789abcdef"):
            raise InputError(
                "no SHA-256", file=beside, place="line 1", found=text[:80], allowed="as sha256sum writes it"
            )
        if result != expected:
            raise InputError(
                "damaged: its bytes are not those of its checksum", file=self.path, found=result,
                allowed=expected,
            )  # fmt: skip
        return result

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Name of every file, relative to the session's folder -> its size in bytes."""
        return {name: place.file.stored_bytes for name, place in self._placed.items()}

    def read(self, name: str) -> bytes:
        """Return the bytes of one file."""
        result = io.BytesIO()
        with self._damage(name):
            result.writelines(self._stored_pieces(name))
        return result.getvalue()

    def listed_sha256(self, name: str) -> str | None:
        """Return the SHA-256 that a file had in the session's folder, whatever zlib compresses it again here.

        ``None``: the list leaves that to the record of its trial.
        """
        packed = self._place(name).file.gzip
        return hashlib.sha256(self.read(name)).hexdigest() if packed is None else packed.sha256

    def extracted(self, name: str) -> Path:
        """Return a copy of one file outside of the archive, made once per process and removed when it ends.

        Of a ``.gz`` file in a block it has what that holds, and its name without ``.gz``.
        """
        copy = _scratch() / self.sha256 / name
        if self._place(name).file.gzip is not None:
            copy = (_scratch() / f"{self.sha256}-contents" / name).with_suffix("")
        if not copy.is_file():
            self._copy(name, copy, self._pieces)
        return copy

    def open_content(self, name: str) -> IO[bytes]:
        """Open a file for reading, decompressed where its name ends in ``.gz``."""
        block = self._place(name).block
        if block is None or block.bytes > blocks.MAX_SHARED_BYTES:
            return open_path(self.extracted(name))
        with self._damage(name):
            return io.BytesIO(b"".join(self._pieces(name)))

    def unpack(self, target: Path) -> None:
        """Write every file below ``target``, which must not exist yet or be empty.

        Raises:
            InputError: ``target`` holds something, the archive is damaged, or the zlib here compresses ``.gz`` files
                to other bytes.
            StoreError: it cannot be written.
        """
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError("already exists", file=target, allowed="a new or an empty folder")
        names = self.sizes
        if not self.compresses_alike:
            raise InputError(
                "was packed by another zlib, so that its .gz files would not be those of its records", file=self.path,
                place="zlib here", found=zlib.ZLIB_RUNTIME_VERSION,
                allowed="the archive as it is, which every command reads",
            )  # fmt: skip
        for name in names:
            with explained(target / name):
                self._copy(name, target / name, self._stored_pieces)

    @property
    def compresses_alike(self) -> bool:
        """Whether the zlib here gives the bytes that it gave where the session was packed."""
        return self._contents.gzip_probe == probe_sha256()

    def block_pieces(self, entry: str) -> Iterator[bytes]:
        """Yield the contents of a block, by the name of its entry."""
        block = next(block for block in self._contents.blocks if block.entry == entry)
        with self._opened().open(entry) as source:
            yield from blocks.pieces_of_block(block, source)

    def _copy(self, name: str, target: Path, pieces: Callable[[str], Iterator[bytes]]) -> None:
        """Write pieces of one file to a path, which appears whole or not at all."""
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with self._damage(name, _DAMAGED), fresh.open("wb") as stream:
                stream.writelines(pieces(name))
        except InputError:
            fresh.unlink(missing_ok=True)
            raise
        fresh.rename(target)

    def _stored_pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of one file as they were in the session's folder."""
        if self._place(name).file.gzip is None:
            yield from self._pieces(name)
        else:
            target = io.BytesIO()
            write_gzip(self._pieces(name), target)
            yield target.getvalue()

    def _pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file of a block, or the bytes of an entry of its own."""
        file, block, begin = self._place(name)
        if block is None:
            with self._opened().open(name) as source:
                yield from pieces_of(source)
        elif block.bytes <= blocks.MAX_SHARED_BYTES:
            yield _shared_contents(self, block.entry)[begin : begin + file.bytes]
        else:  # it is the only file of the block
            yield from self.block_pieces(block.entry)

    def _place(self, name: str) -> _Place:
        if name not in self._placed:
            raise InputError("the session has no such file", file=self.path, place=name)
        return self._placed[name]

    @contextmanager
    def _damage(self, place: str, kinds: tuple[type[Exception], ...] = _BROKEN) -> Iterator[None]:
        """Name the archive and the place in it where the library finds damage."""
        try:
            yield
        except kinds as error:
            raise InputError(f"damaged: {error}", file=self.path, place=place) from None

    def _opened(self) -> zipfile.ZipFile:
        """The archive, open for reading; once per process, since a fork shares the position in the file."""
        if self._open is None or self._open[0] != os.getpid():
            try:
                self._open = (os.getpid(), zipfile.ZipFile(self.path))
            except (*_BROKEN, ValueError) as error:
                raise InputError(f"not a readable ZIP archive ({error})", file=self.path) from None
        return self._open[1]

    @cached_property
    def _entries(self) -> Mapping[str, zipfile.ZipInfo]:
        """The entries of the ZIP archive by name, checked: those of files, of blocks, and of the blocks' list."""
        _ = self.sha256
        entries = self._opened().infolist()
        for entry in entries:
            if problem := _entry_problem(entry):
                raise InputError(f"damaged: {problem}", file=self.path, place=repr(entry.filename))
        self._refuse_large(sum(entry.file_size for entry in entries))
        return {entry.filename: entry for entry in entries}

    @cached_property
    def _contents(self) -> Contents:
        """The list of blocks."""
        packed = {name for name in self._entries if name.startswith(blocks.FOLDER)}
        with self._damage(blocks.CONTENTS):
            if blocks.CONTENTS not in packed:
                raise Damaged("no list of packed contents")
            result = blocks.read_contents(self._opened().read(blocks.CONTENTS))
            if sorted(packed) != sorted([blocks.CONTENTS, *(block.entry for block in result.blocks)]):
                raise Damaged("the blocks are not those of the list")
        return result

    @cached_property
    def _placed(self) -> Mapping[str, _Place]:
        """Name of every file -> where its content is."""
        placed = {
            name: _Place(PackedFile(name=name, bytes=entry.file_size))
            for name, entry in self._entries.items()
            if not name.startswith(blocks.FOLDER)
        }
        for block in self._contents.blocks:
            begin = 0
            for file in block.files:
                problem = _name_problem(file.name)
                if file.name.startswith(blocks.FOLDER):
                    problem = "a name that archives use themselves"
                elif file.name in placed:
                    problem = "a file that is there twice"
                elif (file.gzip is not None) != file.name.endswith(".gz"):
                    problem = "a .gz file without the hash of its compressed bytes, or another file with one"
                if problem is not None:
                    raise InputError(f"damaged: {problem}", file=self.path, place=repr(file.name))
                placed[file.name] = _Place(file, block, begin)
                begin += file.bytes
        self._refuse_large(
            sum(place.file.stored_bytes + place.file.bytes for place in placed.values() if place.block)
        )
        return placed

    def _refuse_large(self, size_bytes: int) -> None:
        allowed = MAX_RATIO * self.path.stat().st_size + _SMALL_BYTES
        if size_bytes > allowed:
            raise InputError(
                "damaged: too large when unpacked", file=self.path, found=f"{size_bytes} bytes",
                allowed=f"{allowed} bytes",
            )  # fmt: skip


def open_path(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed where its name ends in ``.gz``."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


@lru_cache(maxsize=16)
def _shared_contents(archive: Archive, entry: str) -> bytes:
    """Return the contents of a block; a few are in memory, for trials are read one after the other."""
    return b"".join(archive.block_pieces(entry))


@cache
def _scratch() -> Path:
    """A folder of this process for copies; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="rematch-archive-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _entry_problem(entry: zipfile.ZipInfo) -> str | None:
    """Return why an entry could be written outside of a session's folder, or fill a disk; ``None``: it could not."""
    methods = {zipfile.ZIP_STORED}
    if not entry.filename.startswith(blocks.FOLDER):
        methods.add(zipfile.ZIP_DEFLATED)
    if problem := _name_problem(entry.filename):
        return problem
    if "\0" in entry.orig_filename:
        return "a name in another spelling"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "not a regular file"
    if entry.compress_type not in methods:
        return "packed by a method that no session is"  # LZMA asks for as much memory as it likes
    return "encrypted" if entry.flag_bits & 0x1 else None


def _name_problem(text: str) -> str | None:
    """Return why a file of a session cannot have this name; ``None``: it can."""
    parts = text.split("/")  # a path object for each name of an archive takes half of the time to open it
    nowhere = {"", "."}.issuperset(parts) or text.startswith("/") or text.endswith("/")
    if nowhere or ".." in parts or "\\" in text:
        return "not the name of a file below the session's folder"
    return "a name in another spelling" if "" in parts or "." in parts or "\0" in text else None
