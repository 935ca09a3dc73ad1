# SPDX-License-Identifier: Apache-2.0
"""Trees of git refs, each in a temporary folder of its own: no checkout of the user's is touched.

A process that is killed leaves its tree in the temporary folder and an entry in the repository. The next one that
checks out a ref there removes both: a process at work holds a lock beside its tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError

PREFIX = "rematch-duel-"
_TREE, _LOCK = "tree", "lock"
_WITHIN_S = 120.0
#: Set where git itself runs a command, such as in a hook; they would name another repository than the folder does.
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"})


def git(folder: Path, *words: str) -> str | None:
    """Return what git prints; ``None``: it ended with an error, or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True, text=True, check=False, timeout=_WITHIN_S, stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name not in _OF_HOOKS},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@contextlib.contextmanager
def checked_out(top: Path, commit: str) -> Iterator[Path]:
    """Give the folder that has the tree of a commit; it is removed at the end. No hook of the repository is run.

    Raises:
        InputError: git cannot do so.
    """
    _remove_left_over(top)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, (Path(name) / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tree = Path(name) / _TREE
        no_hooks = ("-c", f"core.hooksPath={os.devnull}")
        try:
            if git(top, *no_hooks, "worktree", "add", "--quiet", "--detach", str(tree), commit) is None:
                raise InputError(
                    "git cannot check it out in a folder of its own", place=str(top), found=commit
                )
            yield tree
        finally:
            git(top, "worktree", "remove", "--force", "--force", str(tree))


def n_uncommitted(top: Path, commit: str, prefix: str) -> int:
    """Return how many files below ``prefix`` differ from a commit that is checked out; 0 for any other commit."""
    if git(top, "rev-parse", "HEAD") != commit:
        return 0
    return len((git(top, "status", "--porcelain", "--", prefix or ".") or "").splitlines())


def _remove_left_over(top: Path) -> None:
    """Remove the trees of processes that were killed."""
    for line in (git(top, "worktree", "list", "--porcelain") or "").splitlines():
        tree = Path(line.removeprefix("worktree "))
        is_ours = tree.name == _TREE and tree.parent.name.startswith(PREFIX)
        if line.startswith("worktree ") and is_ours and not _in_use(tree.parent):
            git(top, "worktree", "remove", "--force", "--force", str(tree))
            shutil.rmtree(tree.parent, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # it is locked, or somebody else's
        return True
    return False
