# SPDX-License-Identifier: Apache-2.0
"""The bundle of the paper's sources builds alone, names no folder of a machine, and cites what it lists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.project import find_root
from harness.publish.build import PaperFailed
from harness.publish.generated import paper_sources
from harness.publish.source_bundle import packed, prove, sources_of
from harness.tests.support.available import not_run

ROOT = find_root(Path(__file__).parent)
TEXT = (
    r"\documentclass{article}\begin{document}\input{part}\cite{a}\bibliographystyle{plain}\bibliography{references}"
    r"\end{document}"
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with a paper of two files that cites one entry, built as the real one is."""
    paper = tmp_path / "project" / "paper"
    paper.mkdir(parents=True)
    (paper / "main.tex").write_text(TEXT)
    (paper / "part.tex").write_text("A part.\n")
    (paper / "unused.tex").write_text("Nobody reads this.\n")
    (paper / "references.bib").write_text("@misc{a,\n  title = {A}, author = {B}, year = {2020}\n}\n")
    return paper


def built(paper: Path) -> Path:
    if shutil.which("latexmk") is None:
        not_run("LaTeX is missing")
    subprocess.run(
        ["latexmk", "-pdf", "-norc", "-interaction=nonstopmode", "main.tex"],
        cwd=paper, capture_output=True, check=True,
    )  # fmt: skip
    return paper / "main.pdf"


ENTRY = re.compile(r"^\s*@(?!comment|string|preamble)\w+\s*\{\s*([^,\s]+)\s*,", re.MULTILINE | re.IGNORECASE)
CITED = re.compile(r"\\(?:no)?cite[a-z]*\*?(?:\[[^]]*\])*\{([^}]*)\}")


def test_every_citation_has_one_entry_and_every_entry_a_citation() -> None:
    texts = [re.sub(r"(?<!\\)%.*", "", path.read_text("utf-8")) for path in paper_sources(ROOT / "paper")]
    cited = {key.strip() for text in texts for keys in CITED.findall(text) for key in keys.split(",")}
    entries = ENTRY.findall((ROOT / "paper" / "references.bib").read_text("utf-8"))
    assert len(entries) >= 10 and sorted(entries) == sorted(cited)


def test_the_bundle_holds_what_latex_read_and_builds_in_an_empty_folder(small: Path, tmp_path: Path) -> None:
    pdf = built(small)
    files = sources_of(small)
    assert files == ["main.bbl", "main.tex", "part.tex", "references.bib"]
    bundle = tmp_path / "bundle.tar.gz"
    bundle.write_bytes(packed(small, files))
    assert prove(bundle, pdf)[0] == 1
    assert packed(small, files) == bundle.read_bytes(), "the same files, the same bytes"


def test_a_bundle_that_lacks_a_file_or_its_bibliography_is_no_proof(small: Path, tmp_path: Path) -> None:
    pdf = built(small)
    bundle = tmp_path / "bundle.tar.gz"
    bundle.write_bytes(packed(small, ["main.bbl", "main.tex"]))
    with pytest.raises(PaperFailed, match="does not build on its own"):
        prove(bundle, pdf)
    bundle.write_bytes(packed(small, ["main.tex", "part.tex"]))
    with pytest.raises(PaperFailed, match=r"Citation.*undefined"):
        prove(bundle, pdf)
