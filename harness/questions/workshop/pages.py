# SPDX-License-Identifier: Apache-2.0
"""Files made of the sources of the workshop: notebooks of students and of solutions, slides, the teacher's notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.questions.workshop.source import FOLDER, Block, Unit, read_units

SLIDES = FOLDER / "slides"
SOLUTIONS = FOLDER / "solutions"
PAGE = Path("docs") / "workshop.md"
BEGIN, END = "<!-- units -->", "<!-- /units -->"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_STUDENT = ("markdown", "setup", "code", "exercise", "checkpoint")
_SOLUTION = ("markdown", "setup", "code", "solution", "checkpoint", "teacher")


def files_of(root: Path) -> dict[Path, str]:
    """Return every file that is made of the sources, by its path below the root, with its text.

    Raises:
        InputError: a source is not as :mod:`harness.questions.workshop.source` says.
    """
    units = read_units(root)
    made: dict[Path, str] = {}
    for unit in units:
        made[FOLDER / f"{unit.stem}.ipynb"] = notebook(unit, solved=False)
        made[SOLUTIONS / f"{unit.stem}.ipynb"] = notebook(unit, solved=True)
        made[SLIDES / f"{unit.stem}.md"] = slides(unit)
    page = (root / PAGE).read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    made[PAGE] = f"{before}{BEGIN}\n{for_teachers(units)}\n{END}{after}"
    return made


def outdated(root: Path) -> list[Path]:
    """Return the paths of files that are not what the sources say, and of those that no source has."""
    made = files_of(root)
    there = {
        path.relative_to(root)
        for folder, pattern in ((FOLDER, "*.ipynb"), (SOLUTIONS, "*.ipynb"), (SLIDES, "*.md"))
        for path in (root / folder).glob(pattern)
    }
    changed = [
        path
        for path, text in made.items()
        if not (root / path).is_file() or (root / path).read_text("utf-8") != text
    ]
    return sorted({*changed, *(there - set(made))})


def write_files(root: Path) -> list[Path]:
    """Write what is out of date, remove what no source has, and return the paths of both."""
    made = files_of(root)
    changed = outdated(root)
    for path in changed:
        target = root / path
        if path in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(made[path], "utf-8")
        else:
            target.unlink()
    return changed


def notebook(unit: Unit, *, solved: bool) -> str:
    """Return a notebook without outputs as JSON; ``solved``: with solutions and the teacher's notes."""
    cells = list(_cells(unit, solved=solved))
    content = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cells(unit: Unit, *, solved: bool) -> Iterator[dict[str, object]]:
    kinds = _SOLUTION if solved else _STUDENT
    first, *rest = unit.blocks
    opening = [_title(unit, solved=solved)]
    if first.kind == "markdown" and not first.text.startswith("## "):
        opening.append(first.text)
    else:
        rest = list(unit.blocks)
    yield _cell(unit, "head", "markdown", "\n\n".join(opening), "slide")
    yield _cell(unit, "parameters", "code", _parameters(unit), "skip", tags=["parameters"])
    for place, block in enumerate(rest):
        if block.kind not in kinds:
            continue
        name = block.name.replace(".", "-").replace(" ", "-") or f"{place:02d}"
        if block.kind == "markdown":
            shown = "slide" if block.text.startswith("## ") else "fragment"
            yield _cell(unit, name, "markdown", block.text, shown)
        elif block.kind == "checkpoint":
            yield _cell(unit, f"checkpoint-{name}", "markdown", _checkpoint(block), "skip")
        elif block.kind == "teacher":
            yield _cell(unit, f"{name}-teacher", "markdown", _for_teacher(block), "notes")
        else:
            tags = ["setup"] if block.kind == "setup" else []
            yield _cell(unit, name, "code", block.text, "skip" if tags else "fragment", tags=tags)


def _cell(
    unit: Unit, name: str, kind: str, source: str, slide: str, *, tags: Sequence[str] = ()
) -> dict[str, object]:
    metadata: dict[str, object] = {"slideshow": {"slide_type": slide}}
    if tags:
        metadata["tags"] = list(tags)
    cell: dict[str, object] = {
        "cell_type": kind,
        "id": f"w{unit.number}-{name}",
        "metadata": metadata,
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


def slides(unit: Unit) -> str:
    """Return the slides of a unit as Markdown, with a line of three dashes between two slides."""
    head = unit.head
    goals = "\n".join(f"- {goal}" for goal in head.objectives)
    title = f"# {head.title}\n\n{head.question}\n\nYou will be able to\n\n{goals}"
    asked = [f"**Exercise {name}** is in the notebook." for name in unit.exercises[:1]]
    body = [title, *(block.text for block in unit.of_kind("slide"))]
    note = (
        "<!-- Made of the source of this unit by `make workshop-notebooks`; do not edit. -->\n"
        "<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n\n"
    )
    return note + "\n\n---\n\n".join([*body, *asked]) + "\n"


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
