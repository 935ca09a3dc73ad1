# SPDX-License-Identifier: Apache-2.0
"""A session as one file: a ZIP archive with its SHA-256 beside it, read in place.

The bundled sessions are stored this way: thousands of small files would slow down every clone. Every file has the
name and the bytes that it had in the session's folder, so the hashes in the records hold. There are two ways to
pack, and an archive says in which one each of its files is: as an entry of its own, stored or deflated, or as a
part of a block of contents (``harness/store/blocks.py``), as archives are written now. A ``.gz`` file of a block is
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
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sized
from functools import cache, cached_property
from pathlib import Path
from typing import IO, NamedTuple, TypeVar, cast

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.store import blocks, layout
from harness.store.blocks import Block, Contents, Damaged, PackedFile
from harness.store.durable import explained, write_synced
from harness.store.gzipping import OtherBytes, Recompressed, library, pieces_of, probe_sha256, write_gzip

CHECKSUM = ".sha256"
_SHA256_DIGITS = 64


def checked(archive: Path, entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return an entry of an archive.

    Raises:
        InputError: it could be written outside of a session's folder, or fill a disk.
    """
    mode = entry.external_attr >> 16
    methods = [zipfile.ZIP_STORED]
    if not entry.filename.startswith(blocks.FOLDER):
        methods.append(zipfile.ZIP_DEFLATED)
    problem = name_problem(entry.filename)
    if problem is None and "\0" in entry.orig_filename:
        problem = "a name in another spelling"
    elif problem is None and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        problem = "not a regular file"
    elif problem is None and entry.compress_type not in methods:
        problem = "packed by a method that no session is"  # LZMA asks for as much memory as it likes
    elif problem is None and entry.flag_bits & 0x1:
        problem = "encrypted"
    if problem is not None:
        raise InputError(f"damaged: {problem}", file=archive, place=repr(entry.filename))
    return entry


def name_problem(text: str) -> str | None:
    """Return why a file of a session cannot have this name; ``None``: it can."""
    parts = text.split("/")  # a path object for each name of an archive takes half of the time to open it
    nowhere = {"", "."}.issuperset(parts) or text.startswith("/") or text.endswith("/")
    if nowhere or ".." in parts or "\\" in text:
        return "not the name of a file below the session's folder"
    if text == layout.RECOMPRESSED:
        return "a list that only unpacking writes"
    return "a name in another spelling" if "" in parts or "." in parts or "\0" in text else None


def expected_sha256(path: Path) -> str:
    """Return the SHA-256 that the file beside the archive names.

    Raises:
        InputError: there is no such file, or no hash in it.
    """
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


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


def used_last(cache: OrderedDict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    """Return what is kept for a key, or make it and keep it.

    While the lengths of all add up to more than ``most``, that which was used longest ago is left out of ``kept``.
    """
    held = cache.pop(key, None)
    if held is None:
        held = make()
    cache[key] = held  # behind all others
    while sum(map(len, cache.values())) > most:
        cache.popitem(last=False)
    return held


SUFFIX = ".zip"
#: An archive whose files, or their contents, are said to be more than this much larger than itself is refused
#: before a byte of them is read. Contents of sessions are several times below that.
MAX_RATIO = 100
_SMALL_BYTES = 64 << 20
#: Contents of blocks that are kept in memory, of all archives together: trials are read one after the other.
_KEPT_BYTES = 64 << 20
#: Files whose places are kept, of all archives together: a session is found by many who do not know of each other.
_KEPT_PLACES = 50_000
#: What the library raises for entries that are damaged, or ask for what it cannot do (then a RuntimeError).
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error, Damaged)
_BROKEN = (*_DAMAGED, OSError)


def archive_of(folder: Path) -> Path:
    """Return where the archive of a session's folder lies: beside the folder, with ``.zip`` after its name."""
    return folder.with_name(folder.name + SUFFIX)


class _Place(NamedTuple):
    """Where the content of a file is: in which block, and from which byte of its contents on."""

    block: Block
    begin: int
    file: PackedFile


