# SPDX-License-Identifier: Apache-2.0
"""Which services' tests have passed, by the content of what they tested, as `go test` keeps it for Go."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

#: Folders that a build makes beside the sources.
BUILT = frozenset({"target", "build", ".git", "__pycache__", "node_modules"})


def content_sha256(folder: Path, *words: str) -> str:
    """One hash over names and bytes of all files below a folder, what builds made left out, and over ``words``."""
    digest = hashlib.sha256("\0".join(words).encode())
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if BUILT.isdisjoint(name.parts) and path.is_file():
            digest.update(f"\0{name.as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class Passed:
    """Hashes under which checks passed, kept in one file; ``None`` for the file: nothing is kept or known."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known = _read(file)

    def hash_of(self, folder: Path | None, words: Sequence[str]) -> str | None:
        """What decides over a check that reads ``folder``; ``None``: it has to run."""
        return None if self._file is None or folder is None else content_sha256(folder, *words)

    def knows(self, name: str, content: str | None) -> bool:
        """Whether this check passed on this content."""
        return content is not None and self._known.get(name) == content

    def keep(self, name: str, content: str | None) -> None:
        """Remember that it did."""
        if self._file is not None and content is not None:
            self._known[name] = content
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _read(file: Path | None) -> dict[str, str]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}
