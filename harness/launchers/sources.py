# SPDX-License-Identifier: Apache-2.0
"""The source files of an implementation, and what is left of them after a build: hashes and copies."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.agent.files import file_sha256
from harness.errors import InputError

#: Folders that hold what tools made, not sources.
NOT_SOURCE = frozenset(
    {"target", "build", ".git", "__pycache__", "node_modules", ".gradle", ".idea", ".venv", "venv", ".vscode"}
)


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the source files and links below ``folder``, relative, in a fixed order."""
    return (path for path in _files_below(folder) if not NOT_SOURCE.intersection(path.parts))


def source_sha256(folder: Path) -> str:
    """Return the hash over names, executable bits and content of all sources; times do not count.

    Raises:
        InputError: there is nothing there.
    """
    files = tuple(source_files(folder))
    if not files:
        raise InputError("no sources of an implementation here", file=folder, allowed="a folder with sources")
    return _sha256_of(folder, files)


def artifact_sha256(artifact: Path) -> str:
    """Return the hash of a file, or of all files of a folder with their names and executable bits."""
    if artifact.is_dir():
        return _sha256_of(artifact, _files_below(artifact))
    return file_sha256(artifact)


def _sha256_of(folder: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for relative in files:
        link = _link(folder, relative)
        if link is not None:
            digest.update(f"{relative.as_posix()}\0link\0{link}\0".encode())
            continue
        content = (folder / relative).read_bytes()
        executable = (folder / relative).stat().st_mode & 0o100 != 0
        digest.update(f"{relative.as_posix()}\0{int(executable)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield files and links, relative. A link that leads out of the folder stands for what it leads to."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() or _link(folder, relative) is not None:
            yield relative
        elif path.is_symlink():
            yield from (
                relative / inner for inner in _files_below(path.resolve()) if (path / inner).is_file()
            )


def _link(folder: Path, relative: Path) -> str | None:
    """Return where a link within the folder leads, relative to itself; ``None``: no link, or one that leads out."""
    path = folder / relative
    if not path.is_symlink():
        return None
    beside = path.parent.resolve()
    leads = os.path.normpath(beside / path.readlink())
    within = Path(leads).is_relative_to(folder.resolve()) or not path.exists()
    return os.path.relpath(leads, beside) if within else None


def copy_sources(folder: Path, target: Path) -> None:
    for relative in source_files(folder):
        _copy(folder, relative, target)


def _copy(folder: Path, relative: Path, target: Path) -> int:
    """Copy a file or link; return its bytes."""
    link, made = _link(folder, relative), target / relative
    made.parent.mkdir(parents=True, exist_ok=True)
    if link is not None:
        made.symlink_to(link)
        return 0
    shutil.copy2(folder / relative, made)
    return made.stat().st_size


#: Folder beside a service's jar with jars that it loads by name where a setting asks for them. They are copied with
#: it, and are no part of its class path, its size or its other forms.
LOADED_BY_NAME = "loggers"


def copy_artifact(folder: Path, artifact: str, target: Path) -> int:
    """Copy the artifact; return its bytes.

    An artifact is a file, or a folder with all its files. A jar comes with the files that its manifest's
    class path names, and with those of ``LOADED_BY_NAME`` beside it, which are not counted.

    Raises:
        InputError: the build did not leave what it should.
    """
    if (folder / artifact).is_dir():
        # a link out of the artifact stands for what it leads to, also where that is within the build
        total = sum(
            _copy(folder / artifact, file, target / artifact) for file in _files_below(folder / artifact)
        )
    else:
        total = 0
        for relative in (artifact, *_class_path(folder / artifact, artifact)):
            if not (folder / relative).is_file():
                raise InputError(
                    "the build did not leave this file or folder",
                    file=folder,
                    place="artifact",
                    found=relative,
                )
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / relative, target / relative)
            total += (folder / relative).stat().st_size
    beside = (Path(artifact).parent / LOADED_BY_NAME).as_posix()
    if artifact.endswith(".jar") and (folder / beside).is_dir():
        shutil.copytree(folder / beside, target / beside, dirs_exist_ok=True)
    return total


def _class_path(jar: Path, artifact: str) -> tuple[str, ...]:
    """Paths beside the jar that its manifest wants, relative as ``artifact`` is; none for other files."""
    if jar.suffix != ".jar" or not jar.is_file():
        return ()
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("META-INF/MANIFEST.MF").decode("utf-8") if _has_manifest(archive) else ""
    lines = text.replace("\r\n", "\n").replace("\n ", "").split("\n")  # a continued line starts with a blank
    listed = next((line.partition(":")[2].split() for line in lines if line.startswith("Class-Path:")), [])
    return tuple((Path(artifact).parent / entry).as_posix() for entry in listed)


def _has_manifest(archive: zipfile.ZipFile) -> bool:
    return "META-INF/MANIFEST.MF" in archive.namelist()
