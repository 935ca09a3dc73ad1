# SPDX-License-Identifier: Apache-2.0
"""The results page: one file that loads and runs nothing. The same content gives the same bytes."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.model.formatting import NOT_MEASURED
from harness.publish.generated import GENERATED, contributions, in_order
from harness.publish.supplement import heading
from harness.questions.claims.words import VERDICT_WORDS
from harness.report.html import render_page

#: The title of the page.
QUESTION = "Are Java microservices as fast as Go ones, and what do they cost?"
INDEX = "index.html"
#: End of the key of a sentence that answers a section's question.
ANSWER = ".answer.fact"
#: Facts on the first screen, where they were published: what they are of -> keys.
_FACTS = {
    "measured": ("session.days",),
    "machine": ("machine.cpu", "machine.cores", "machine.memory", "tool.go", "tool.jdk"),
    "status": ("status",),
}
_TEMPLATES = Path(__file__).with_name("templates")

#: A published value, table or figure, as its notebook wrote it; or a row of the ledger.
Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What one notebook published, by key: values sorted, tables and figures in its order."""

    notebook: str
    title: str
    question: str
    values: Mapping[str, Entry]
    tables: Mapping[str, Entry]
    figures: Mapping[str, Entry]

    @property
    def answers(self) -> list[Entry]:
        """The sentences that answer its question, that of its first figure before those of others."""
        first = next(iter(self.figures), "").partition(".")[0]
        keys = [
            key for key in self.values if key.endswith(ANSWER) and self.values[key]["text"] != NOT_MEASURED
        ]
        return [self.values[key] for key in sorted(keys, key=lambda key: key.partition(".")[0] != first)]


def build_site(root: Path, folder: Path) -> Path:
    """Write ``index.html`` into a folder, in place of one that stood there before, and return its path.

    Raises:
        InputError: nothing was published, or a file of it is damaged.
    """
    sections, claims = read_published(root), _claims(root)
    figures = {key: figure for section in sections for key, figure in section.figures.items()}
    kinds = Counter(numbers[0]["kind"] for numbers in claims)
    text = render_page(
        _TEMPLATES / "site.html.jinja", _TEMPLATES / "site.css",
        title=QUESTION, sections=sections, head=sections[0], facts=_facts(sections), claims=claims,
        claim_counts={words: n for kind, words in VERDICT_WORDS.items() if (n := kinds[kind.value])},
        drawn={key: _drawing(root, key, figure) for key, figure in figures.items()}, number_columns=_number_columns,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{INDEX}.new"
    fresh.write_text(text, "utf-8")
    return fresh.replace(folder / INDEX)


def read_published(root: Path) -> tuple[Section, ...]:
    """Return the sections in the order of the notebooks, those that answer a question first.

    Raises:
        InputError: nothing was published, or a file of it is damaged.
    """
    sections = []
    for part in contributions(root / GENERATED):
        notebook = str(part["notebook"])
        title, question = heading(root, notebook)
        section = Section(
            notebook=notebook,
            title=title,
            question=question,
            values=dict(sorted(part["values"].items())),
            tables={key: entry for kind, key, entry in in_order(part) if kind == "tables"},
            figures={key: entry for kind, key, entry in in_order(part) if kind == "figures"},
        )
        sections.append(section)
    if not sections:
        raise InputError("nothing has been published", file=GENERATED, allowed="make site, or make paper")
    return tuple(sorted(sections, key=lambda section: (not section.answers, section.notebook)))


def _claims(root: Path) -> list[list[Entry]]:
    """Return the rows of each published claim, as of :func:`harness.questions.claims.as_table`, the one that it is
    shown with first."""
    file = next((root / GENERATED / "data").glob("*.ledger.json"), None)
    if file is None:
        return []
    try:
        rows = [row for row in json.loads(file.read_text("utf-8")) if row["kind"] is not None]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=file, allowed="make site again") from None
    claims = (own for _, own in groupby(rows, lambda row: str(row["claim"])))
    return [sorted(own, key=lambda row: not row["leads"]) for own in claims]


def _drawing(root: Path, key: str, figure: Entry) -> str:
    """Return the address of a figure's SVG, which is the drawing itself."""
    file = next((root / GENERATED / name for name in figure["files"] if name.endswith(".svg")), None)
    if file is None or not file.is_file():
        raise InputError("a figure without SVG", file=GENERATED, place=key, allowed="make site again")
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"


def _facts(sections: Sequence[Section]) -> dict[str, str]:
    """What the first screen says of the sessions; facts that were not published are left out."""
    values = {key: entry["text"] for section in sections for key, entry in section.values.items()}
    facts = {
        name: [values[key] for key in keys if values.get(key, NOT_MEASURED) != NOT_MEASURED]
        for name, keys in _FACTS.items()
    }
    return {name: ", ".join(texts) for name, texts in facts.items() if texts}


def _number_columns(table: Entry) -> set[int]:
    columns = list(table["columns"])
    return {columns.index(cell["column"]) for cell in table["estimates"] if cell["column"] in columns}
