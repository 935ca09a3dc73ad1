# SPDX-License-Identifier: Apache-2.0
"""The paper: no measured digit typed by hand, an unknown key fails, the same input gives the same bytes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import InputError, MissingTool
from harness.model.formatting import NOT_COMPARED, NOT_MEASURED
from harness.pipeline import StageParameters, analysis_notebooks
from harness.pipeline.steps import tidy_all
from harness.publish import clear, generated, read_values
from harness.publish.build import PaperFailed, build_paper, explain
from harness.publish.generated import paper_sources
from harness.publish.publisher import slug
from harness.tests.support.available import only_when_long, some_in_every_run
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept import fonts_cut_once, pictures_in_pdf_alone, simulated_once
from harness.tests.support.kept_sessions import lay_project, lay_session
from harness.tests.support.synthetic import ROOT, make_session

PAPER = ROOT / "paper"
SOURCES = paper_sources(PAPER)
#: The supplement alone: its titles, verdicts and lists of what was not measured are generated.
SECTIONS = [path for path in SOURCES if path.parent.name == "sections" or path.stem == "supplement"]
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
    rf"\\(?:{'|'.join((*PRINTS, *ASKS))}|cite|ref|label|input|rematch\w+|constant|least|most|leastname|mostname|usepackage|documentclass|"
    r"bibliography\w*|rule|dimexpr)\*?(?:\[[^]]*\])?\{[^}]*\}|\\(?:holds|setlength)\{[^}]*\}\{[^}]*\}"
)

#: Those that the made-up project has results for; ``run_all`` leaves out the others.
MEASURED = {"strings-rounds", "strings-startup"}
NOTEBOOKS = [
    one.name
    for one in analysis_notebooks(ROOT)
    if set(one.experiments) <= MEASURED or not any("open_session" in cell for cell in one.code_cells)
]


def cited_by(*macros: str) -> set[str]:
    """Return the keys that the supplement gives to these macros; the paper may lack those of own measurements."""
    text = "\n".join(path.read_text("utf-8") for path in SECTIONS)
    return set(re.findall(rf"\\(?:{'|'.join(macros)})\{{([^}}#]*)\}}", text))


def typed_digits(text: str) -> list[str]:
    """Return the lines of LaTeX in which a digit stands that no notebook wrote."""
    found = []
    for line in text.splitlines():
        named = NAMES.sub("", re.sub(r"(?<!\\)%.*", "", line))
        left = ALLOWED.sub("", FORMULA.sub(lambda found: CONSTANT.sub("", found[0]), named))
        if re.search(r"\d", left.replace(r"\dimexpr\columnwidth-2\fboxsep-2\fboxrule", "")):
            found.append(line)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_measured_digit_is_typed_by_hand(path: Path) -> None:
    assert typed_digits(path.read_text("utf-8")) == []


def test_the_macros_that_take_keys_are_those_of_the_style() -> None:
    assert PRINTS == ["val", "valci", "verdict", "ntrials"]
    assert ASKS == ["ifpublished", "iftable", "iffigure", "ifsaid"]


def test_a_typed_digit_would_be_found() -> None:
    assert typed_digits(r"Java is 12 \% slower than in \cite{nelson2020}, 2020.") != []
    assert typed_digits(r"A formula such as $x = 12$ hides none.") != []
    assert typed_digits(r"Java is \val{a.b1} slower, see Fig.~\ref{fig:a2}, in 2020. % 12") == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_source_line_holds_one_sentence(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith(("\\", "%")):
            assert not re.search(r"[a-z}]\. [A-Z][a-z]", line.replace("Fig. ", "")), line


def test_a_key_is_written_as_keys_are_published() -> None:
    """Of a key that nobody can publish ``\\ifsaid`` and ``\\ifpublished`` would leave their sentence out, and say nothing."""
    keys = cited_by(*PRINTS, *ASKS)
    assert len(keys) > 300
    assert [key for key in sorted(keys) if slug(*key.split(".")) != key] == []


def test_every_table_and_figure_is_cited_and_whatever_is_cited_is_there() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    there = {f"tab:{key}" for key in re.findall(r"\\rematch(?:title)?table\{([^}]*)\}", text)}
    there |= {f"fig:{key}" for key in re.findall(r"\\rematch(?:wide)?figure\{([^}]*)\}", text)}
    there |= set(re.findall(r"\\label\{((?:tab|fig):[^}]*)\}", text))
    cited = set(re.findall(r"\\ref\{((?:tab|fig):[^}]*)\}", text))
    assert cited == there and len(there) > 50
    named = set(re.findall(r"\\ref\{((?:sec|app):[^}]*)\}", text))
    assert named <= set(re.findall(r"\\label\{([^}]*)\}", text))


def test_the_title_of_a_section_of_results_is_generated_or_neutral() -> None:
    typed = [
        title
        for path in SOURCES
        for title in re.findall(r"\\(?:sub)?section\*?\{([^}]*)\}", path.read_text("utf-8"))
    ]
    assert typed and not [title for title in typed if re.search(r"\b(more|less|fewer|than|not|no)\b", title)]
    titles = re.findall(
        r"\\rematchsection\{[^}]*\}\{([^}]*)\}", "\n".join(p.read_text("utf-8") for p in SOURCES)
    )
    assert len(titles) >= 10
    assert not [title for title in titles if re.search(r"\b(more|less|fewer|than|not|no)\b", title)]


def test_what_was_not_measured_is_said_in_one_place() -> None:
    text = {path.stem: path.read_text("utf-8") for path in SECTIONS}
    assert [name for name, one in text.items() if "not measured in this profile" in one.lower()] == []
    assert r"\alltheunmeasured" in text.pop("not-measured")
    assert [name for name, one in text.items() if r"\alltheunmeasured" in one] == []
    for name, one in text.items():
        if r"\ifmeasured{" in one:
            assert re.search(r"^\\listunmeasured\{[^}]+\}$", one, re.MULTILINE), name


def test_no_heading_of_the_paper_stands_over_what_may_be_missing() -> None:
    for path in SOURCES:
        for heading, below in re.findall(
            r"(\\subsection\{[^}]*\})\n(?:\\label\{[^}]*\}\n)?([^\n]*)", path.read_text("utf-8")
        ):
            assert not below.startswith((r"\ifpublished", r"\ifmeasured")), f"{path.stem}: {heading}"


def test_a_section_before_the_appendix_has_one_figure_or_table_of_its_own() -> None:
    body = (PAPER / "supplement.tex").read_text("utf-8").split(r"\appendices")[0]
    two = {"strings-warm"}  # services that are warm, and the same from their first request on
    for name in re.findall(r"\\input\{sections/([\w-]+)\}", body):
        text = (PAPER / f"sections/{name}.tex").read_text("utf-8")
        shown = re.findall(r"\\rematch(?:(?:wide)?figure|table)\{([^}]*)\}", text)
        assert len(shown) <= 1 + (name in two), f"{name}: {', '.join(shown)} belong into the appendix"


def test_the_list_of_what_was_not_measured_stands_behind_all_that_adds_to_it() -> None:
    included = re.findall(r"\\input\{sections/([\w-]+)\}", (PAPER / "supplement.tex").read_text("utf-8"))
    behind = included[included.index("not-measured") :]
    adding = [
        name for name in behind if r"\listunmeasured" in (PAPER / f"sections/{name}.tex").read_text("utf-8")
    ]
    assert adding == []


def test_verdicts_are_never_typed() -> None:
    general = {
        "supplement",
        "appendix-statistics",
        "conclusion",
        "discussion",
        "introduction",
        "method",
        "not-measured",
        "related",
        "reproduction",
        "setup",
        "threats",
    }
    text = "\n".join(path.read_text("utf-8") for path in SECTIONS if path.stem not in general)
    assert not re.search(r"\b(faster|slower|outperforms|beats|wins)\b", re.sub(r"\\\w+\{[^}]*\}", "", text))
    assert text.count(r"\verdict{") > 10


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
    log = (project / "paper/supplement.log").read_text("utf-8", errors="replace")
    assert "undefined" not in log
    assert "Overfull \\hbox" not in log
    assert "set below seven points" not in log


def test_no_table_is_set_below_seven_points_or_cut_off(project: Path) -> None:
    log = (project / "paper/supplement.log").read_text("utf-8", errors="replace")
    assert "set below seven points" not in log
    assert "undefined" not in log
    assert "Overfull \\hbox" not in log


def test_there_are_enough_figures_and_tables_and_each_has_its_alt_text(project: Path) -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    assert len(re.findall(r"\\rematch(?:wide)?figure\{", text)) >= 4
    assert len(re.findall(r"\\rematchtable\{", text)) >= 3
    figures = (project / "paper/generated/figures.json").read_text("utf-8")
    assert figures.count('"alt": "') == figures.count('"caption": "') >= 8


def test_every_number_of_the_text_says_where_it_comes_from(project: Path) -> None:
    values = read_values(project)
    keys = cited_by("val", "valci")
    assert keys <= set(values)
    estimated = [key for key in keys if values[key]["n_trials"] > 1]
    assert len(estimated) > 10
    assert all(values[key]["inputs"] for key in estimated)


def test_every_number_of_the_text_links_to_its_key_in_the_appendix(project: Path) -> None:
    aux, log = (
        (project / "paper" / name).read_text("utf-8", errors="replace")
        for name in ("supplement.aux", "supplement.log")
    )
    cited = set(re.findall(r"\\rematch@cited\{([^}]*)\}", aux))
    assert len(cited) > 50 and cited <= set(read_values(project))
    assert "has been referenced but does not exist" not in log


def copy_of(project: Path, folder: Path) -> Path:
    shutil.copytree(project / "paper", folder / "paper", ignore=BUILT)
    return folder


def test_sections_of_what_was_not_measured_stay_out(project: Path) -> None:
    values = read_values(project)
    assert values["gc.share.g1_3x"]["reason"] == "not measured in this profile"
    included = (project / "paper/supplement.log").read_text("utf-8", errors="replace")
    assert "sections/validity.tex" in included
    assert "sections/gc-peaks.tex" not in included


@pytest.mark.parametrize("measured", some_in_every_run(["forms", "forms-clients"], [], "a second paper"))
def test_of_the_forms_those_stand_in_the_paper_that_were_measured(
    project: Path, measured: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    shutil.copytree(project, root, symlinks=True, ignore=BUILT)
    lay_session(root, measured, "quick")
    tidy_all(StageParameters(experiments=measured), root=root)
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    execute_in_process(root, "34-forms")
    build_paper(root)
    log, labels = (
        (root / "paper" / name).read_text("utf-8", errors="replace")
        for name in ("supplement.log", "supplement.aux")
    )
    assert "undefined" not in log
    assert "Overfull \\hbox" not in log
    found = {name for name in ("forms", "forms.clients") if f"{{fig:{name}.footprint}}" in labels}
    assert found == {measured.replace("-", ".")}


@only_when_long("a paper with two more sections")
def test_what_was_not_measured_of_cores_and_places_is_left_out_and_named_at_the_end(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    shutil.copytree(project, root, symlinks=True, ignore=BUILT)
    notebooks = {"scaling": "50-scaling", "placement": "51-placement"}
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    for experiment in notebooks:
        make_session(root, experiment, "quick")
    make_session(root, "placement", "quick", launcher="container")
    tidy_all(StageParameters(experiments=",".join(notebooks)), root=root)
    for name in notebooks.values():
        execute_in_process(root, name)
    build_paper(root)
    log = (root / "paper/supplement.log").read_text("utf-8", errors="replace")
    assert "undefined" not in log
    assert "Overfull \\hbox" not in log
    absent = {
        key
        for key, entry in read_values(root).items()
        if NOT_MEASURED in (entry.get("reason"), entry["text"]) or entry["text"] == NOT_COMPARED
    }
    left_out: list[str] = []
    for experiment in notebooks:
        assert f"sections/{experiment}.tex" in log
        lines = (root / f"paper/sections/{experiment}.tex").read_text("utf-8").splitlines()
        without = [
            line
            for line in lines
            if absent & set(re.findall(r"\\(?:val|valci|verdict|ntrials)\{([^}]*)\}", line))
        ]
        left_out += without
        assert [line for line in without if not line.startswith(r"\ifmeasured{")] == []
        last = lines.index(without[-1]) if without else 0
        assert [line for line in lines[last:] if line.startswith(r"\listunmeasured{")]
    assert left_out, "the quick profile has all of both: this tests nothing"


def test_an_unknown_key_fails_the_build_and_is_named_with_file_and_line(
    project: Path, tmp_path: Path
) -> None:
    root = copy_of(project, tmp_path)
    threats = root / "paper/sections/threats.tex"
    threats.write_text(threats.read_text() + "It was \\val{strings.no_such_key}.\n")
    line = len(threats.read_text().splitlines())
    with pytest.raises(
        PaperFailed, match=rf"sections/threats\.tex:{line}: unknown key 'strings\.no_such_key'"
    ) as caught:
        build_paper(root)
    assert "\n" not in str(caught.value)


def test_a_number_that_there_is_none_of_leaves_no_hole_in_a_sentence(project: Path, tmp_path: Path) -> None:
    key = "gc.knee"
    entry = read_values(project)["gc.share.g1_3x"] | {"reason": "no bend: a straight line fits as well"}
    root = copy_of(project, tmp_path)
    generated.update(root / generated.GENERATED, "99-test", [("values", key, entry)])
    threats = root / "paper/sections/threats.tex"
    text = threats.read_text()
    threats.write_text(text + f"\\ifmeasured{{a bend}}{{It bends at \\valci{{{key}}}.}}\n")
    build_paper(root)
    threats.write_text(text + f"It bends at \\valci{{{key}}}.\n")
    with pytest.raises(PaperFailed, match=r"sections/threats\.tex:\d+: .*a hole in a sentence: 'gc\.knee'"):
        build_paper(root)


def test_a_mistake_in_the_source_is_one_line_with_file_and_place(project: Path, tmp_path: Path) -> None:
    root = copy_of(project, tmp_path)
    question = root / "paper/sections/introduction.tex"
    question.write_text("\\section{Q}\n\\undefinedmacro\n")
    with pytest.raises(PaperFailed, match=r"paper/sections/introduction\.tex:2: Undefined control sequence"):
        build_paper(root)


def test_without_the_start_up_notebook_the_rest_still_builds(project: Path, tmp_path: Path) -> None:
    root = copy_of(project, tmp_path)
    clear(root, "31-startup")
    assert build_paper(root).stat().st_size > 0


def test_nothing_published_is_said_before_latex_is_started(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    with pytest.raises(InputError, match="no notebook has published anything"):
        build_paper(tmp_path)


def test_missing_latex_is_named_with_what_brings_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_of(project, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"latexmk is missing: .*apt-get install"):
        build_paper(root)


def test_a_log_without_an_error_line_is_said_so(tmp_path: Path) -> None:
    assert "no error line" in explain(tmp_path / "supplement.log")


def test_each_section_of_results_that_can_be_printed_answers_a_question_that_is_asked() -> None:
    sections = ROOT / "paper" / "sections"
    asked = (sections / "introduction.tex").read_text("utf-8")
    printed = re.findall(
        r"\\ifpublished\{([\w.]+)\}\{\\input\{(sections/[\w-]+)\}",
        (ROOT / "paper/supplement.tex").read_text("utf-8"),
    )
    assert len(printed) >= 10
    for key, section in printed:
        label = re.search(r"\\label\{(sec:\w+)\}", (ROOT / "paper" / f"{section}.tex").read_text("utf-8"))
        assert label is not None, section
        assert rf"\ref{{{label[1]}}}" in asked, section
        assert rf"\ifpublished{{{key}}}{{\item" in asked or section.endswith("forms"), key


def test_the_box_names_the_source_of_the_paper_and_of_the_sessions_apart() -> None:
    box = (ROOT / "paper/sections/setup.tex").read_text("utf-8")
    assert r"\val{paper.source}" in box and r"\val{session.sources}" in box
