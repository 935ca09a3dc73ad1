# SPDX-License-Identifier: Apache-2.0
"""The slides of the workshop: a page for each unit that loads nothing, with the unit's own figures and tables.

Slides come in the order of the cells. Notes for the teacher, with solutions, are shown by a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import nbformat
from jinja2 import Environment
from markupsafe import Markup
from nbclient import NotebookClient
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from traitlets.config import Config

from harness.questions.workshop.notebooks import TEACHER, Book, for_students, read_books, tags_of, text_of

SLIDES = Path("results") / "workshop" / "slides"
_TEMPLATE = Path(__file__).with_name("templates") / "slides.html.jinja"
#: A minute is usual; the first run reads the sessions.
_PATIENCE_S = 900
_ABOUT = re.compile(r"\*\*(\d\.\d)\b")
_CHECK = re.compile(r'check\("(\d\.\d)"')


@dataclass
class Slide:
    """One slide and its notes, both HTML."""

    body: str
    notes: list[str] = field(default_factory=list)


def write_slides(root: Path) -> Iterator[Path]:
    """Execute every unit, write its slides, and yield each path below the root."""
    (root / SLIDES).mkdir(parents=True, exist_ok=True)
    for name, book in read_books(root / TEACHER).items():
        path = SLIDES / Path(name).with_suffix(".html")
        (root / path).write_text(slides_page(book, executed(root, book)), "utf-8")
        yield path


def executed(root: Path, book: Book) -> dict[str, list[Book]]:
    """Return what the cells of a unit show by their ids, with its exercises left open."""
    node = nbformat.reads(json.dumps(for_students(book)), as_version=4)  # type: ignore[no-untyped-call]  # no types
    place = {"metadata": {"path": str(root)}}
    # its connections are ports of this machine
    encrypted = Config({"KernelManager": {"transport_encryption": "auto"}})
    NotebookClient(
        node, config=encrypted, timeout=_PATIENCE_S, startup_timeout=_PATIENCE_S, resources=place
    ).execute()
    return {cell.id: cell.outputs for cell in node.cells if cell.cell_type == "code"}


def slides_page(book: Book, outputs: Mapping[str, list[Book]]) -> str:
    """Return the page of a unit."""
    template = _TEMPLATE.read_text("utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    shown = [(Markup(slide.body), Markup("".join(slide.notes))) for slide in slides(book, outputs)]
    title = text_of(book["cells"][0]).partition("\n")[0].removeprefix("# ")
    return page.render(title=title, slides=shown)


def slides(book: Book, outputs: Mapping[str, list[Book]]) -> list[Slide]:
    """Return the slides of a unit: its texts, what its cells show, and its exercises."""
    deck: list[Slide] = []
    about: dict[str, Slide] = {}
    heading = ""
    for cell in book["cells"]:
        text, tags = text_of(cell), tags_of(cell)
        if tags & {"teacher", "checkpoint"}:
            _note(text, about, deck[-1])
        elif "solution" in tags:
            deck[-1].notes.append(f"<pre>{escape(text)}</pre>")
        elif cell["cell_type"] == "markdown":
            first = text.partition("\n")[0]
            heading = first if first.startswith("## ") and "slide" not in tags else heading
            if text != heading:
                deck.append(
                    Slide(markdown2html_mistune(text if first.startswith("#") else f"{heading}\n\n{text}"))
                )
        elif "exercise" in tags:
            name = _CHECK.findall(text)[-1]
            asked = " ".join(line[2:] for line in text.splitlines() if line.startswith("# "))
            about[name] = Slide(markdown2html_mistune(f"## Exercise {name}\n\n{asked}"))
            deck.append(about[name])
        elif not tags & {"parameters", "setup"}:
            code = f"<pre>{escape(text)}</pre>" if "code" in tags else ""
            shown = "".join(_shown(outputs.get(cell["id"], ())))
            if code or shown:
                deck.append(Slide(f'{markdown2html_mistune(heading)}<div class="shown">{code}{shown}</div>'))
    return deck


def _note(text: str, about: Mapping[str, Slide], last: Slide) -> None:
    """Put each paragraph of a note to the exercise that it begins with; what is of none, to the slide before."""
    to = last
    for paragraph in re.sub("^> ?", "", text, flags=re.MULTILINE).split("\n\n"):
        named = _ABOUT.match(paragraph)
        to = about.get(named[1], last) if named else to
        to.notes.append(markdown2html_mistune(paragraph))


def _shown(outputs: Iterable[Book]) -> Iterator[str]:
    for output in outputs:
        data = output.get("data", {})
        if "text/html" in data:
            yield str(data["text/html"])
        else:
            yield f"<pre>{escape(output.get('text') or data.get('text/plain', ''))}</pre>"
