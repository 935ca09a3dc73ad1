# SPDX-License-Identifier: Apache-2.0
"""Build ``paper/main.pdf`` and ``paper/supplement.pdf``: the same sources and numbers give the same bytes.

``rematch.sty`` writes ``\\rematch@cited{key}{page}`` into ``main.aux`` for each number, verdict and sentence that the
text prints by its key; cells of tables and marks of figures have no keys.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.errors import InputError, MissingTool, RematchError
from harness.model.digits import runs_of
from harness.publish.generated import DOCUMENTS, GENERATED, contributions
from harness.publish.sentences import write_macros
from harness.publish.supplement import write_supplement

PAPER = Path("paper")
AUX = PAPER / "main.aux"
#: LaTeX gives the same bytes each time, with one date inside the PDF, and does not break the lines of its log.
_ENVIRONMENT = {
    "SOURCE_DATE_EPOCH": "1577836800", "FORCE_SOURCE_DATE": "1", "TZ": "UTC", "max_print_line": "1000",
}  # fmt: skip
_BUILD_WITHIN_S = 300
_HOW_TO_GET = (
    "brew install --cask mactex-no-gui"
    if sys.platform == "darwin"
    else "apt-get install -y texlive-latex-recommended texlive-pictures texlive-science texlive-publishers "
    "texlive-fonts-recommended lmodern latexmk"
)
_UNKNOWN_KEY = re.compile(r"rematch Error: (unknown [^\n]*)")
_CITED = re.compile(r"\\rematch@cited\{(?P<key>[^{}]+)\}\{(?P<page>[^{}]+)\}")
_TEX_ERROR = re.compile(r"^(?P<file>[^\s:]+\.(?:tex|sty|bbl|bib)):(?P<line>\d+): (?P<what>.*)$", re.MULTILINE)


class PaperFailed(RematchError):
    """LaTeX could not build the paper: one line that names file, line and what it said."""


def build_paper(root: Path) -> Path:
    """Build the paper and its supplement from ``paper/`` and ``paper/generated/``; return the path of the paper.

    Raises:
        MissingTool: latexmk or LaTeX is not here. PaperFailed: LaTeX refused something, such as an
            unknown key, or a sentence of the paper is not what the bundled sessions say.
        InputError: no notebook has published anything yet.
    """
    if not contributions(root / GENERATED):
        raise InputError(
            "no notebook has published anything; run papermill notebooks/run_all.ipynb", file=root / GENERATED
        )
    for program in ("latexmk", "pdflatex", "bibtex"):
        if shutil.which(program) is None:
            how_to_get = f"{_HOW_TO_GET}, or the conda environment of environment.yml"
            raise MissingTool(program, why="to build the paper", how_to_get=how_to_get)
    write_supplement(root)
    if untrue := write_macros(root):
        more = f" (and {len(untrue) - 1} more)" if len(untrue) > 1 else ""
        raise PaperFailed(f"an untrue sentence: {untrue[0]}{more}")
    folder = root / PAPER
    for name in DOCUMENTS:
        ended = _latexmk(folder, name)
        if ended.returncode or not (folder / f"{name}.pdf").is_file():
            raise PaperFailed(explain(folder / f"{name}.log", ended.stdout))
    return folder / "main.pdf"


def explain(log: Path, printed: str = "") -> str:
    """Return the first error of a LaTeX log in one line: file, line, what, and where to read on."""
    text = log.read_text("utf-8", errors="replace") if log.is_file() else printed
    where = f"see {PAPER / log.name}"
    error = _TEX_ERROR.search(text)
    if error is None:
        last = next((line for line in reversed(text.splitlines()) if line.startswith("!")), "")
        return f"LaTeX failed: {last.removeprefix('! ') or 'no error line in its log'}; {where}"
    unknown = _UNKNOWN_KEY.search(text)
    what = unknown[1] if unknown else error["what"]
    place = f"{PAPER / error['file'].removeprefix('./')}:{error['line']}"
    return f"{place}: {what.strip().rstrip('.')}; {where}"


def keys_on(root: Path, page: int) -> list[str]:
    """Return the keys that a page of the paper prints, in the order of the text.

    Raises:
        InputError: the paper was not built here, or the page prints none.
    """
    if not (root / AUX).is_file():
        raise InputError("no paper was built here", file=AUX, allowed="make paper first")
    text = (root / AUX).read_text("utf-8", errors="replace")
    pages: dict[int, dict[str, None]] = {}
    for cited in _CITED.finditer(text):
        if cited["page"].isdecimal():
            pages.setdefault(int(cited["page"]), {})[cited["key"]] = None
    if page not in pages:
        numbered = runs_of(sorted(pages), ", ", " to ")
        allowed = f"pages with numbers in their text: {numbered}" if pages else "make paper first"
        raise InputError("the text of this page has no numbers", file=AUX, found=page, allowed=allowed)
    return list(pages[page])


def _latexmk(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [
        "latexmk", "-pdf", "-norc", "-recorder", "-g", "-interaction=nonstopmode", "-halt-on-error",
        "-file-line-error", f"{name}.tex",
    ]  # fmt: skip
    try:
        return subprocess.run(
            command, cwd=folder, env=os.environ | _ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=_BUILD_WITHIN_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PaperFailed(
            f"LaTeX did not end within {_BUILD_WITHIN_S} s; see {PAPER / f'{name}.log'}"
        ) from None
