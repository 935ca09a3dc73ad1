# SPDX-License-Identifier: Apache-2.0
"""The workshop: students' notebooks made of the teacher's, exercises that are open in one and right in the other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.project import ROOT_VARIABLE
from harness.questions.workshop import compared, plan_repetitions
from harness.questions.workshop.__main__ import TEACHER, workshop_code
from harness.questions.workshop.exercises import REPLIES, Checks, Truth
from harness.questions.workshop.made_up import COMPARISONS, write_comparisons
from harness.tests.support.available import only_in_ci, only_when_long
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept_sessions import lay_tables
from harness.tests.support.synthetic import ROOT

STUDENTS = Path("notebooks") / "workshop"
#: A notebook as its file has it.
Book = dict[str, Any]


def read_books(folder: Path) -> dict[str, Book]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("[0-9]*.ipynb"))}


def tags_of(cell: Book) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


def text_of(cell: Book) -> str:
    return "".join(cell["source"])


BOOKS = read_books(ROOT / TEACHER)
#: The trap of ``rematch compare`` that each fault is.
TRAPS = {
    "order": "order_confounded", "errors": "fast_errors", "mix": "different_labels", "replication": "one_run",
}  # fmt: skip


#: Each unit as a teacher, and again as a student.
AS_BOTH = [
    pytest.param(
        stem,
        kind,
        id=f"{stem}-{kind}",
        marks=only_in_ci("each unit twice") if kind == "open" and place else (),
    )
    for place, stem in enumerate(BOOKS)
    for kind in ("open", "right")
]


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


def cells_with(book: Book, tag: str) -> list[dict[str, Any]]:
    return [cell for cell in book["cells"] if tag in tags_of(cell)]


def exercises_of(book: Book) -> list[str]:
    return [re.findall(r'check\("(.+)", answer\)', text_of(cell))[0] for cell in cells_with(book, "exercise")]


def test_students_notebooks_are_the_teachers_without_solutions_notes_and_slides() -> None:
    students = read_books(ROOT / STUDENTS)
    assert set(students) == set(BOOKS)
    for name, book in students.items():
        teachers = [
            cell for cell in BOOKS[name]["cells"] if not tags_of(cell) & {"solution", "teacher", "slide"}
        ]
        assert [(text_of(cell), tags_of(cell)) for cell in book["cells"]] == [
            (text_of(cell), tags_of(cell)) for cell in teachers
        ], "make workshop-notebooks"
        shown = "".join(map(text_of, book["cells"]))
        assert not [one for one in cells_with(BOOKS[name], "solution") if text_of(one) in shown]
    assert not any(cell.get("outputs") for book in BOOKS.values() for cell in book["cells"])


@pytest.mark.parametrize("stem", BOOKS)
def test_every_exercise_of_a_unit_has_its_solution_and_a_note_for_the_teacher(stem: str) -> None:
    book, number = BOOKS[stem], int(stem[:2])
    exercises = exercises_of(book)
    assert exercises == [f"{number}.{place}" for place in range(1, len(exercises) + 1)] and exercises
    assert cells_with(book, "slide") and cells_with(book, "checkpoint")
    for name, cell in zip(exercises, cells_with(book, "exercise"), strict=True):
        solution = book["cells"][book["cells"].index(cell) + 1]
        assert tags_of(solution) == {"solution"} and f'check("{name}", answer)' in text_of(solution)
        assert "..." in text_of(cell) and "..." not in text_of(solution)
        assert f"**{name}" in "".join(map(text_of, cells_with(book, "teacher"))), f"no note on {name}"
    assert f"](workshop/{stem}.ipynb)" in (ROOT / "docs/workshop.md").read_text("utf-8")


@pytest.mark.parametrize(("stem", "kind"), AS_BOTH)
def test_exercises_run_to_their_dots_and_solutions_are_right(project: Path, stem: str, kind: str) -> None:
    folder = TEACHER if kind == "right" else STUDENTS
    check = execute_in_process(project, f"../{folder}/{stem}", publishing=False)["check"]
    assert isinstance(check, Checks)
    assert list(check.truths) == exercises_of(BOOKS[stem])
    assert {name: one.state for name, one in check.results.items()} == dict.fromkeys(check.truths, kind)
    if kind == "right":
        replies_fit(stem, check)


def replies_fit(stem: str, check: Checks) -> None:
    """Every usual wrong answer has its reply and is not right here; words are offered, not in the answers' order."""
    for name, truth in check.truths.items():
        assert set(truth.usual) == set(REPLIES[name]) - {"right", "within"}, name
        check(name, truth.value)
        assert check.results[name].state == "right"
        for hint, usual in truth.usual.items():
            whole = isinstance(truth.value, Mapping) and isinstance(usual, Mapping)
            answer = {**truth.value, **usual} if whole else usual  # type: ignore[dict-item]  # mappings, see above
            assert check(name, answer).text == f"not yet. {REPLIES[name][hint]}", (
                f"{name}: {answer} is right here"
            )
        if isinstance(truth.value, Mapping):
            asked = text_of(cells_with(BOOKS[stem], "exercise")[list(check.truths).index(name)])
            offered = re.findall(r'"([a-z ]+)"', "".join(re.findall("^#.*$", asked, re.MULTILINE)))
            answers = [word for word in truth.value.values() if isinstance(word, str)]
            assert set(answers) <= set(offered), name
            assert len(set(answers)) < 3 or [word for word in offered if word in answers] != answers, name


