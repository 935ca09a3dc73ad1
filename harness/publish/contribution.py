# SPDX-License-Identifier: Apache-2.0
"""One notebook's contribution as text: what each of its entries is in the merged files.

Every result that is published merges all contributions anew. An entry is therefore written as JSON once, and a
file that has not changed is not parsed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import InputError

Contribution = dict[str, Any]
KINDS = ("values", "tables", "figures")
#: Files whose text is kept; more than the notebooks of one project.
_AT_MOST = 100


class Part(NamedTuple):
    """One notebook's contribution: kind -> key -> entry as a member of a JSON object."""

    notebook: str
    entries: Mapping[str, Mapping[str, str]]

    def with_entries(self, entries: Iterable[tuple[str, str, Contribution]]) -> Part:
        """Return the contribution with more or other entries: kind, key, content."""
        found = {kind: dict(self.entries.get(kind, {})) for kind in KINDS}
        for kind, key, content in entries:
            found[kind][key] = _member(key, _as_json(content))
        return Part(self.notebook, found)

    @property
    def text(self) -> str:
        """What stands in the notebook's file."""
        members = {kind: _member(kind, _object(self.entries[kind])) for kind in KINDS}
        return _object({**members, "notebook": _member("notebook", _as_json(self.notebook))}) + "\n"


class _Kept(NamedTuple):
    written: tuple[int, ...] | None
    text: str
    part: Part


_kept: dict[Path, _Kept] = {}


def read_text(path: Path) -> str | None:
    """Return what stands in a file; ``None`` when there is none."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None


def parsed(path: Path, text: str) -> Contribution:
    """Return the content of a JSON file.

    Raises:
        InputError: the text is damaged.
    """
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise InputError(f"damaged ({error}); delete it and run its notebook again", file=path) from None


def read_part(path: Path) -> Part | None:
    """Return the contribution in a file; ``None``: no file.

    It is read only when the file was written again, and parsed only when its text has changed.

    Raises:
        InputError: the file is damaged.
    """
    kept, written = _kept.get(path), _when_written(path)
    if kept is not None and written is not None and kept.written == written:
        return kept.part
    text = read_text(path)
    if text is None:
        return None
    if kept is not None and kept.text == text:
        keep(path, text, kept.part)
        return kept.part
    content = parsed(path, text)
    entries = [(kind, key, entry) for kind in KINDS for key, entry in content[kind].items()]
    part = Part(content["notebook"], {}).with_entries(entries)
    keep(path, text, part)
    return part


def keep(path: Path, text: str, part: Part) -> None:
    """Remember which contribution a file's text is."""
    _kept.pop(path, None)
    while len(_kept) >= _AT_MOST:
        del _kept[next(iter(_kept))]
    _kept[path] = _Kept(_when_written(path), text, part)


def _when_written(path: Path) -> tuple[int, ...] | None:
    """Return what differs from one time that a file was written to the next; ``None``: there is none."""
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def merged_json(parts: Iterable[Part], kind: str) -> str:
    """Return all entries of one kind, sorted by key, as they stand in the merged file."""
    return _object({key: one for part in parts for key, one in part.entries[kind].items()}) + "\n"


def _as_json(content: object) -> str:
    """Return content as JSON; the same content gives the same text."""
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)


def _member(name: str, text: str) -> str:
    """Return a member of an object as ``_as_json`` writes it; ``text``: its content as JSON."""
    # a line break within a string is escaped, so that every other one begins a line
    return f" {_as_json(name)}: {text}".replace("\n", "\n ")


def _object(members: Mapping[str, str]) -> str:
    """Return the object of members by name, as ``_as_json`` writes it."""
    return "{\n" + ",\n".join(members[name] for name in sorted(members)) + "\n}" if members else "{}"
