# SPDX-License-Identifier: Apache-2.0
"""Build the results page, and pages of the executed notebooks, from what was published.

The same content gives the same bytes. Pages of notebooks load nothing and run nothing: their policy forbids both.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from nbconvert import HTMLExporter
from nbformat.reader import NotJSONError

from harness.errors import InputError
from harness.report.html import page_style
from harness.site.page import INDEX, NOTEBOOKS, NUMBERS, TRIALS, Pages
from harness.site.published import Section, read_ledger, read_published, trial_frame, trial_sets

_TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True, kw_only=True)
class Built:
    """What was written."""

    page: Path
    n_bytes: int
    n_numbers: int
    n_figures: int
    n_trials: int
    n_notebooks: int


def build_site(root: Path, folder: Path) -> Built:
    """Write ``index.html`` and the notebooks' pages into a folder, in place of what stood there before.

    Raises:
        InputError: nothing was published, or it does not fit the records.
    """
    sections, ledger = read_published(root), read_ledger(root)
    trials = trial_frame(root, {key for trials in trial_sets(sections, ledger) for key in trials})
    pages = Pages(root, sections, ledger, trials)
    text = pages.index()
    shutil.rmtree(folder / NOTEBOOKS, ignore_errors=True)
    executed = {section.notebook: section for section in sections if section.executed is not None}
    files = {f"{NOTEBOOKS}/{name}.html": notebook_page(section) for name, section in executed.items()}
    files |= {NUMBERS: pages.numbers(), TRIALS: pages.lists(), INDEX: text}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(content, "utf-8")
        os.replace(fresh, path)
    return Built(
        page=folder / INDEX,
        n_bytes=len(text.encode("utf-8")),
        n_numbers=sum(len(section.values) for section in sections),
        n_figures=len(pages.drawn),
        n_trials=len(trials),
        n_notebooks=len(executed),
    )


def notebook_page(section: Section) -> str:
    """Return the executed copy of a section's notebook as one page.

    Raises:
        InputError: it cannot be read.
    """
    exporter = HTMLExporter(  # type: ignore[no-untyped-call]  # nbconvert has no types here
        template_name="basic", exclude_input_prompt=True, exclude_anchor_links=True
    )
    try:
        body, _ = exporter.from_filename(str(section.executed))
    except (OSError, NotJSONError, KeyError, ValueError) as error:
        raise InputError(f"cannot be read as a notebook ({error})", file=section.executed) from None
    pages = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(_TEMPLATES)
    )
    page = pages.get_template("notebook.html.jinja")
    return page.render(style=page_style(), title=section.title, body=Markup(body))
