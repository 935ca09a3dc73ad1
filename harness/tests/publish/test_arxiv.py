# SPDX-License-Identifier: Apache-2.0
"""The bundle of the paper's sources builds alone, and the paper cites what it lists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from harness.publish.generated import paper_sources
from harness.tests.support.available import needs
from harness.tests.support.synthetic import ROOT

TEXT = (
    r"\documentclass{article}\begin{document}\input{part}\cite{a}\bibliographystyle{plain}\bibliography{references}"
    r"\end{document}"
)
ENTRY = re.compile(r"^\s*@(?!comment|string|preamble)\w+\s*\{\s*([^,\s]+)\s*,", re.MULTILINE | re.IGNORECASE)
CITED = re.compile(r"\\(?:no)?cite[a-z]*\*?(?:\[[^]]*\])*\{([^}]*)\}")


def test_every_citation_has_one_entry_and_every_entry_a_citation() -> None:
    texts = [re.sub(r"(?<!\\)%.*", "", path.read_text("utf-8")) for path in paper_sources(ROOT / "paper")]
    cited = {key.strip() for text in texts for keys in CITED.findall(text) for key in keys.split(",")}
    entries = ENTRY.findall((ROOT / "paper" / "references.bib").read_text("utf-8"))
    assert len(entries) >= 10 and sorted(entries) == sorted(cited)


@needs(None if shutil.which("latexmk") else "LaTeX is missing")
def test_the_bundle_holds_what_latex_read_and_builds_in_an_empty_folder(tmp_path: Path) -> None:
    paper, bundle = tmp_path / "paper", tmp_path / "bundle.tar.gz"
    paper.mkdir()
    (paper / "main.tex").write_text(TEXT)
    (paper / "part.tex").write_text("A part.\n")
    (paper / "unused.tex").write_text("Nobody reads this.\n")
    (paper / "references.bib").write_text("@misc{a,\n  title = {A}, author = {B}, year = {2020}\n}\n")

    def bundled() -> subprocess.CompletedProcess[str]:
        command = ["sh", str(ROOT / "setup/arxiv.sh"), str(paper), str(bundle)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    unbuilt = bundled()
    assert unbuilt.returncode == 2 and "make paper first" in unbuilt.stderr
    latexmk = ["latexmk", "-pdf", "-norc", "-recorder", "-interaction=nonstopmode", "main.tex"]
    subprocess.run(latexmk, cwd=paper, capture_output=True, check=True)
    done = bundled()
    assert done.returncode == 0 and "4 files" in done.stdout, done.stderr
    listed = subprocess.run(["tar", "-tzf", str(bundle)], capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["main.bbl", "main.tex", "part.tex", "references.bib"]
    (paper / "main.bbl").write_text("%\n")
    done = bundled()
    assert done.returncode == 1 and "Citation `a'" in done.stderr
