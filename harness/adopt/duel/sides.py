# SPDX-License-Identifier: Apache-2.0
"""The meaning of ``V1`` and ``V2``: a folder, a git ref, or a JDK. No checkout of the user's is touched."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.adopt.start import service_name
from harness.errors import InputError
from harness.model.formatting import counted
from harness.model.runtime import OLDEST_JAVA
from harness.project import git_output

_JDK = re.compile(r"java[:-](?P<release>\d+)")
ALLOWED = "a folder, a git ref of the repository that the service is in, or java:RELEASE"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One version. ``label``: its name as a variant; ``source``: its sources; ``java``: the release that runs it,
    ``None``: what its ``service.toml`` asks for; ``what``: in words; ``remark``: what is not part of it."""

    label: str
    source: Path
    what: str
    java: int | None = None
    remark: str = ""


@contextlib.contextmanager
def sides(first: str, second: str, source: Path) -> Iterator[tuple[Side, Side]]:
    """Give the two versions that a user wrote; the trees of git refs are removed at the end.

    Args:
        source: the sources of the service as it was adopted: what a JDK runs, and where in its repository it lies.

    Raises:
        InputError: one is nothing that can be measured, both are the same.
    """
    if first == second:
        raise _refusal("both versions are the same", first)
    with contextlib.ExitStack() as cleanup:
        item, rival = (_side(name, source, cleanup) for name in (first, second))
        if item.label == rival.label:
            item, rival = replace(item, label=f"{item.label}-1"), replace(rival, label=f"{rival.label}-2")
        yield item, rival


def _refusal(problem: str, version: str, allowed: str = ALLOWED, place: object = "V1 V2") -> InputError:
    return InputError(problem, place=str(place), found=version, allowed=allowed)


def _side(name: str, source: Path, cleanup: contextlib.ExitStack) -> Side:
    jdk = _JDK.fullmatch(name)
    if jdk is not None:
        release = int(jdk["release"])
        if release < OLDEST_JAVA:
            raise _refusal("an older release of the JDK", name, f"java:{OLDEST_JAVA} or newer")
        return Side(label=f"java-{release}", source=source, java=release, what=f"JDK {release}")
    if Path(name).is_dir():
        folder = Path(name).resolve()
        return Side(label=service_name(folder.name), source=folder, what=f"folder {name}")
    if "/" in name and name.startswith((".", "/", "~")):
        raise _refusal("no such folder", name)
    return _of_git(name, source.resolve(), cleanup)


def _of_git(ref: str, inside: Path, cleanup: contextlib.ExitStack) -> Side:
    if shutil.which("git") is None:
        raise _refusal("no such folder, and git, which would know a ref, is not installed", ref)
    top = _git(inside, "rev-parse", "--show-toplevel")
    if top is None:
        raise _refusal("neither a folder, nor is there a git repository", ref, place=inside)
    commit = _git(inside, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit is None:
        raise _refusal("neither a folder nor a ref of this repository", ref, place=top)
    prefix = _git(inside, "rev-parse", "--show-prefix") or ""
    folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-duel-")))
    # no worktree: nothing is written into the repository, and none of its hooks is run
    index = {"GIT_INDEX_FILE": str(folder / "index")}
    files = ("checkout-index", "--all", f"--prefix={folder / 'tree'}/")
    if any(_git(Path(top), *words, **index) is None for words in (("read-tree", commit), files)):
        raise _refusal("git cannot check it out in a folder of its own", commit, place=top)
    present = folder / "tree" / prefix
    if not present.is_dir():
        raise _refusal(f"has no folder {prefix}", ref, "a commit that has the service", top)
    changed = ""
    if _git(Path(top), "rev-parse", "HEAD") == commit:
        changed = _git(Path(top), "status", "--porcelain", "--", prefix or ".") or ""
    n_changes = len(changed.splitlines())
    remark = f"without {counted(n_changes, 'uncommitted change')} in {prefix or top}" if n_changes else ""
    return Side(label=service_name(ref), source=present, what=f"git {ref} ({commit[:12]})", remark=remark)


def _git(folder: Path, *words: str, **environment: str) -> str | None:
    output = git_output(folder, *words, **environment)
    return None if output is None else output.strip()
