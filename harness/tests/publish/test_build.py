# SPDX-License-Identifier: Apache-2.0
"""The paper: no measured digit typed by hand, an unknown key fails, the same input gives the same bytes; its bundle builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import InputError, MissingTool
from harness.model import Estimate
from harness.pipeline import StageParameters, analysis_notebooks
from harness.pipeline.steps import tidy_all
from harness.publish.build import AUX, PaperFailed, build_paper, explain, keys_on
from harness.publish.generated import GENERATED, contributions, in_order, paper_sources, read_values
from harness.rows.schema import slug
from harness.store import Store
from harness.tests.support.available import needs, only_in_ci, only_when_long
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept import fonts_cut_once, pictures_in_pdf_alone, simulated_once
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.published_rows import publish
from harness.tests.support.synthetic import ROOT

PAPER = ROOT / "paper"
SOURCES = paper_sources(PAPER)
BUILT = shutil.ignore_patterns("main.[!t]*", "supplement.[!t]*")
#: Digits that may stand in the text: years, licences, the level of all intervals, names. Others are in \constant.
ALLOWED = re.compile(r"\b(?:19|20)\d\d\b|Apache-2\.0|CC-BY-4\.0|RFC~\d+|\bG1\b|\b99th\b")
#: In a formula, the constants of an interval: one, two.
FORMULA = re.compile(r"\$[^$]*\$|\\\[.*?\\\]")
CONSTANT = re.compile(r"(?<!\d)[12](?!\d)")
STYLE = (PAPER / "rematch.sty").read_text("utf-8")
#: Macros that print what their first argument, a key, was published as; and those that ask whether it was.
PRINTS = re.findall(r"\\newcommand\{\\(\w+)\}\[1\]\{.*\\rematch@named\{\w+\}\{#1\}\}", STYLE)
ASKS = re.findall(r"\\newcommand\{\\(if\w+)\}\[3\]\{%?\s*\\ifcsname rematch@\w+@#1\\endcsname", STYLE)
NAMES = re.compile(
    rf"\\(?:{'|'.join((*PRINTS, *ASKS))}|(?:no)?cite|ref|label|multicolumn|input|rematch\w+|constant|least|most|leastname|mostname|usepackage|documentclass|"
    r"bibliography\w*)\*?(?:\[[^]]*\])?\{[^}]*\}|\\(?:holds|setlength)\{[^}]*\}\{[^}]*\}"
)

NUMBER = Estimate(
    value=1.0, unit="s", method="log-t", estimand="mean", n_trials=1, inputs=("bundled/e/s/0001-a",)
)
#: Those that the made-up project has results for; ``run_all`` leaves out the others.
MEASURED = {"strings-rounds", "strings-startup"}
NOTEBOOKS = [
    one.name
    for one in analysis_notebooks(ROOT)
    if set(one.experiments) <= MEASURED or not any("open_session" in cell for cell in one.code_cells)
]


def cited_by(*macros: str) -> set[str]:
    """Return the keys that the paper gives to these macros."""
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    return set(re.findall(rf"\\(?:{'|'.join(macros)})\{{([^}}#]*)\}}", text))


def typed_digits(text: str) -> list[str]:
    """Return the lines of LaTeX in which a digit stands that no notebook wrote."""
    found = []
    for line in text.splitlines():
        named = NAMES.sub("", re.sub(r"(?<!\\)%.*", "", line))
        left = ALLOWED.sub("", FORMULA.sub(lambda found: CONSTANT.sub("", found[0]), named))
        if re.search(r"\d", left):
            found.append(line)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_measured_digit_is_typed_by_hand(path: Path) -> None:
    assert typed_digits(path.read_text("utf-8")) == []


def test_a_key_is_written_as_keys_are_published() -> None:
    """Of a key that nobody can publish ``\\ifsaid`` would leave its sentence out, and say nothing."""
    assert (PRINTS, ASKS) == (["val", "valci"], ["iftable", "iffigure", "ifsaid"])
    keys = cited_by(*PRINTS, *ASKS)
    assert len(keys) > 50
    assert [key for key in sorted(keys) if ".".join(map(slug, key.split("."))) != key] == []


def test_every_table_and_figure_is_cited_and_whatever_is_cited_is_there() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    there = {f"tab:{key}" for key in re.findall(r"\\rematchtable\{([^}]*)\}", text)}
    there |= {f"fig:{key}" for key in re.findall(r"\\rematch(?:wide)?figure\{([^}]*)\}", text)}
    there |= set(re.findall(r"\\label\{((?:tab|fig):[^}]*)\}", text))
    cited = set(re.findall(r"\\ref\{((?:tab|fig):[^}]*)\}", text))
    assert cited == there and len(there) > 5
    named = set(re.findall(r"\\ref\{((?:sec|app):[^}]*)\}", text))
    assert named <= set(re.findall(r"\\label\{([^}]*)\}", text))


BUILT_FROM_SCRATCH = only_in_ci("a paper and its supplement built from a project of their own")


@pytest.fixture(autouse=True, scope="module")
def _made_once() -> Iterator[None]:
    with simulated_once(), fonts_cut_once(), pictures_in_pdf_alone():
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up quick session, analysed by the notebooks of this project, and its paper."""
    root = lay_project(tmp_path_factory.mktemp("paper"))
    tidy_all(StageParameters(experiments="strings-rounds,strings-startup"), root=root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMATCH_ROOT", str(root))
        for name in ("20-tidy", *NOTEBOOKS):
            execute_in_process(root, name)
    build_paper(root)
    return root


@only_when_long("a paper built twice")
def test_two_builds_in_different_folders_give_the_same_bytes(project: Path, tmp_path: Path) -> None:
    first = build_paper(project).read_bytes()
    elsewhere = tmp_path / "a folder with another name"
    shutil.copytree(project / "paper", elsewhere / "paper", ignore=BUILT)
    assert build_paper(elsewhere).read_bytes() == first


@BUILT_FROM_SCRATCH
def test_no_table_is_set_below_seven_points_or_cut_off(project: Path) -> None:
    log = (project / "paper/supplement.log").read_text("utf-8", errors="replace")
    assert "set below seven points" not in log
    assert "undefined" not in log
    assert "Overfull \\hbox" not in log


@BUILT_FROM_SCRATCH
def test_the_supplement_has_sessions_tables_and_figures_of_each_notebook(project: Path) -> None:
    text = (project / "paper/generated/supplement.tex").read_text("utf-8")
    labels = (project / "paper/supplement.aux").read_text("utf-8", errors="replace")
    parts = contributions(project / GENERATED)
    shown = [(kind, key) for part in parts for kind, key, _ in in_order(part)]
    assert len(shown) > 15
    found = re.findall(r"\\rematch(wide|)(table|figure)\{([^}]*)\}", text)
    assert [(f"{kind}s", key) for _, kind, key in found] == shown
    assert [key for kind, key in shown if f"{{{kind[:3]}:{key}}}" not in labels] == []
    source = "".join((project / "notebooks" / "31-startup.ipynb").read_text("utf-8").split())
    (startup,) = (part for part in parts if part["notebook"] == "31-startup")
    names = [f'\\"{key.partition(".")[2]}\\",' for _, key, _ in in_order(startup)]
    assert names == sorted(names, key=source.index)
    section = text.partition("{sessions.31-startup}")[2].partition(r"\end{rematchtab}")[0]
    names = [session.key for session in Store(project).sessions("strings-startup")]
    assert names and all(f"{name} &" in section for name in names)


@BUILT_FROM_SCRATCH
def test_every_number_says_where_it_comes_from_and_every_cited_one_links_to_its_key(project: Path) -> None:
    values = read_values(project)
    estimated = [entry for entry in values.values() if entry["n_trials"] > 1 and entry["value"] is not None]
    assert len(estimated) > 10 and all(entry["inputs"] for entry in estimated)
    aux, log = (
        (project / "paper" / name).read_text("utf-8", errors="replace") for name in ("main.aux", "main.log")
    )
    cited = set(re.findall(r"\\rematch@cited\{([^}]*)\}", aux))
    assert len(cited) > 5 and cited <= set(values)
    assert "has been referenced but does not exist" not in log


def test_a_page_has_its_keys_in_the_order_of_the_text_each_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no paper was built here; allowed: make paper first"):
        keys_on(tmp_path, 1)
    cited = [("a.b", 1), ("c.d", 1), ("a.b", 1), ("e.f", 2), ("a.b", 5)]
    (tmp_path / AUX).parent.mkdir()
    (tmp_path / AUX).write_text(
        "\\relax\n" + "".join(f"\\rematch@cited{{{key}}}{{{page}}}\n" for key, page in cited)
    )
    assert {page: keys_on(tmp_path, page) for page in (1, 2, 5)} == {
        1: ["a.b", "c.d"], 2: ["e.f"], 5: ["a.b"],
    }  # fmt: skip
    with pytest.raises(InputError, match=r"main\.aux: .*no numbers; found 4; allowed: .*: 1 to 2, 5"):
        keys_on(tmp_path, 4)


@needs(None if shutil.which("pdftotext") else "pdftotext of poppler-utils is required to read a PDF")
def test_the_readme_links_a_pdf_of_its_own_numbers() -> None:
    """Fails after `rematch paper --readme` until `cp paper/main.pdf docs/rematch.pdf` has followed."""

    def signs(text: str) -> str:  # a PDF breaks lines and words, and joins letters
        return re.sub(r"[^0-9A-Za-z.]", "", unicodedata.normalize("NFKC", text))

    copy = ROOT / "docs" / "rematch.pdf"
    command = ["pdftotext", str(copy), "-"]
    printed = signs(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    text = (ROOT / "README.md").read_text("utf-8")
    numbers = re.findall(r"<!-- valci (?:strings_warm|clients|runtimes)\S+ratio\S+ -->(.*?)<!-- / -->", text)
    assert len(numbers) > 15 and "](docs/rematch.pdf)" in text
    assert [number for number in numbers if signs(number) not in printed] == []
    assert copy.stat().st_size <= 1_500_000  # every copy stays in the repository's history


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("It was \\val{a.typo}.", r"main\.tex:2: unknown key 'a\.typo' asked for as \\val"),
        ("It bends at \\valci{a.knee}.", r"main\.tex:2: .*a hole in a sentence: 'a\.knee' has no number"),
        ("\\undefinedmacro", r"paper/main\.tex:2: Undefined control sequence"),
    ],
    ids=["unknown key", "no number", "unknown macro"],
)
def test_a_mistake_or_missing_number_fails_in_its_place(tmp_path: Path, sentence: str, problem: str) -> None:
    (tmp_path / "paper").mkdir()
    for name in ("rematch.sty", "metadata.tex", "supplement.tex"):
        shutil.copyfile(PAPER / name, tmp_path / "paper" / name)
    without = NUMBER.model_copy(update={"value": None, "warnings": ("a straight line fits",)})
    publish(tmp_path, "31-a", {"a.mean": NUMBER, "a.knee": without})
    main = tmp_path / "paper" / "main.tex"
    head = "\\documentclass{article}\\usepackage{hyperref}\\usepackage{rematch}\\begin{document}"
    main.write_text(f"{head}\nIt took \\val{{a.mean}}.\n\\end{{document}}\n")
    build_paper(tmp_path)
    main.write_text(f"{head}\n{sentence}\n\\end{{document}}\n")
    with pytest.raises(PaperFailed, match=problem) as caught:
        build_paper(tmp_path)
    assert "\n" not in str(caught.value)


def test_without_results_or_latex_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no notebook has published anything"):
        build_paper(tmp_path)
    assert "no error line" in explain(tmp_path / "supplement.log")
    publish(tmp_path, "31-a", {"a.mean": NUMBER})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"latexmk is missing: .*apt-get install"):
        build_paper(tmp_path)


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
