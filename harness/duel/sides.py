# SPDX-License-Identifier: Apache-2.0
"""What is meant by ``V1`` and ``V2``: a folder, a git ref, or a JDK. No checkout of the user's is touched."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.adopt.guess import service_name
from harness.errors import InputError
from harness.model.runtime import OLDEST_JAVA

_JDK = re.compile(r"java[:-](?P<release>\d+)")
_GIT_WITHIN_S = 120.0
ALLOWED = "a folder, a git ref of the repository that the service is in (--repo), or java:RELEASE"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One version. ``label``: its name as a variant; ``source``: its sources; ``java``: the release that runs it,
    ``None``: what its ``service.toml`` asks for; ``what``: in words."""

    label: str
    source: Path
    what: str
    java: int | None = None


@contextlib.contextmanager
def sides(
    first: str, second: str, source: Path, repository: Path | None = None
) -> Iterator[tuple[Side, Side]]:
    """Give the two versions; the trees of git refs are removed at the end.

    Args:
        first, second: as the user wrote them.
        source: the sources of the service as it was adopted: what a JDK runs, and where in its repository it lies.
        repository: of git refs; default: the one that ``source`` lies in.

    Raises:
        InputError: one is nothing that can be measured, both are the same.
    """
    if first == second:
        raise InputError(
            "both versions are the same", place="V1 V2", found=first, allowed=f"two of: {ALLOWED}"
        )
    with contextlib.ExitStack() as cleanup:
        one, other = (_side(name, source, repository, cleanup) for name in (first, second))
        if one.label == other.label:
            one, other = replace(one, label=f"{one.label}-1"), replace(other, label=f"{other.label}-2")
        yield one, other


def _side(name: str, source: Path, repository: Path | None, cleanup: contextlib.ExitStack) -> Side:
    jdk = _JDK.fullmatch(name)
    if jdk is not None:
        release = int(jdk["release"])
        if release < OLDEST_JAVA:
            raise InputError(
                "an older release of the JDK",
                place="V1 V2",
                found=name,
                allowed=f"java:{OLDEST_JAVA} or newer",
            )
        return Side(label=f"java-{release}", source=source, java=release, what=f"JDK {release}")
    if Path(name).is_dir():
        folder = Path(name).resolve()
        return Side(label=service_name(folder.name), source=folder, what=f"folder {name}")
    if "/" in name and name.startswith((".", "/", "~")):
        raise InputError("no such folder", place="V1 V2", found=name, allowed=ALLOWED)
    return _of_git(name, (repository or source).resolve(), repository is None, cleanup)


def _of_git(ref: str, inside: Path, below: bool, cleanup: contextlib.ExitStack) -> Side:
    top = _git(inside, "rev-parse", "--show-toplevel")
    if top is None:
        raise InputError(
            "neither a folder, nor is there a git repository", place=str(inside), found=ref, allowed=ALLOWED
        )
    commit = _git(inside, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit is None:
        raise InputError(
            "neither a folder nor a ref of this repository", place=top, found=ref, allowed=ALLOWED
        )
    prefix = (_git(inside, "rev-parse", "--show-prefix") or "") if below else ""
    folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-duel-"))) / "tree"
    cleanup.callback(_git, Path(top), "worktree", "remove", "--force", str(folder))
    if _git(Path(top), "worktree", "add", "--quiet", "--detach", str(folder), commit) is None:
        raise InputError("git cannot check it out in a folder of its own", place=top, found=ref)
    there = folder / prefix
    if not there.is_dir():
        raise InputError(
            f"has no folder {prefix}", place=top, found=ref, allowed="a commit that has the service"
        )
    return Side(label=service_name(ref), source=there, what=f"git {ref} ({commit[:12]})")


def _git(folder: Path, *words: str) -> str | None:
    """Return what git prints; ``None``: it ended with an error."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True, text=True, check=False, timeout=_GIT_WITHIN_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
