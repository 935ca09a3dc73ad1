# SPDX-License-Identifier: Apache-2.0
"""What git says of the source: the commit, whether tracked files differ from it, and files as they were."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def commit_of(root: Path) -> str | None:
    """Return the commit that is checked out; ``None``: no repository, or no git."""
    said = _git(root, "rev-parse", "HEAD")
    return None if said is None else said.strip()


def has_changes(root: Path) -> bool | None:
    """Return whether tracked files differ from the commit; ``None``: no repository, or no git."""
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return None if status is None else bool(status.strip())


def has_commit(root: Path, commit: str) -> bool | None:
    """Return whether a commit is in this repository; ``None``: no repository, a shallow one, or no git."""
    if _git(root, "rev-parse", "--is-shallow-repository") != "false\n" or not _COMMIT.fullmatch(commit):
        return None
    return _git(root, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def file_at(root: Path, commit: str, path: str) -> str | None:
    """Return a file's text at a commit, path relative to the root; ``None``: no such file, commit or repository."""
    return _git(root, "show", f"{commit}:./{path}") if _COMMIT.fullmatch(commit) else None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