class Archive:
    """The files of one archived session. The checksum is verified before anything is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: tuple[int, zipfile.ZipFile] | None = None
        #: Of a trial, the hashes of its files as its record has them.
        self._recorded: dict[str, Mapping[str, str]] = {}

    @cached_property
    def sha256(self) -> str:
        """The verified SHA-256 of the archive.

        Raises:
            InputError: the archive or its checksum file is missing or damaged.
        """
        expected = expected_sha256(self.path)
        try:
            result = file_sha256(self.path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.path) from None
        if result != expected:
            raise InputError(
                "damaged: its bytes are not those of its checksum", file=self.path, found=result,
                allowed=expected,
            )  # fmt: skip
        return result

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Name of every file, relative to the session's folder -> its size in bytes.

        Raises:
            InputError: not a ZIP archive, damaged, or with an entry that does not belong into a session.
        """
        own = {
            name: entry.file_size
            for name, entry in self._entries.items()
            if not name.startswith(blocks.FOLDER)
        }
        return own | {name: place.file.stored_bytes for name, place in self._placed.items()}

    def read(self, name: str) -> bytes:
        """Return the bytes of one file.

        Raises:
            InputError: there is no such file, or it is damaged.
        """
        self._require(name)
        made = io.BytesIO()
        try:
            self._write(name, made)
        except _BROKEN as error:
            raise InputError(f"damaged: {error}", file=self.path, place=name) from None
        return made.getvalue()

    def recorded_sha256(self, name: str) -> str:
        """Return the SHA-256 that a file had in the session's folder, whatever zlib compresses it again here.

        Raises:
            InputError: there is no such file, or it is damaged.
        """
        self._require(name)
        place = self._placed.get(name)
        if place is None or place.file.gzip is None:
            return hashlib.sha256(self.read(name)).hexdigest()
        return place.file.gzip.sha256 or self._sha256_of_record(name)

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

    def extracted_content(self, name: str) -> Path:
        """Return a copy of what a ``.gz`` file holds, with its name without ``.gz``; of others ``extracted``.

        Only of files in blocks: a ``.gz`` file that is an entry of its own is copied as it is.
        """
        self._require(name)
        if not name.endswith(".gz") or name not in self._placed:
            return self.extracted(name)
        copy = _scratch() / f"{self.sha256}-contents" / name.removesuffix(".gz")
        if not copy.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            self._copy(name, copy, content=True)
        return copy

    def open_content(self, name: str) -> IO[bytes]:
        """Open a file for reading, decompressed where its name ends in ``.gz``.

        Raises:
            InputError: there is no such file, or it is damaged.
        """
        self._require(name)
        place = self._placed.get(name)
        if place is None or place.block.bytes > blocks.MAX_SHARED_BYTES:
            path = self.extracted_content(name)
            return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
        try:
            return io.BytesIO(b"".join(self._pieces(place)))
        except _BROKEN as error:
            raise InputError(f"damaged: {error}", file=self.path, place=name) from None

    def unpack(self, target: Path) -> tuple[str, ...]:
        """Write every file below ``target``, which must not exist yet or be empty.

        Returns:
            The ``.gz`` files that the zlib here compressed to other bytes than their records name; their contents
            are the same. ``recompressed.json`` then says so beside them.

        Raises:
            InputError: ``target`` holds something, or the archive is damaged.
            StoreError: it cannot be written.
        """
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError("already exists", file=target, allowed="a new or an empty folder")
        differing: dict[str, Recompressed] = {}
        for name in self.sizes:
            copy = target / name
            with explained(copy):
                copy.parent.mkdir(parents=True, exist_ok=True)
                self._copy(name, copy)
                place = self._placed.get(name)
                if place is not None and place.file.gzip is not None:
                    recorded, result = self.recorded_sha256(name), file_sha256(copy)
                    if result != recorded:
                        differing[name] = Recompressed(
                            sha256=result, bytes=copy.stat().st_size,
                            recorded_sha256=recorded, recorded_bytes=place.file.gzip.bytes,
                        )  # fmt: skip
        if differing:
            text = target / layout.RECOMPRESSED
            with explained(text):
                write_synced(
                    text, OtherBytes(library=library(), files=differing).model_dump_json(indent=1).encode()
                )
        return tuple(differing)

    @property
    def compresses_alike(self) -> bool:
        """Whether the zlib here gives the bytes that it gave where the session was packed."""
        return self._contents is None or self._contents.gzip_probe == probe_sha256()

    def _copy(self, name: str, target: Path, *, content: bool = False) -> None:
        """Copy one file out, or what it holds; it appears whole or not at all."""
        fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with fresh.open("wb") as stream:
                if content:
                    stream.writelines(self._pieces(self._placed[name]))
                else:
                    self._write(name, stream)
        except _DAMAGED as error:
            fresh.unlink(missing_ok=True)
            raise InputError(f"damaged: {error}", file=self.path, place=name) from None
        fresh.rename(target)

    def _write(self, name: str, target: IO[bytes]) -> None:
        """Write the bytes of one file."""
        place = self._placed.get(name)
        if place is None:
            with self._opened().open(name) as source:
                target.writelines(pieces_of(source))
        elif place.file.gzip is None:
            target.writelines(self._pieces(place))
        else:
            write_gzip(self._pieces(place), target)

    def _pieces(self, place: _Place) -> Iterator[bytes]:
        """Yield the content of a file of a block."""
        block, begin, file = place
        if block.bytes > blocks.MAX_SHARED_BYTES:  # it is the only file of the block
            with self._opened().open(block.entry) as source:
                yield from blocks.pieces_of_block(block, source)
            return

        def read() -> bytes:
            with self._opened().open(block.entry) as source:
                return b"".join(blocks.pieces_of_block(block, source))

        held = used_last(_KEPT, (self.sha256, block.entry), read, _KEPT_BYTES)
        yield held[begin : begin + file.bytes]

    def _sha256_of_record(self, name: str) -> str:
        """Return the SHA-256 of a trial's file where the list leaves it to the trial's record."""
        trial_id, _, file = name.partition("/")
        if trial_id not in self._recorded:
            self._recorded[trial_id] = blocks.recorded_hashes(self.read(f"{trial_id}/{layout.RECORD}"))
        try:
            return self._recorded[trial_id][file]
        except KeyError:
            raise InputError(
                "damaged: the hash of its compressed bytes is neither in the list nor in the trial's record",
                file=self.path, place=name,
            ) from None  # fmt: skip

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

    @cached_property
    def _entries(self) -> Mapping[str, zipfile.ZipInfo]:
        """The entries of the ZIP archive by name, checked: those of files, of blocks, and of the blocks' list."""
        _ = self.sha256
        entries = [checked(self.path, entry) for entry in self._opened().infolist()]
        self._refuse_large(sum(entry.file_size for entry in entries))
        return {entry.filename: entry for entry in entries}

    @cached_property
    def _contents(self) -> Contents | None:
        """The list of blocks; ``None``: every file is an entry of its own."""
        packed = {name for name in self._entries if name.startswith(blocks.FOLDER)}
        if not packed:
            return None
        try:
            if blocks.CONTENTS not in packed:
                raise Damaged("a block that no list names")
            result = blocks.read_contents(self._opened().read(blocks.CONTENTS))
            named = {blocks.CONTENTS, *(block.entry for block in result.blocks)}
            if named != packed or len(named) != 1 + len(result.blocks):
                raise Damaged("the blocks are not those of the list")
        except blocks.OtherVersion as error:
            raise InputError(
                "packed by another version of this program", file=self.path, place=blocks.CONTENTS,
                found=error.version, allowed=f"1 to {blocks.VERSION}",
            ) from None  # fmt: skip
        except _BROKEN as error:
            raise InputError(f"damaged: {error}", file=self.path, place=blocks.CONTENTS) from None
        return result

    @cached_property
    def _placed(self) -> Mapping[str, _Place]:
        """Name of every file of a block -> where its content is."""
        placed = used_last(_PLACES, self.sha256, self._read_places, _KEPT_PLACES)
        self._refuse_large(sum(place.file.stored_bytes + place.file.bytes for place in placed.values()))
        return placed

    def _read_places(self) -> dict[str, _Place]:
        placed: dict[str, _Place] = {}
        for block in () if self._contents is None else self._contents.blocks:
            begin = 0
            for file in block.files:
                problem = name_problem(file.name)
                if file.name.startswith(blocks.FOLDER):
                    problem = "a name that archives use themselves"
                elif file.name in placed or file.name in self._entries:
                    problem = "a file that is there twice"
                elif (file.gzip is not None) != file.name.endswith(".gz"):
                    problem = "a .gz file without the hash of its compressed bytes, or another file with one"
                if problem is not None:
                    raise InputError(f"damaged: {problem}", file=self.path, place=repr(file.name))
                placed[file.name] = _Place(block, begin, file)
                begin += file.bytes
        return placed

    def _refuse_large(self, size_bytes: int) -> None:
        allowed = MAX_RATIO * self.path.stat().st_size + _SMALL_BYTES
        if size_bytes > allowed:
            raise InputError(
                "damaged: too large when unpacked", file=self.path, found=f"{size_bytes} bytes",
                allowed=f"{allowed} bytes",
            )  # fmt: skip


#: Contents of blocks by archive and entry; the one that was used last is the last one.
_KEPT: OrderedDict[tuple[str, str], bytes] = OrderedDict()
#: Of an archive by its verified hash, where each of its files is; the one that was used last is the last one.
_PLACES: OrderedDict[str, dict[str, _Place]] = OrderedDict()


@cache
def _scratch() -> Path:
    """A folder of this process for copies; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="rematch-archive-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
