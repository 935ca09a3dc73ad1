# SPDX-License-Identifier: Apache-2.0
"""The workshop: one source for all its files, exercises that are open in one notebook and right in the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.project import ROOT_VARIABLE
from harness.questions.workshop.checking import Checks, Truth
from harness.questions.workshop.comparing import TRAPS, ComparingUnit, write_comparisons
from harness.questions.workshop.latency import LatencyUnit
from harness.questions.workshop.pages import SOLUTIONS, files_of, notebook, outdated, write_files
from harness.questions.workshop.readiness import workshop_code
from harness.questions.workshop.replication import ReplicationUnit
from harness.questions.workshop.slides import executed, slides_page
from harness.questions.workshop.source import FOLDER, SOURCES, Unit, read_unit, read_units
from harness.questions.workshop.warming import WarmingUnit
from harness.tests.site.page_structure import Page
from harness.tests.support.available import only_when_long, some_in_every_run
from harness.tests.support.browser import a_browser
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.synthetic import ROOT

UNITS = {unit.stem: unit for unit in read_units(ROOT)}
#: The cheapest ones; the others in `make test-all`.
IN_EVERY_RUN = ("05-gc-peak",)
#: As a student, and again as a teacher.
KINDS = ("open", "right")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its bundled sessions, and tables of its own."""
    root = own_tables(tmp_path_factory.mktemp("workshop"))
    lay_tables(root, "gc-peaks")
    return root


def own_tables(root: Path) -> Path:
    (root / "data").mkdir()
    for name in ("harness", "notebooks", "docs", "pyproject.toml", "data/raw"):
        (root / name).symlink_to(ROOT / name)
    return root


@pytest.fixture(autouse=True)
def _there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(project))


def test_notebooks_and_notes_are_what_their_sources_say() -> None:
    assert outdated(ROOT) == []
    assert [unit.number for unit in UNITS.values()] == [1, 2, 3, 4, 5, 6]


