# SPDX-License-Identifier: Apache-2.0
"""Retired words stand nowhere where a user reads: pages, help, messages, notebooks, the paper."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from harness.cli.app import app
from harness.project import find_root

ROOT = find_root(Path(__file__).parent)
RETIRED = re.compile(
    r"\bfar (machine|host|side|service)s?\b|\bget it with\b|\bit is wanted\b|\bown means\b|\bborne\b|\blaid over\b"
    r"|\b(their|its|a|the|this) wakes?\b|\\(not)?told\b|\bdoubts\b|\bthrice\b|\bnot to be had\b|\bsomebody else"
    r"|\bha(s|d) the last word|\blast words\b|\bnever ended well\b"
    r"|\bwhoever\b(?!')|\bbears\b|\bstations?\b|\bover there\b|\bno teeth\b|\bsaid nothing\b|\bwith wakes\b|\bdear(est)?\b|\bit said\b",
    re.IGNORECASE,
)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "Makefile",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "services").rglob("README.md")),
    *sorted((ROOT / "paper").glob("*.tex")),
    *sorted((ROOT / "paper").glob("*.sty")),
    *sorted((ROOT / "paper" / "sections").glob("*.tex")),
]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
#: Keys and names of columns are contracts; words of a sentence stand beside other words.
SENTENCE = re.compile(r"\S \S")
#: Arguments of these LaTeX commands are keys.
KEYS = re.compile(
    r"\\(val|valci|verdict|ntrials|ifpublished|iftable|iffigure|rematch\w+|ref|label|input)\{[^}]*\}"
)


def found_in(text: str) -> list[str]:
    return [match.group(0) for match in RETIRED.finditer(" ".join(text.split()))]


def messages_in(source: str) -> Iterator[str]:
    """Yield the texts of a module with a blank in them, docstrings left out; parts of an f-string together."""
    nodes = list(ast.walk(ast.parse(source)))
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            text = "" if id(node) in docstrings else node.value
        else:
            continue
        if SENTENCE.search(text):
            yield text


def product_modules() -> list[Path]:
    return [
        path
        for folder in ("harness", "setup")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "tests" not in path.relative_to(ROOT).parts
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_retired_word(page: Path) -> None:
    assert found_in(KEYS.sub("", page.read_text("utf-8"))) == []


def test_no_message_has_a_retired_word() -> None:
    modules = product_modules()
    assert len(modules) > 200
    found = {
        str(path.relative_to(ROOT)): words
        for path in modules
        if (words := [one for text in messages_in(path.read_text("utf-8")) for one in found_in(text)])
    }
    assert found == {}


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_no_notebook_has_a_retired_word(page: Path) -> None:
    cells = json.loads(page.read_text("utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    said = [*prose, *(text for source in code for text in messages_in(source))]
    assert [word for text in said for word in found_in(text)] == []


def commands() -> list[str]:
    group = typer.main.get_command(app)
    return sorted(getattr(group, "commands"))  # noqa: B009 - click types it as a Command


@pytest.mark.parametrize("command", ["", *commands()])
def test_no_help_has_a_retired_word_and_every_command_begins_with_a_verb(command: str) -> None:
    shown = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert found_in(shown.output) == []
    if command:
        lines = [line.strip() for line in shown.output.splitlines() if line.strip()]
        first = next(line for line in lines if not line.startswith("Usage"))
        assert first.split()[0] in {
            "Analyse", "Benchmark", "Build", "Compare", "Convert", "Find", "List", "Load", "Remove", "Run", "Show", "Unpack", "Write",
        }  # fmt: skip


def test_a_retired_word_would_be_found() -> None:
    source = '"""far machine"""\nsay(f"the {name} is not to be had")\nkey = "gc.doubts"\n'
    assert [found_in(text) for text in messages_in(source)] == [["not to be had"]]
    assert found_in("its\nlast words") == ["last words"]
