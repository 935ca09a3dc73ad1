# SPDX-License-Identifier: Apache-2.0
"""What an archived session holds, and an archive whose list says something else."""

from __future__ import annotations

import json
import lzma
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.agent.files import file_sha256
from harness.store import SessionFolder, archive_of, blocks


def seal(path: Path) -> None:
    path.with_name(path.name + ".sha256").write_text(f"{file_sha256(path)}  {path.name}\n")


def contents_of(session: SessionFolder) -> Iterator[tuple[str, str, bytes]]:
    """Trial, name and content of every file that a record names."""
    for trial_id in sorted(session.finished()):
        for name in session.record(trial_id).files:
            with session.open(trial_id, name) as stream:
                yield trial_id, name, stream.read()


def file_bytes(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def listed(session: SessionFolder) -> dict[str, Any]:
    """The list of contents of a session's archive."""
    with zipfile.ZipFile(archive_of(session.folder)) as made:
        found: dict[str, Any] = json.loads(lzma.decompress(made.read(blocks.CONTENTS)))
    return found


def relisted(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite an archive with a changed list of contents, and seal it."""
    with zipfile.ZipFile(path) as made:
        entries = {name: made.read(name) for name in made.namelist()}
    contents = json.loads(lzma.decompress(entries[blocks.CONTENTS]))
    change(contents)
    entries[blocks.CONTENTS] = lzma.compress(json.dumps(contents).encode())
    with zipfile.ZipFile(path, "w") as made:
        for name, data in entries.items():
            made.writestr(name, data)
    seal(path)