def test_a_changed_source_and_a_file_without_one_are_found_and_put_right(tmp_path: Path) -> None:
    for path in (*files_of(ROOT), *(SOURCES / f"{stem}.md" for stem in UNITS)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    assert outdated(tmp_path) == []
    source = tmp_path / SOURCES / "01-latency-distribution.md"
    source.write_text(source.read_text("utf-8").replace("Predict, then run.", "Guess, then run."), "utf-8")
    (tmp_path / FOLDER / "07-gone.ipynb").write_text("{}", "utf-8")
    expected = {FOLDER / "01-latency-distribution.ipynb", FOLDER / "07-gone.ipynb"}
    assert set(outdated(tmp_path)) == expected
    assert set(write_files(tmp_path)) == expected | {SOLUTIONS / f"{stem}.ipynb" for stem in UNITS}
    assert outdated(tmp_path) == []
    solved = (tmp_path / SOLUTIONS / "01-latency-distribution.ipynb").read_text("utf-8")
    assert "Guess, then run." in solved and "For the teacher" in solved


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_unit_has_prompts_checkpoints_notes_slides_and_checked_exercises(unit: Unit) -> None:
    prose = "\n".join(block.text for block in unit.of_kind("markdown"))
    assert len(re.findall(r"\*\*Predict", prose)) >= 3
    assert len(unit.exercises) >= 4
    assert len(unit.of_kind("slide")) >= 3
    minutes = [int(block.name.split(" ")[1]) for block in unit.of_kind("checkpoint")]
    assert len(minutes) >= 2
    assert minutes == sorted(minutes)
    assert minutes[-1] < unit.head.minutes
    for block in unit.of_kind("exercise", "solution"):
        assert f'check("{block.name}", answer)' in block.text
    for block in unit.of_kind("exercise"):
        assert "..." in block.text
        note = "\n".join(one.text for one in unit.of_kind("teacher"))
        assert block.name in note, f"no note on {block.name}"


def test_students_have_neither_solutions_nor_notes() -> None:
    for unit in UNITS.values():
        text = (ROOT / FOLDER / f"{unit.stem}.ipynb").read_text("utf-8")
        sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
        for block in unit.of_kind("solution", "teacher"):
            assert block.text not in sources
        assert "For the teacher" not in text


@pytest.mark.parametrize(
    ("stem", "kind"),
    [
        pytest.param(*param.values, kind, id=f"{param.id}-{kind}", marks=param.marks)
        for param in some_in_every_run(UNITS, IN_EVERY_RUN, "each unit of the workshop, with its solutions")
        for kind in KINDS
    ],
)
def test_every_exercise_runs_to_its_dots_and_every_solution_is_right(
    project: Path, stem: str, kind: str, tmp_path: Path
) -> None:
    unit = UNITS[stem]
    (tmp_path / f"{stem}.ipynb").write_text(notebook(unit, solved=kind == "right"), "utf-8")
    found = execute_in_process(project, str(tmp_path / stem), publishing=False)
    check = found["check"]
    assert isinstance(check, Checks)
    assert tuple(check.truths) == unit.exercises
    assert {name: one.state for name, one in check.results.items()} == dict.fromkeys(unit.exercises, kind)
    for name, truth in check.truths.items() if kind == "right" else ():
        expected = truth.value()
        for hint, wrong in truth.wrong.items():
            usual = wrong()
            answer = expected | usual if isinstance(expected, dict) and isinstance(usual, dict) else usual
            assert check(name, answer).text == f"not yet. {hint}", f"{name}: {answer} counts as right here"
        if isinstance(expected, dict):
            _words_are_offered(unit, name, list(expected.values()))


def _words_are_offered(unit: Unit, name: str, answers: list[object]) -> None:
    """An exercise names the words to choose from, and not in the order of its answers."""
    asked = next(block.text for block in unit.of_kind("exercise") if block.name == name)
    offered = re.findall(r'"([a-z ]+)"', "".join(re.findall("^#.*$", asked, re.MULTILINE)))
    words = {word for word in answers if isinstance(word, str)}
    assert words <= set(offered), name
    assert len(words) < 3 or [word for word in offered if word in words] != answers, name


def test_what_is_said_of_an_answer_does_not_give_it_away() -> None:
    number = Truth(value=lambda: 42.0, within=0.01, why="It is.", wrong={"Half of it.": lambda: 21.0})
    names = Truth(
        value=lambda: {"A": "open", "B": "closed"},
        why=lambda: "So it is.",
        wrong={"Who waits in A?": lambda: {"A": "closed"}},
    )
    check = Checks({"1.1": number, "1.2": names, "1.3": Truth(value=lambda: True, why="It is.")})
    assert check("1.1", ...).state == "open"
    assert check("1.1", None).state == "open"
    assert check("1.1", 42.3).state == "right"
    assert repr(check("1.1", 21.0)) == "1.1: not yet. Half of it."
    assert repr(check("1.1", 50)) == "1.1: not yet. The number is too large."
    assert repr(check("1.1", "42")) == "1.1: not yet. A number is needed."
    assert check("1.1", True).state == "wrong"
    assert repr(check("1.1", 4200)).endswith("right in another unit: which one is asked for?")
    assert repr(check("1.1", 0.042)).endswith("right in another unit: which one is asked for?")
    assert check(1.1, 42).state == "right"
    assert check("1.2", {"A": "open", "B": ...}).state == "open"
    assert repr(check("1.2", {"A": "open", "B": "open"})) == "1.2: not yet. 1 of 2 entries are wrong."
    assert check("1.2", {"A": " Open", "B": "CLOSED"}).state == "right"
    assert repr(check("1.2", {"A": "opened", "B": "closed"})).endswith(
        "'opened' is no answer here; allowed: closed, open."
    )
    assert repr(check("1.2", {"A": "closed", "B": "closed"})) == "1.2: not yet. Who waits in A?"
    assert repr(check("1.3", "yes")) == "1.3: not yet. True or False is needed."
    assert repr(check(2.1, 3)) == "2.1: no such exercise; allowed: 1.1, 1.2, 1.3."
    assert set(check.results) == {"1.1", "1.2", "1.3"}


def test_slides_are_one_page_with_figures_exercises_and_notes_that_loads_nothing(
    project: Path, tmp_path: Path
) -> None:
    unit = UNITS["05-gc-peak"]
    text = slides_page(unit, executed(project, unit))
    page = Page(text)
    assert not page.unbalanced and page.named("h1")
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", text)
    assert [attributes["alt"][:7] for _, attributes, _ in page.named("img")] == ["Latency", "Time of"]
    shown = [said for _, _, said in page.named("section")]
    exercises = {
        name: next(said for said in shown if said.startswith(f"Exercise {name}")) for name in unit.exercises
    }
    # its own notes, and its solution
    assert "the whole length of the pause" in exercises["5.2"] and "overlap.clip(lower=0)" in exercises["5.2"]
    assert "This is what remains" not in text and "what remains in place" in exercises["5.3"]
    assert sum("of it in pauses / ms" in said for said in shown) == 1
    with a_browser(tmp_path) as browser:
        (tmp_path / "slides.html").write_text(text, "utf-8")
        browser.open(tmp_path / "slides.html")
        seen = "Array.from(document.querySelectorAll('section')).filter(one => one.checkVisibility()).map(one => one.id)"
        assert browser.evaluate(seen) == ["s1"]
        for key, there in {
            "ArrowRight": ["s2"],
            "End": [f"s{len(shown)}"],
            "ArrowLeft": [f"s{len(shown) - 1}"],
        }.items():
            browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key)
            browser.evaluate("new Promise(done => setTimeout(done, 50))")
            assert browser.evaluate(seen) == there
        notes = "Array.from(document.querySelectorAll('aside')).filter(one => one.checkVisibility()).length"
        assert browser.evaluate(notes) == 0
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key="n")
        assert browser.evaluate(notes) == 1
        assert browser.foreign_requests == browser.problems == []


