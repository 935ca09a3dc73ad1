# SPDX-License-Identifier: Apache-2.0
"""The slides of the workshop: a page for each unit that loads nothing, with the unit's own figures and tables.

Slides come in the order of the source. Notes for the teacher, with solutions, are shown by a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from harness.questions.workshop.pages import cell_name, notebook
from harness.questions.workshop.source import Block, Unit, read_units

SLIDES = Path("results") / "workshop" / "slides"
_TEMPLATE = Path(__file__).with_name("templates") / "slides.html.jinja"
#: A minute is usual; the first run reads the sessions.
_PATIENCE_S = 900
_ABOUT = re.compile(r"\*\*(\d\.\d)\b")

#: Name of a cell -> its outputs, as in a notebook file.
Outputs = Mapping[str, list[dict[str, Any]]]


@dataclass
class Slide:
    """One slide and its notes, both HTML."""

    body: str
    notes: list[str] = field(default_factory=list)


def write_slides(root: Path) -> Iterator[Path]:
    """Execute every unit, write its slides, and yield each path below the root."""
    (root / SLIDES).mkdir(parents=True, exist_ok=True)
    for unit in read_units(root):
        path = SLIDES / f"{unit.stem}.html"
        (root / path).write_text(slides_page(unit, executed(root, unit)), "utf-8")
        yield path


def executed(root: Path, unit: Unit) -> Outputs:
    """Return what the cells of a unit show, with its exercises left open."""
    import nbformat  # with nbclient only: tests of the sources have no kernel
    from nbclient import NotebookClient
    from traitlets.config import Config

    book = nbformat.reads(notebook(unit, solved=False), as_version=4)  # type: ignore[no-untyped-call]  # no types
    place = {"metadata": {"path": str(root)}}
    encrypted = Config(
        {"KernelManager": {"transport_encryption": "auto"}}
    )  # its connections are ports of this machine
    NotebookClient(
        book, config=encrypted, timeout=_PATIENCE_S, startup_timeout=_PATIENCE_S, resources=place
    ).execute()
    return {cell.id.partition("-")[2]: cell.outputs for cell in book.cells if cell.cell_type == "code"}


def slides_page(unit: Unit, outputs: Outputs) -> str:
    """Return the page of a unit."""
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _TEMPLATE.read_text("utf-8")
    )
    shown = [(Markup(one.body), Markup("".join(one.notes))) for one in slides(unit, outputs)]
    return page.render(title=f"{unit.number} {unit.head.title}", slides=shown)


def slides(unit: Unit, outputs: Outputs) -> list[Slide]:
    """Return the slides of a unit: its texts, what its cells show, and its exercises."""
    head = unit.head
    goals = "\n".join(f"- {goal}" for goal in head.objectives)
    title = f"# {unit.number} {head.title}\n\n**{head.question}**\n\nYou will be able to\n\n{goals}"
    found = [Slide(_html(title)), *(Slide(_html(text)) for text in unit.opening)]
    about: dict[str, Slide] = {}
    heading = ""
    for place, block in enumerate(unit.body):
        if block.kind in ("markdown", "slide"):
            first = block.text.partition("\n")[0]
            heading = first if first.startswith("## ") and block.kind == "markdown" else heading
            text = block.text if first.startswith("## ") else f"{heading}\n\n{block.text}"
            if text != heading:
                found.append(Slide(_html(text)))
        elif block.kind == "code":
            # a cell with libraries of its own is an analysis to be read
            code = f"<pre>{escape(block.text)}</pre>" if "import " in block.text else ""
            shown = "".join(_shown(outputs.get(cell_name(place, block), ())))
            found.append(Slide(f'{_html(heading)}<div class="shown">{code}{shown}</div>'))
        elif block.kind == "exercise":
            about[block.name] = Slide(_html(f"## Exercise {block.name}\n\n{_asked(block)}"))
            found.append(about[block.name])
        elif block.kind == "solution":
            found[-1].notes.append(f"<pre>{escape(block.text)}</pre>")
        elif block.kind in ("teacher", "checkpoint"):
            _note(block, about, found[-1])
    return found


def _note(block: Block, about: Mapping[str, Slide], last: Slide) -> None:
    """Put each paragraph of a note to the exercise that it begins with; what is of none, to the slide before."""
    to = last
    for paragraph in block.text.split("\n\n"):
        named = _ABOUT.match(paragraph)
        to = about.get(named[1], last) if named else to
        to.notes.append(_html(paragraph))


def _asked(block: Block) -> str:
    """Return what an exercise asks for: the comment of its cell."""
    return " ".join(line.removeprefix("# ") for line in block.text.splitlines() if line.startswith("#"))


def _shown(outputs: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in outputs:
        data = one.get("data", {})
        if "text/html" in data:
            yield str(data["text/html"])
        else:
            yield f"<pre>{escape(one.get('text') or data.get('text/plain', ''))}</pre>"


def _html(text: str) -> str:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune  # slow to load, and for slides only

    return str(markdown2html_mistune(text))
