# SPDX-License-Identifier: Apache-2.0
"""Notebooks: committed without outputs, short, and the same numbers each time that they are executed."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import nbformat
import pytest

from harness import questions
from harness.pipeline import StageParameters, analysis_notebooks
from harness.pipeline.steps import tidy_all
from harness.publish.generated import read_values
from harness.tests.support.available import long_tests_are_asked_for, some_in_every_run
from harness.tests.support.in_process import Shell, execute_in_process
from harness.tests.support.kept import fonts_cut_once, pictures_in_pdf_alone, simulated_once
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import ROOT, make_project

FOLDER = ROOT / "notebooks"
ALL = sorted(FOLDER.rglob("*.ipynb"))
#: What a notebook may import besides the project.
LIBRARIES = {"matplotlib", "numpy", "pandas", "scipy", "seaborn"}
ANALYSES = {one.name: one for one in analysis_notebooks(ROOT)}
#: notebook -> the experiments it reads of the made-up project
ANALYSIS = {name: ",".join((*one.experiments, *one.optional)) for name, one in ANALYSES.items()}
#: Those whose cells every run executes; `make paper PROFILE=smoke` executes all of them in order.
IN_EVERY_RUN = ("30-strings", "31-startup")
EXECUTED = ANALYSIS if long_tests_are_asked_for() else IN_EVERY_RUN
MEASURED = tuple(dict.fromkeys(",".join(ANALYSIS[name] for name in EXECUTED).split(",")))
#: Those that run without any session, where others cannot be opened.
BARE = [
    name
    for name in EXECUTED
    if not any("open_evidence" in cell or "open_session" in cell for cell in ANALYSES[name].code_cells)
]
#: Lines of a function and of a cell; one of the workshop fits a screen, and what it draws from is in it.
LONGEST, LONGEST_IN_WORKSHOP = (5, 15), (15, 24)


def longest(path: Path) -> tuple[int, int]:
    return LONGEST if path.parent == FOLDER else LONGEST_IN_WORKSHOP


def cells_of(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    content = json.loads(path.read_text("utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def offered_by(module: str) -> set[str]:
    """The names that a notebook may import: of a face its public ones, of the questions their packages."""
    assert module in ("harness.notebook", "harness.pipeline", "harness.questions", "harness.rows")
    if module == "harness.questions":
        return {one.name for one in iter_modules(questions.__path__)}
    return set(import_module(module).__all__)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_has_no_outputs_checks_its_parameters_first_and_defines_nothing_long(path: Path) -> None:
    nbformat.validate(nbformat.read(path, 4))  # type: ignore[no-untyped-call]  # nbformat has no types
    cells = cells_of(path)
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    first, second = ("".join(cell["source"]) for cell in cells[:2])
    assert [cell["metadata"]["tags"] for cell in cells[:2]] == [["parameters"], ["setup"]]
    assert first.startswith("# Parameters\n") and "check_parameters(" in second
    names = {node.id for node in ast.walk(ast.parse(first)) if isinstance(node, ast.Name)}
    assert names == set(StageParameters.model_fields)
    for node in (node for cell in cells for node in ast.walk(ast.parse("".join(cell["source"])))):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= LIBRARIES
        if isinstance(node, ast.ImportFrom) and node.module not in LIBRARIES:
            assert {alias.name for alias in node.names} <= offered_by(str(node.module))
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            assert (node.end_lineno or 0) - node.lineno < longest(path)[0]


@pytest.mark.parametrize("name", ANALYSES)
def test_the_metadata_of_a_notebook_name_every_experiment_that_it_reads(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(ANALYSES[name].code_cells[0], namespace)  # its parameters
    assert namespace["experiments"] == ANALYSIS[name]


@pytest.fixture(autouse=True, scope="module")
def _made_once() -> Iterator[None]:
    with simulated_once():
        yield


@pytest.fixture
def _drawn_quickly() -> Iterator[None]:
    with fonts_cut_once(), pictures_in_pdf_alone():
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tidied project whose made-up session is small: two blocks."""
    root = lay_project(tmp_path_factory.mktemp("notebooks"), profile="smoke", experiments=MEASURED)
    tidy_all(StageParameters(profile="smoke", experiments=",".join(MEASURED)), root=root)
    return root


def snapshot(root: Path) -> dict[str, bytes]:
    """Everything that was published, figures too."""
    folder = root / "paper" / "generated"
    return {
        path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name[0] != "."
    }


@pytest.fixture(autouse=True)
def _in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMATCH_ROOT", str(project))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("REMATCH_PUBLISH", str(project / "paper" / "generated"))


@pytest.mark.usefixtures("_drawn_quickly")  # the next test draws every format
@pytest.mark.parametrize("name", some_in_every_run(ANALYSIS, IN_EVERY_RUN[1:], "each notebook twice"))
def test_a_notebook_executed_again_gives_the_same_numbers(project: Path, name: str) -> None:
    with Shell(project, name, profile="smoke", experiments=ANALYSIS[name]) as shell:
        shell.execute()
        first = snapshot(project)
        shell.execute()
    assert snapshot(project) == first
    published = read_values(project)
    assert any(entry["notebook"] == name for entry in published.values())
    for number, cell in enumerate(shell.cells):
        if "publisher" in "".join(cell["source"]):
            assert shell.displayed[number], f"{cell['id']} prints nothing"
            lines = shell.displayed[number].splitlines()
            assert not {line.partition(":")[0] for line in lines} & published.keys(), cell["id"]


@pytest.mark.parametrize("name", BARE)
def test_the_unmeasured_has_no_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = make_project(tmp_path, experiments=())
    monkeypatch.setenv("REMATCH_ROOT", str(bare))
    execute_in_process(bare, name)
    assert not any(entry["inputs"] for entry in read_values(bare).values())
