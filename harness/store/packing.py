# SPDX-License-Identifier: Apache-2.0
"""Writing the archive of a session: once, compared with what it was made of before it gets its name.

Contents are packed together in blocks (``harness/store/blocks.py``). An entry of its own has what lies in the
session's own folder (header, log), so that any ZIP tool shows it, and what cannot be made smaller: recordings, and
``.gz`` files that the zlib here does not give again. Names are sorted and time stamps fixed: the same session gives
the same archive on the same versions of the libraries.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from harness.agent.files import file_sha256
from harness.errors import InputError, StoreError
from harness.store import blocks, layout
from harness.store.archive import CHECKSUM, Archive, open_path
from harness.store.blocks import Block, Contents, Gzip, PackedFile
from harness.store.layout import (
    COMPRESSED,
    explained,
    pieces_of,
    probe_sha256,
    replace,
    sync,
    write_gzip,
)

#: The earliest time that ZIP can express; every entry has it.
_EPOCH = (1980, 1, 1, 0, 0, 0)


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
        try:
            names = [name for path in sorted(folder.rglob("*")) if (name := _name_of(path, folder))]
            _write(folder, names, fresh)
            _seal(fresh, fresh.name)
            _compare(Archive(fresh), folder, names, target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            fresh.with_name(fresh.name + CHECKSUM).unlink(missing_ok=True)
            raise
        _seal(fresh, target.name)
        fresh.with_name(fresh.name + CHECKSUM).rename(target.with_name(target.name + CHECKSUM))
        fresh.rename(target)
        sync(target.parent)
    return target


def _compare(archive: Archive, folder: Path, names: list[str], target: Path) -> None:
    """Refuse an archive that does not give back every byte of its session."""
    if sorted(archive.sizes) != sorted(names):
        raise StoreError(f"{target}: not packed: the files of the archive are not those of the session")
    for name in names:
        if archive.read(name) != (folder / name).read_bytes():
            raise StoreError(f"{target}: not packed: {name} has other bytes in the archive")


def _seal(archive: Path, name: str) -> None:
    line = f"{file_sha256(archive)}  {name}\n"
    replace(archive.with_name(archive.name + CHECKSUM), line.encode("ascii"))


def _name_of(path: Path, folder: Path) -> str | None:
    """Return the name of a file in the archive; ``None``: it is no part of it."""
    name = path.relative_to(folder).as_posix()
    first = name.split("/", 1)[0]
    if not path.is_file() or path.is_symlink() or first == layout.LOCK or first.startswith(layout.PARTIAL):
        return None
    if name.startswith(blocks.FOLDER):
        raise InputError("a name that archives use themselves", file=path)
    return name


def _write(folder: Path, names: list[str], target: Path) -> None:
    packed = {name: file for name in names if (file := _packed(folder, name)) is not None}
    with zipfile.ZipFile(target, "w") as archive:
        for name in names:
            if name not in packed:
                method = zipfile.ZIP_STORED if name.endswith(COMPRESSED) else zipfile.ZIP_DEFLATED
                archive.writestr(_entry(name, method), (folder / name).read_bytes(), compresslevel=9)
        written = [
            _add_block(archive, folder, number, files)
            for number, files in enumerate(_grouped(list(packed.values())), 1)
        ]
        contents = Contents(version=blocks.VERSION, gzip_probe=probe_sha256(), blocks=tuple(written))
        text = contents.model_dump_json(exclude_none=True).encode()
        archive.writestr(_entry(blocks.CONTENTS, zipfile.ZIP_STORED), blocks.compressed(text))
    sync(target)


def _packed(folder: Path, name: str) -> PackedFile | None:
    """Return what the list of blocks says of a file; ``None``: it gets an entry of its own."""
    path = folder / name
    if "/" not in name:
        return None
    if not name.endswith(COMPRESSED):
        return PackedFile(name=name, bytes=path.stat().st_size)
    if not name.endswith(".gz"):
        return None
    stream = io.BytesIO()
    try:
        content = _content(path)
        write_gzip(pieces_of(io.BytesIO(content)), stream)
    except (OSError, EOFError, zlib.error):
        return None
    again = stream.getvalue()
    if again != path.read_bytes():
        return None
    listed = Gzip(bytes=len(again), sha256=hashlib.sha256(again).hexdigest())
    return PackedFile(name=name, bytes=len(content), gzip=listed)


def _content(path: Path) -> bytes:
    with open_path(path) as stream:
        return stream.read()


def _kind_of(name: str) -> tuple[str, str, str]:
    """Return what files are sorted by before they are packed: ending, base name, name. ``.gz`` is no part of it."""
    plain = PurePosixPath(name.removesuffix(".gz"))
    return plain.suffix, plain.name, name


def _grouped(files: Sequence[PackedFile]) -> list[list[PackedFile]]:
    """Return the files of each block: of one ending, alike beside alike, ``BLOCK_BYTES`` together at most."""
    groups: list[list[PackedFile]] = []
    room, ending = -1, None
    for file in sorted(files, key=lambda file: _kind_of(file.name)):
        if _kind_of(file.name)[0] != ending or file.bytes > room:
            groups.append([])
            room, ending = blocks.BLOCK_BYTES, _kind_of(file.name)[0]
        groups[-1].append(file)
        room -= file.bytes
    return groups


def _add_block(archive: zipfile.ZipFile, folder: Path, number: int, files: list[PackedFile]) -> Block:
    data = b"".join(_content(folder / file.name) for file in files)
    if len(data) != sum(file.bytes for file in files):
        raise StoreError(f"{folder}: files changed while they were packed")
    entry = f"{blocks.FOLDER}{number:04d}{_kind_of(files[0].name)[0]}.xz"
    archive.writestr(_entry(entry, zipfile.ZIP_STORED), blocks.compressed(data))
    return Block(entry=entry, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), files=tuple(files))


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.compress_type = method
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.create_system = 3  # Unix, on every system: the same bytes everywhere
    return entry
