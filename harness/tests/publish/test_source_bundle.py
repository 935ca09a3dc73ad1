# SPDX-License-Identifier: Apache-2.0
"""The bundle of the paper's sources builds alone, names no folder of a machine, and cites what it lists."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.project import find_root
from harness.publish.build import PaperFailed
from harness.publish.source_bundle import (
    check_bibliography,
    packed,
    problems_of,
    prove,
    refuse_places,
    sources_of,
)
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


def test_the_papers_bibliography_agrees_with_its_text() -> None:
    assert check_bibliography(ROOT / "paper") >= 10


def test_a_citation_without_entry_an_entry_without_citation_and_a_double_one_are_named() -> None:
    references = "@misc{a,\n}\n@book{b,\n}\n@misc{b,\n}\n"
    assert problems_of(references, [r"\cite{a, c} % \cite{b}"]) == [
        r"\cite{c} has no entry",
        r"b is neither cited nor listed by \nocite",
        "b has 2 entries",
    ]
    assert problems_of("@misc{a,\n}\n", [r"\nocite{a}"]) == []


def test_the_bundle_holds_what_latex_read_and_builds_in_an_empty_folder(small: Path, tmp_path: Path) -> None:
    pdf = built(small)
    files = sources_of(small)
    assert files == ["main.bbl", "main.tex", "part.tex", "references.bib"]
    refuse_places(small.parent, files)
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


def test_a_source_that_names_a_folder_of_this_machine_is_refused_with_its_line(small: Path) -> None:
    (small / "part.tex").write_text(f"One.\nSee {small.parent}/x.\n")
    with pytest.raises(InputError, match=r"part\.tex: line 2"):
        refuse_places(small.parent, ["main.tex", "part.tex"])
    (small / "part.tex").write_text("\\input{/etc/x}\n")
    with pytest.raises(InputError, match=r"part\.tex: line 1"):
        refuse_places(small.parent, ["part.tex"])