HEAD = '+++\ntitle = "T"\nquestion = "Q?"\nminutes = 30\nexperiments = ["a"]\nobjectives = ["x", "y"]\n+++\n'
SETUP = "```python setup\nx = 1\n```\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no head", "a head is missing"),
        (HEAD.replace("30", "90") + SETUP, "is no head of a unit"),
        (HEAD + "text\n", "a unit has one set-up cell"),
        (HEAD + SETUP + "```python\nx\n", "a block is not closed"),
        (HEAD + SETUP + "```python excercise 1.1\nx\n```\n", "is no code cell"),
        (HEAD + SETUP + "```python exercise 1.1\nx\n```\n", "its solution has to follow"),
        (
            HEAD + SETUP + "```python exercise 2.1\nx\n```\n```python solution 2.1\nx\n```\n",
            "is of another unit",
        ),
        (HEAD + SETUP + "```python exercise 1.2\nx\n```\n```python solution 1.2\nx\n```\n", "are numbered"),
        (HEAD + SETUP + "```checkpoint soon\nx\n```\n", "which checkpoint?"),
    ],
)
def test_a_source_that_is_not_right_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "01-made-up.md"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        read_unit(path)
    assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparingUnit]:
    folder = tmp_path_factory.mktemp("comparisons")
    write_comparisons(folder)
    warm: Any = None  # the made-up comparisons alone are asked for
    yield ComparingUnit(folder=folder, warm=warm, subject="")


def test_each_broken_comparison_has_its_trap_and_the_fair_one_has_none(comparisons: ComparingUnit) -> None:
    faults = comparisons.checks.truths["6.1"].value()
    assert isinstance(faults, dict)
    for name, fault in faults.items():
        traps = {trap.name for trap in comparisons.compared(name).traps}
        assert traps == ({TRAPS[fault]} if fault != "fair" else set()), name
    assert comparisons.checks.truths["6.2"].value() is True


def test_the_comparisons_are_the_same_files_each_time(comparisons: ComparingUnit, tmp_path: Path) -> None:
    write_comparisons(tmp_path)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.jtl"))
    assert len(files) > 40
    assert all((comparisons.folder / path).read_bytes() == (tmp_path / path).read_bytes() for path in files)


def test_a_computer_without_jupyterlab_is_not_ready() -> None:
    with (
        patch("harness.questions.workshop.readiness.find_spec", lambda _: None),
        pytest.raises(InputError, match="JupyterLab: is not installed"),
    ):
        workshop_code(ROOT)


@only_when_long("the sentences of the workshop that name a direction, held against the sessions")
def test_what_the_prose_says_of_the_sessions_holds(project: Path) -> None:
    cold = execute_in_process(project, "workshop/03-warm-up", publishing=False)["unit"]
    assert isinstance(cold, WarmingUnit)
    assert cold.checks.truths["3.1"].value() == {"cold": "dearer", "warm": "cheaper"}
    assert cold.requests_of_old_trial < 0.5 * cold.requests_until_warm
    one = execute_in_process(project, "workshop/01-latency-distribution", publishing=False)["unit"]
    assert isinstance(one, LatencyUnit)
    assert one.latencies_ms.mean() > np.median(one.latencies_ms)
    pairs = execute_in_process(project, "workshop/02-one-trial", publishing=False)["unit"]
    assert isinstance(pairs, ReplicationUnit)
    assert sum(pair.called_different for pair in pairs.pairs) > 0.5 * len(pairs.pairs)
    assert pairs.checks.truths["2.2"].value() is True
    plans = execute_in_process(project, "workshop/06-fair-comparison", publishing=False)["unit"]
    assert isinstance(plans, ComparingUnit)
    # five blocks are the fewest of any plan: of a plan of five nothing can be said about its width
    assert plans.blocks_for(0.02) > FEWEST_FOR_P
    assert 2 < plans.blocks_for(0.01) / plans.blocks_for(0.02) <= 4


@only_when_long("the code of a computer, from sessions that were not read before")
def test_two_computers_with_the_same_files_print_the_same_short_code(project: Path, tmp_path: Path) -> None:
    code = workshop_code(project)
    assert re.fullmatch(r"[0-9A-F]{3}-[0-9A-F]{3}", code)
    assert workshop_code(own_tables(tmp_path)) == code
