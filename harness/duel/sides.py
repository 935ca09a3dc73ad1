# SPDX-License-Identifier: Apache-2.0
"""What is meant by ``V1`` and ``V2``: a folder, a git ref, or a JDK. No checkout of the user's is touched."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.adopt.start import service_name
from harness.duel.git_trees import checked_out, git, n_uncommitted
from harness.errors import InputError
from harness.model.phrases import counted
from harness.model.runtime import OLDEST_JAVA

_JDK = re.compile(r"java[:-](?P<release>\d+)")
ALLOWED = "a folder, a git ref of the repository that the service is in (--repo), or java:RELEASE"


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
        item, rival = (_side(name, source, repository, cleanup) for name in (first, second))
        if item.label == rival.label:
            item, rival = replace(item, label=f"{item.label}-1"), replace(rival, label=f"{rival.label}-2")
        yield item, rival


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
    if shutil.which("git") is None:
        raise InputError(
            "no such folder, and git, which would know a ref, is not installed", place="V1 V2", found=ref,
            allowed=ALLOWED,
        )  # fmt: skip
    top = git(inside, "rev-parse", "--show-toplevel")
    if top is None:
        raise InputError(
            "neither a folder, nor is there a git repository", place=str(inside), found=ref, allowed=ALLOWED
        )
    commit = git(inside, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit is None:
        raise InputError(
            "neither a folder nor a ref of this repository", place=top, found=ref, allowed=ALLOWED
        )
    prefix = (git(inside, "rev-parse", "--show-prefix") or "") if below else ""
    present = cleanup.enter_context(checked_out(Path(top), commit)) / prefix
    if not present.is_dir():
        raise InputError(
            f"has no folder {prefix}", place=top, found=ref, allowed="a commit that has the service"
        )
    n_changes = n_uncommitted(Path(top), commit, prefix)
    remark = f"without {counted(n_changes, 'uncommitted change')} in {prefix or top}" if n_changes else ""
    return Side(label=service_name(ref), source=present, what=f"git {ref} ({commit[:12]})", remark=remark)
