# SPDX-License-Identifier: Apache-2.0
"""What changed in the paper's text since a commit: marked in a PDF with latexdiff, else word by word as text.

Sources are compared, with the keys of numbers in place of the numbers: ``paper/generated/`` is not in the
repository, so the numbers of an earlier commit are not known. The marked PDF shows today's numbers in both.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError, MissingTool
from harness.publish.build import PAPER, tex_environment

TEXT, PDF = Path("results") / "paper-diff.txt", Path("results") / "paper-diff.pdf"
_WITHIN_S = 300
_NUMBERS = "numbers are not compared: those of an earlier commit are not in the repository"


@dataclass(frozen=True, slots=True)
class PaperDiff:
    """The files that were written. ``pdf`` is ``None`` where none could be made, and ``unavailable`` says why.

    ``changed`` has a row for each changed line: the file below ``paper/``, and the line word by word.
    """

    text: Path
    changed: tuple[tuple[str, str], ...]
    pdf: Path | None
    unavailable: str | None
    note: str = _NUMBERS


def write_diff(root: Path, revision: str) -> PaperDiff:
    """Compare ``paper/`` as it is with ``revision``; write both forms below ``results/``.

    Raises:
        MissingTool: git is not here. InputError: no such commit, or no paper in it.
    """
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise InputError(
            "no such commit",
            place="REV",
            found=revision,
            allowed="a commit, branch or tag of this repository",
        )
    name = commit.decode("ascii").strip()
    earlier = _git(root, "archive", "--format=tar", name, "--", PAPER.as_posix())
    if earlier is None:
        raise InputError("has no paper", place=f"REV {revision}", allowed=f"a commit with {PAPER}/main.tex")
    words = _git(
        root, "diff", "--no-color", "--no-ext-diff", "--word-diff=plain", name, "--", PAPER.as_posix()
    )
    text = root / TEXT
    text.parent.mkdir(exist_ok=True)
    marked = (words or b"").decode("utf-8", errors="replace")
    text.write_text(f"The paper since {name[:12]}; [-removed-] {{+added+}}; {_NUMBERS}.\n\n{marked}", "utf-8")
    pdf, why = _marked_pdf(root, earlier)
    return PaperDiff(text=text, changed=tuple(_changed_lines(marked)), pdf=pdf, unavailable=why)


def _changed_lines(said: str) -> Iterator[tuple[str, str]]:
    """Yield file and line of what git marked; a file's head is no line of it."""
    name, in_head = "", False
    for line in said.splitlines():
        if line.startswith("diff --git "):
            name, in_head = line.rpartition(f" b/{PAPER.as_posix()}/")[2], True
        elif line.startswith("@@ "):
            in_head = False
        elif not in_head and ("[-" in line or "{+" in line):
            yield name, line


def _git(root: Path, *words: str) -> bytes | None:
    """Return what git prints; ``None`` where it refuses."""
    program = shutil.which("git")
    if program is None:
        raise MissingTool("git", why="to read an earlier paper", how_to_get="apt-get install -y git")
    done = subprocess.run(
        [program, *words], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def _marked_pdf(root: Path, earlier: bytes) -> tuple[Path | None, str | None]:
    """Return the PDF in which latexdiff marked the changes, or why there is none."""
    marker, latexmk = shutil.which("latexdiff"), shutil.which("latexmk")
    if marker is None:
        return None, "latexdiff is not installed; install it with: apt-get install -y latexdiff"
    if latexmk is None:
        return None, "latexmk is not installed, so no PDF can be made"
    if not (root / PAPER / "generated" / "values.tex").is_file():
        return None, "no notebook has published anything, so no PDF can be made; make paper first"
    with tempfile.TemporaryDirectory(prefix="rematch-diff-") as name:
        folder = Path(name)
        with tarfile.open(fileobj=io.BytesIO(earlier)) as archive:
            archive.extractall(folder / "old", filter="data")
        old = folder / "old" / PAPER
        new = shutil.copytree(root / PAPER, folder / "new")
        if not (old / "generated").exists():
            (old / "generated").symlink_to(new / "generated")
        marked = subprocess.run(
            [marker, "--flatten", "--math-markup=whole", str(old / "main.tex"), str(new / "main.tex")],
            cwd=new, stdin=subprocess.DEVNULL, capture_output=True, timeout=_WITHIN_S, check=False,
        )  # fmt: skip
        if marked.returncode:
            return None, f"latexdiff failed: {_last_line(marked.stderr)}"
        (new / "marked.tex").write_bytes(marked.stdout)
        built = subprocess.run(
            [latexmk, "-pdf", "-norc", "-f", "-interaction=nonstopmode", "marked.tex"],
            cwd=new, env=tex_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=_WITHIN_S,
            check=False,
        )  # fmt: skip
        if not (new / "marked.pdf").is_file():
            return None, f"LaTeX does not accept what latexdiff marked: {_last_line(built.stdout)}"
        target = root / PDF
        shutil.copyfile(new / "marked.pdf", target)
        return target, None


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no output"