TRUTHS = {
    "1.1": Truth(42.0, {"so": "so"}, half=21.0),
    "1.2": Truth({"A": "open", "B": "closed"}, closed={"A": "closed"}),
    "1.3": Truth(True),
}
REPLIED: dict[str, dict[str, object]] = {
    "1.1": {"right": "It is {so}.", "within": 0.01, "half": "Half of it."},
    "1.2": {"right": "So it is.", "closed": "Who waits in A?"},
    "1.3": {"right": "It is."},
}
OTHER_UNIT = "not yet. These digits are right in another unit: which one is asked for?"


@pytest.mark.parametrize(
    ("exercise", "answer", "state", "reply"),
    [
        ("1.1", ..., "open", "open. Replace the dots, and run the cell again."),
        ("1.1", 42.3, "right", "right. It is so."),
        ("1.1", 21.0, "wrong", "not yet. Half of it."),
        ("1.1", 50, "wrong", "not yet. The number is too large."),
        ("1.1", "42", "wrong", "not yet. A number is needed."),
        ("1.1", 0.042, "wrong", OTHER_UNIT),
        ("1.2", {"A": "open", "B": ...}, "open", "open. Replace the dots, and run the cell again."),
        ("1.2", {"A": "open", "B": "open"}, "wrong", "not yet. 1 of 2 entries are wrong."),
        ("1.2", {"A": " Open", "B": "CLOSED"}, "right", "right. So it is."),
        ("1.2", {"A": "{x}", "B": "closed"}, "wrong", "not yet. '{x}' is no answer here; allowed: closed, open."),
        ("1.2", {"A": "closed", "B": "closed"}, "wrong", "not yet. Who waits in A?"),
        ("1.3", "yes", "wrong", "not yet. True or False is needed."),
        (1.3, np.bool_(True), "right", "right. It is."),
        ("1.3", 1, "wrong", "not yet. True or False is needed."),
        (2.1, 3, "wrong", "no such exercise; allowed: 1.1, 1.2, 1.3."),
    ],
)  # fmt: skip
def test_a_reply_gives_nothing_away(exercise: str | float, answer: object, state: str, reply: str) -> None:
    checked = Checks(TRUTHS, REPLIED)(exercise, answer)
    assert (checked.state, repr(checked)) == (state, f"{exercise}: {reply}")


def test_each_broken_comparison_has_its_trap_and_files_are_the_same_each_time(tmp_path: Path) -> None:
    first, again = write_comparisons(tmp_path / "first"), write_comparisons(tmp_path / "again")
    files = sorted(path.relative_to(first) for path in first.rglob("*.jtl"))
    assert len(files) > 40
    assert all((first / path).read_bytes() == (again / path).read_bytes() for path in files)
    for name, fault in COMPARISONS.items():
        assert [trap.name for trap in compared(first, name).traps] == (
            [TRAPS[fault]] if fault in TRAPS else []
        ), name


@only_when_long("the sentences of the workshop that name a direction, held against the sessions")
def test_what_the_prose_says_of_the_sessions_holds(project: Path) -> None:
    units = {
        name: execute_in_process(project, f"workshop/{name}", publishing=False)
        for name in ("01-latency-distribution", "02-one-trial", "03-warm-up", "06-fair-comparison")
    }
    latencies: Any = units["01-latency-distribution"]["latencies_ms"]
    assert latencies.mean() > np.median(latencies)
    pairs: Any = units["02-one-trial"]
    assert sum(pairs["different"]) > 0.5 * len(pairs["pairs"])
    assert pairs["check"].truths["2.2"].value is True
    cold: Any = units["03-warm-up"]
    assert cold["check"].truths["3.1"].value == {"cold": "dearer", "warm": "cheaper"}
    assert cold["sent"] < 0.5 * cold["until_warm"]
    pilot: Any = units["06-fair-comparison"]["pilot"]
    wide, narrow = (plan_repetitions(*pilot.to_numpy().T, half_width=half) for half in (0.02, 0.01))
    # five blocks are the fewest of any plan: of a plan of five nothing can be said about its width
    assert wide > FEWEST_FOR_P
    assert 2 < narrow / wide <= 4


@only_when_long("the code of a computer, from sessions that were not read before")
def test_two_computers_with_the_same_files_print_the_same_short_code(project: Path, tmp_path: Path) -> None:
    code = workshop_code(project)
    assert re.fullmatch(r"[0-9A-F]{3}-[0-9A-F]{3}", code)
    assert workshop_code(own_tables(tmp_path)) == code
