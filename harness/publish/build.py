# SPDX-License-Identifier: Apache-2.0
"""Build ``paper/main.pdf`` and ``paper/supplement.pdf``: the same sources and numbers give the same bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.errors import InputError, MissingTool, RematchError
from harness.publish.agreement import contradictions
from harness.publish.generated import DOCUMENTS, GENERATED, contributions
from harness.publish.sentences import write_macros
from harness.publish.supplement import write_supplement

PAPER = Path("paper")
#: The date inside the PDF; the number itself means nothing, that it never changes does.
_EPOCH = "1577836800"
_BUILD_WITHIN_S = 300
_WITH_APT = (
    "apt-get install -y texlive-latex-recommended texlive-pictures texlive-science texlive-publishers "
    "texlive-fonts-recommended lmodern latexmk, or the conda environment of environment.yml"
)
_ON_MACOS = "brew install --cask mactex-no-gui, or the conda environment of environment.yml"
_UNKNOWN_KEY = re.compile(r"rematch Error: (unknown [^\n]*)")
_TEX_ERROR = re.compile(r"^(?P<file>[^\s:]+\.(?:tex|sty|bbl|bib)):(?P<line>\d+): (?P<what>.*)$", re.MULTILINE)


def _how_to_get() -> str:
    return _ON_MACOS if sys.platform == "darwin" else _WITH_APT


class PaperFailed(RematchError):
    """LaTeX could not build the paper: one line that names file, line and what it said."""


def build_paper(root: Path) -> Path:
    """Build the paper and its supplement from ``paper/`` and ``paper/generated/``; return the path of the paper.

    Raises:
        MissingTool: latexmk or LaTeX is not here. PaperFailed: LaTeX refused something, such as an
            unknown key, a published ratio is not that of the table cells it comes from, or a sentence of the paper is
            not what the bundled sessions say. InputError: no notebook has published anything yet.
    """
    if not contributions(root / GENERATED):
        raise InputError(
            "no notebook has published anything; run papermill notebooks/run_all.ipynb", file=root / GENERATED
        )
    for program in ("latexmk", "pdflatex", "bibtex"):
        if shutil.which(program) is None:
            raise MissingTool(program, why="to build the paper", how_to_get=_how_to_get())
    write_supplement(root)
    checks = {"two numbers of one thing": contradictions, "an untrue sentence": write_macros}
    for what, check in checks.items():
        lines = check(root)
        if lines:
            more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            raise PaperFailed(f"{what}: {lines[0]}{more}")
    folder = root / PAPER
    for name in DOCUMENTS:
        ended = _latexmk(folder, name)
        if ended.returncode or not (folder / f"{name}.pdf").is_file():
            raise PaperFailed(explain(folder / f"{name}.log", ended.stdout))
    return folder / "main.pdf"


def explain(log: Path, said: str = "") -> str:
    """Return the first error of a LaTeX log in one line: file, line, what, and where to read on."""
    # LaTeX breaks the lines of its log after 79 signs unless told otherwise, which `_latexmk` does
    text = log.read_text("utf-8", errors="replace") if log.is_file() else said
    where = f"see {PAPER / log.name}"
    found = _TEX_ERROR.search(text)
    if found is None:
        last = next((line for line in reversed(text.splitlines()) if line.startswith("!")), "")
        return f"LaTeX failed: {last.removeprefix('! ') or 'no error line in its log'}; {where}"
    unknown = _UNKNOWN_KEY.search(text)
    what = unknown[1] if unknown else found["what"]
    place = f"{PAPER / found['file'].removeprefix('./')}:{found['line']}"
    return f"{place}: {what.strip().rstrip('.')}; {where}"


def tex_environment() -> dict[str, str]:
    """Return the environment in which LaTeX gives the same bytes each time, and does not break log lines."""
    return {
        **os.environ,
        "SOURCE_DATE_EPOCH": _EPOCH,
        "FORCE_SOURCE_DATE": "1",
        "TZ": "UTC",
        "max_print_line": "1000",
    }


def _latexmk(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [
        "latexmk",
        "-pdf",
        "-norc",
        "-recorder",
        "-g",
        "-interaction=nonstopmode",
        "-halt-on-error",
        "-file-line-error",
        f"{name}.tex",
    ]
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=tex_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_BUILD_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PaperFailed(
            f"LaTeX did not end within {_BUILD_WITHIN_S} s; see {PAPER / f'{name}.log'}"
        ) from None
