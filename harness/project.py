# SPDX-License-Identifier: Apache-2.0
"""The project's root, which papermill, Jupyter and the command line find from any folder by a marker file, the folders
below it, and what git says of it. Paths inside ``data/raw`` are the business of ``store`` alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from harness.errors import InputError

#: Both must stand in a folder for it to be the root.
MARKERS = ("pyproject.toml", "harness/model")
ROOT_VARIABLE = "REMATCH_ROOT"
#: Definitions of experiments, and beside them the ledgers of published claims, which are none.
EXPERIMENTS = Path("harness") / "experiments"
LEDGERS = ("claims", "runtime-claims")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"})
_GIT_WITHIN_S = 120.0


def find_root(start: Path | None = None, *, otherwise: Path | None = None) -> Path:
    """Return the project's root folder: ``$REMATCH_ROOT``, else the nearest marked folder
    upwards from ``start`` (default: the working directory), else where this package stands, else ``otherwise``.

    Raises:
        InputError: ``$REMATCH_ROOT`` is set and is not a project, or there is no project and no ``otherwise``.
    """
    allowed = f"a folder that holds {' and '.join(MARKERS)}"
    if chosen := os.environ.get(ROOT_VARIABLE):
        root = Path(chosen).resolve()
        if not _is_root(root):
            problem = "not the root of a Rematch project"
            raise InputError(problem, file=ROOT_VARIABLE, found=chosen, allowed=allowed)
        return root
    begin = (start or Path.cwd()).resolve()
    package_root = Path(__file__).resolve().parent.parent
    folders = (begin, *begin.parents, package_root)
    nearest = next((folder for folder in folders if _is_root(folder)), otherwise)
    if nearest is None:
        allowed += f", or {ROOT_VARIABLE} set to one"
        raise InputError("no Rematch project here or above", file=begin, allowed=allowed)
    return nearest


def experiment_paths(root: Path) -> dict[str, Path]:
    """Return name -> file of every experiment that comes with the project; the ledgers of claims are left out."""
    files = sorted((root / EXPERIMENTS).glob("*.toml"))
    return {path.stem: path for path in files if path.stem not in LEDGERS}


def commit_of(root: Path) -> str | None:
    """Return the commit that is checked out; ``None``: no repository, or no git."""
    commit = git_output(root, "rev-parse", "HEAD")
    return None if commit is None else commit.strip()


def has_changes(root: Path) -> bool | None:
    """Return whether tracked files differ from the commit; ``None``: no repository, or no git."""
    status = git_output(root, "status", "--porcelain", "--untracked-files=no")
    return None if status is None else bool(status.strip())


def has_commit(root: Path, commit: str) -> bool | None:
    """Return whether what is checked out descends from a commit, so that every clone has it; ``None``: no repository,
    a shallow one, or no git."""
    if git_output(root, "rev-parse", "--is-shallow-repository") != "false\n" or not _COMMIT.fullmatch(commit):
        return None
    return git_output(root, "merge-base", "--is-ancestor", commit, "HEAD") is not None


def _is_root(folder: Path) -> bool:
    return all((folder / marker).exists() for marker in MARKERS)


def git_output(root: Path, *arguments: str, **environment: str) -> str | None:
    """Return what a command of git printed; ``None``: it failed, or there is no git."""
    # in a hook git's own variables name another repository than the folder does
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, errors="replace",
            timeout=_GIT_WITHIN_S, check=False, stdin=subprocess.DEVNULL, env=inherited | environment,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
