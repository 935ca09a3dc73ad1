# SPDX-License-Identifier: Apache-2.0
"""What the notebooks have published, read for a page: a section each with its values, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.model.formatting import NOT_MEASURED
from harness.publish.generated import GENERATED, contributions, in_order
from harness.publish.supplement import heading

#: Where run_all puts executed copies, a folder a profile.
EXECUTED = Path("results")
#: How the key of the sentence ends that answers a section's question.
ANSWER = ".answer.fact"

#: A published value, table or figure, as its notebook wrote it.
Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What one notebook published, by key: values sorted, tables and figures in its order.

    ``executed``: its executed copy; ``None``: there is none.
    """

    notebook: str
    title: str
    question: str
    values: Mapping[str, Entry]
    tables: Mapping[str, Entry]
    figures: Mapping[str, Entry]
    executed: Path | None

    @property
    def answers(self) -> list[Entry]:
        """The sentences that answer its question, that of its first figure before those of others."""
        first = next(iter(self.figures), "").partition(".")[0]
        sentences = {key: value for key, value in self.values.items() if key.endswith(ANSWER)}
        measured = [key for key, value in sentences.items() if value["text"] != NOT_MEASURED]
        return [self.values[key] for key in sorted(measured, key=lambda key: key.partition(".")[0] != first)]


def read_published(root: Path) -> tuple[Section, ...]:
    """Return the sections in the order of the notebooks, those that answer a question first.

    Raises:
        InputError: nothing was published, or a file of it is damaged.
    """
    parts = contributions(root / GENERATED)
    if not parts:
        raise InputError("nothing has been published", file=GENERATED, allowed="make site, or make paper")
    sections = [_section(root, section) for section in parts]
    return tuple(sorted(sections, key=lambda section: (not section.answers, section.notebook)))


def read_ledger(root: Path) -> tuple[Entry, ...]:
    """Return the published claims, a row a number as of :func:`harness.questions.claims.as_table`; none: no notebook
    has published any.

    Raises:
        InputError: the file is damaged.
    """
    file = next((root / GENERATED / "data").glob("*.ledger.json"), None)
    return () if file is None else tuple(_read_json(file))


def _section(root: Path, part: dict[str, Any]) -> Section:
    notebook = str(part["notebook"])
    title, question = heading(root, notebook)
    shown = in_order(part)
    executed = (root / EXECUTED).glob(f"*/{notebook}.ipynb")
    return Section(
        notebook=notebook,
        title=title,
        question=question,
        values=dict(sorted(part["values"].items())),
        tables={key: entry for kind, key, entry in shown if kind == "tables"},
        figures={key: entry for kind, key, entry in shown if kind == "figures"},
        executed=max(executed, key=lambda path: path.stat().st_mtime_ns, default=None),
    )


def trials_of(entry: Entry) -> tuple[str, ...]:
    """Return the trials of a value, sorted."""
    return tuple(sorted(entry["inputs"]))


def printed(entry: Entry) -> str:
    """Return a value with its interval; one that there is none of with the reason."""
    text = str(entry["interval_text"])
    return f"{text} ({entry['reason']})" if entry["value"] is None and entry.get("reason") else text


def trials_of_cells(table: Entry) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return (row, column) of a table -> the trials of that cell."""
    columns = list(table["columns"])
    return {
        (int(cell["row"]), columns.index(cell["column"])): tuple(
            sorted(table["inputs"][i] for i in cell["inputs"])
        )
        for cell in table["estimates"]
        if cell["column"] in columns
    }


def trial_sets(sections: tuple[Section, ...]) -> tuple[tuple[str, ...], ...]:
    """Return every set of trials that a value or a cell rests on, each once."""
    sets: dict[tuple[str, ...], None] = {}
    for section in sections:
        sets |= {trials_of(value): None for value in section.values.values() if value["inputs"]}
        for table in section.tables.values():
            sets |= {trials: None for trials in trials_of_cells(table).values() if trials}
    return tuple(sets)


def svg_of(root: Path, key: str, figure: Entry) -> Path:
    """Return the drawing of a figure.

    Raises:
        InputError: it has none.
    """
    names = (str(name) for name in figure["files"])
    svg = next((root / GENERATED / name for name in names if name.endswith(".svg")), None)
    if svg is None:
        raise InputError("a figure without SVG", file=GENERATED, place=key)
    return svg


def marks_of(root: Path, figure: Entry) -> dict[str, Any] | None:
    """Return the named series of a figure, as of ``harness.figures.marks``; ``None``: it has none.

    Raises:
        InputError: their file is damaged.
    """
    file = next((root / GENERATED / name for name in figure["files"] if name.endswith(".json")), None)
    if file is None:
        return None
    content: dict[str, Any] = _read_json(file)
    return content


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=file, allowed="make site again") from None
