# SPDX-License-Identifier: Apache-2.0
"""Files made of the sources of the workshop: notebooks of students and of solutions, the teacher's notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.questions.workshop.source import FOLDER, Block, Unit, read_units

#: Not in the folder that students see.
SOLUTIONS = Path("results") / "workshop" / "solutions"
PAGE = Path("docs") / "workshop.md"
BEGIN, END = "<!-- units -->", "<!-- /units -->"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_STUDENT = ("markdown", "setup", "code", "exercise", "checkpoint")
_SOLUTION = ("markdown", "setup", "code", "solution", "checkpoint", "teacher")


def files_of(root: Path) -> dict[Path, str]:
    """Return the files of the project that are made of the sources, by their paths below the root, with their texts.

    Raises:
        InputError: a source is not as :mod:`harness.questions.workshop.source` says.
    """
    units = read_units(root)
    made: dict[Path, str] = {}
    for unit in units:
        made[FOLDER / f"{unit.stem}.ipynb"] = notebook(unit, solved=False)
    page = (root / PAGE).read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    made[PAGE] = f"{before}{BEGIN}\n{for_teachers(units)}\n{END}{after}"
    return made


def outdated(root: Path) -> list[Path]:
    """Return the paths of files that are not what the sources say, and of those that no source has."""
    made = files_of(root)
    there = {path.relative_to(root) for path in (root / FOLDER).glob("*.ipynb")}
    changed = [
        path
        for path, text in made.items()
        if not (root / path).is_file() or (root / path).read_text("utf-8") != text
    ]
    return sorted({*changed, *(there - set(made))})


def write_files(root: Path) -> list[Path]:
    """Write the solutions and what is out of date, remove what no source has, and return the paths of all."""
    made = files_of(root)
    changed = outdated(root)
    solved = {SOLUTIONS / f"{unit.stem}.ipynb": notebook(unit, solved=True) for unit in read_units(root)}
    for path, text in {path: made.get(path) for path in changed}.items() | solved.items():
        if text is None:
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
    return [*changed, *solved]


def notebook(unit: Unit, *, solved: bool) -> str:
    """Return a notebook without outputs as JSON; ``solved``: with solutions and the teacher's notes."""
    cells = list(_cells(unit, solved=solved))
    content = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cells(unit: Unit, *, solved: bool) -> Iterator[dict[str, object]]:
    kinds = _SOLUTION if solved else _STUDENT
    yield _cell(unit, "head", "markdown", "\n\n".join([_title(unit, solved=solved), *unit.opening]))
    yield _cell(unit, "parameters", "code", _parameters(unit), tags=["parameters"])
    for place, block in enumerate(unit.body):
        if block.kind not in kinds:
            continue
        if block.kind == "markdown":
            yield _cell(unit, cell_name(place, block), "markdown", block.text)
        elif block.kind == "checkpoint":
            yield _cell(unit, f"checkpoint-{cell_name(place, block)}", "markdown", _checkpoint(block))
        elif block.kind == "teacher":
            yield _cell(unit, f"{cell_name(place, block)}-teacher", "markdown", _for_teacher(block))
        else:
            tags = ["setup"] if block.kind == "setup" else []
            yield _cell(unit, cell_name(place, block), "code", block.text, tags=tags)


def cell_name(place: int, block: Block) -> str:
    """Return what a block's cell is called within its unit: by its exercise or checkpoint, else by its place."""
    return block.name.replace(".", "-").replace(" ", "-") or f"{place:02d}"


def _cell(unit: Unit, name: str, kind: str, source: str, *, tags: Sequence[str] = ()) -> dict[str, object]:
    cell: dict[str, object] = {
        "cell_type": kind,
        "id": f"w{unit.number}-{name}",
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source.splitlines(keepends=True),
    }
    return cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []}


def _title(unit: Unit, *, solved: bool) -> str:
    head = unit.head
    goals = "\n".join(f"- {goal}" for goal in head.objectives)
    solutions = ", with solutions" if solved else ""
    return (
        f"# Workshop {unit.number}: {head.title}{solutions}\n\n**Question: {head.question}**\n\n"
        f"{head.minutes} minutes, alone or in pairs. After this unit you can\n\n{goals}"
    )


def _parameters(unit: Unit) -> str:
    experiments = ",".join(unit.head.experiments)
    return f'# Parameters\nprofile = "sample"\nexperiments = "{experiments}"\nhost = "local"\nseed = 1'


def _checkpoint(block: Block) -> str:
    letter, minute = block.name.split(" ")
    return (
        f"**Checkpoint {letter}, minute {minute}.** Late? Run the first two code cells and go on here: "
        f"no cell below needs one above but these two.\n\n{block.text}"
    )


def _for_teacher(block: Block) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in block.text.splitlines())
    return f"> **For the teacher**\n>\n{quoted}"


def for_teachers(units: Sequence[Unit]) -> str:
    """Return the generated part of the teacher's page: the table of units, and each with its notes."""
    head = "| unit | minutes | exercises | checkpoints, in minutes |\n|---|--:|--:|---|"
    rows = [
        f"| {unit.number} {unit.head.title} | {unit.head.minutes} | {len(unit.exercises)} "
        f"| {', '.join(_in_plan(block) for block in unit.of_kind('checkpoint'))} |"
        for unit in units
    ]
    total = sum(unit.head.minutes for unit in units)
    n_exercises = sum(len(unit.exercises) for unit in units)
    sections = [_section(unit) for unit in units]
    return "\n".join([head, *rows, f"| all | {total} | {n_exercises} | |", "", *sections])


def _in_plan(block: Block) -> str:
    letter, minute = block.name.split(" ")
    return f"{letter} {minute}"


def _section(unit: Unit) -> str:
    notes = "\n\n".join(block.text for block in unit.of_kind("teacher"))
    return f"### {unit.number} {unit.head.title}\n\n{unit.head.question}\n\n{notes}\n"


def stale_words(paths: Sequence[Path], made: Mapping[Path, str]) -> str:
    """Return which files are out of date, and which no source has, in one line."""
    return ", ".join(f"{path}{'' if path in made else ' (no source)'}" for path in paths)
