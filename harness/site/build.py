# SPDX-License-Identifier: Apache-2.0
"""Build the results page and the pages of the executed notebooks from what was published.
Notebooks become pages without a script that load nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from harness.errors import InputError, RematchError
from harness.questions.claims import typed
from harness.report.html import page_style
from harness.site.download import NAME, archive
from harness.site.page import (
    INDEX,
    NUMBERS,
    TRIALS,
    Content,
    Trials,
    claims_of,
    render_index,
    render_numbers,
    render_trials,
)
from harness.site.published import Section, marks_of, read_ledger, read_published, svg_of, trial_sets
from harness.site.trials import opened_sessions, trial_rows

_TEMPLATES = Path(__file__).with_name("templates")
#: What would load something, or run; the pages' policy forbids it too.
_ACTIVE = re.compile(
    r"<(script|iframe|object|embed|link|base|form)\b.*?(</\1\s*>|$)|<(script|iframe|object|embed|link|base|form)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_HANDLER = re.compile(r"(<[^>]*?)\son\w+\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_ANCHOR = re.compile(r'<a class="anchor-link"[^>]*>.*?</a>', re.DOTALL)


def notebook_page(executed: Path, title: str) -> str:
    """Return an executed notebook as one page.

    Raises:
        InputError: it cannot be read.
    """
    from nbconvert import HTMLExporter
    from nbformat.reader import NotJSONError

    try:
        exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True)  # type: ignore[no-untyped-call]  # nbconvert has no types here
        body, _ = exporter.from_filename(str(executed))
    except (OSError, NotJSONError, KeyError, ValueError) as error:
        raise InputError(f"cannot be read as a notebook ({error})", file=executed) from None
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        (_TEMPLATES / "notebook.html.jinja").read_text(encoding="utf-8")
    )
    return page.render(style=page_style(), title=title, body=Markup(_passive(body)))


def _passive(body: str) -> str:
    """The page's body without what runs or loads; our notebooks have none of it."""
    body = _ACTIVE.sub("", _ANCHOR.sub("", body))
    while (once := _HANDLER.sub(r"\1", body)) != body:
        body = once
    return body


#: The page in bytes, at the most.
LIMIT_BYTES = 3_000_000
NOTEBOOKS, FIGURES = "notebooks", "figures"


class TooLarge(RematchError):
    """The page is above its limit although every figure that may stand beside it does."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """What was written. ``beside``: keys of figures that found no room in the page and are files next to it."""

    page: Path
    n_bytes: int
    n_numbers: int
    n_figures: int
    n_trials: int
    n_notebooks: int
    beside: tuple[str, ...]


def build_site(root: Path, folder: Path) -> Built:
    """Write ``index.html`` and the notebooks' pages into a folder, in place of what stood there before.

    Raises:
        InputError: nothing was published, or it does not fit the records. TooLarge: the page has no room for what it
            must have.
    """
    sections = read_published(root)
    content = _content(root, sections)
    trials = Trials(content)
    text, content = _fitted(content, trials)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (NOTEBOOKS, FIGURES):
        shutil.rmtree(folder / old, ignore_errors=True)
    for section in sections:
        if section.executed is not None:
            _write(
                folder / content.notebooks[section.notebook], notebook_page(section.executed, section.title)
            )
        for key, figure in section.figures.items():
            if key in content.beside:
                (folder / FIGURES).mkdir(exist_ok=True)
                shutil.copyfile(svg_of(root, key, figure), folder / content.beside[key])
    _write(folder / NUMBERS, render_numbers(content, trials))
    _write(folder / TRIALS, render_trials(trials))
    (folder / NAME).write_bytes(content.packed)
    _write(folder / INDEX, text)
    return Built(
        page=folder / INDEX,
        n_bytes=len(text.encode("utf-8")),
        n_numbers=sum(len(section.values) for section in sections),
        n_figures=sum(len(section.figures) for section in sections),
        n_trials=len(content.trials),
        n_notebooks=len(content.notebooks),
        beside=tuple(content.beside),
    )


def _content(root: Path, sections: tuple[Section, ...]) -> Content:
    ledger = read_ledger(root)
    cited = {key for trials in trial_sets(sections) for key in trials}
    cited |= {key for line in ledger for key in line["trials"] or ()}
    trials = trial_rows(opened_sessions(root, cited), cited)
    return Content(
        root=root,
        sections=sections,
        trials=trials,
        claims=claims_of(ledger),
        packed=archive(sections, trials, typed(pd.DataFrame(list(ledger)))),
        notebooks={
            section.notebook: f"{NOTEBOOKS}/{section.notebook}.html"
            for section in sections
            if section.executed is not None
        },
        beside={},
    )


def _fitted(content: Content, trials: Trials) -> tuple[str, Content]:
    """The page within its limit: the largest figures that answer to no pointer leave it one by one."""
    drawings = {
        key: svg_of(content.root, key, figure)
        for section in content.sections
        for key, figure in section.figures.items()
        if marks_of(content.root, figure) is None
    }
    large = sorted(drawings, key=lambda key: -drawings[key].stat().st_size)
    beside: Mapping[str, str] = {}
    while True:
        now = replace(content, beside=beside)
        text = render_index(now, trials)
        if len(text.encode("utf-8")) <= LIMIT_BYTES:
            return text, now
        if not large:
            raise TooLarge(
                f"the page has {len(text.encode('utf-8')):,} bytes, {LIMIT_BYTES:,} are allowed, and every figure "
                "without named series is a file beside it"
            )
        key = large.pop(0)
        beside = {**beside, key: f"{FIGURES}/{drawings[key].name}"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, "utf-8")
    os.replace(fresh, path)
