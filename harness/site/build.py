# SPDX-License-Identifier: Apache-2.0
"""Build the results page, its data as one archive, and pages of the executed notebooks from what was published.

The same content gives the same bytes. Pages of notebooks load nothing and run nothing: their policy forbids both.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.errors import InputError
from harness.questions.claims import typed
from harness.report.html import page_style
from harness.site.page import DATA, FIGURES, INDEX, NOTEBOOKS, NUMBERS, TRIALS, Pages
from harness.site.published import (
    METRICS,
    Entry,
    Section,
    printed,
    read_ledger,
    read_published,
    svg_of,
    trial_frame,
    trial_sets,
    trials_of,
)

_TEMPLATES = Path(__file__).with_name("templates")
_README = """Results of Rematch: the data behind the results page. UTF-8; an empty cell: nothing was measured.

values.csv   every published number: key, value, interval, unit, verdict and margin of a ratio, estimand, its trials
tables.json  every published table as it is printed
trials.csv   every trial that a number rests on, in SI units: s, bytes, 1/s
claims.csv   published claims, one row a number, with verdicts then and now (docs/data-dictionary.md in the repository)

Raw records: data/raw in the repository. From a key to its trials: rematch trace KEY. Licence: CC-BY-4.0.
"""
#: Columns of values.csv that stand so in a value.
_VALUE = (
    "value", "low", "high", "unit", "verdict", "margin", "n_blocks", "n_trials", "estimand", "method", "notebook",
)  # fmt: skip
_TRIAL = ["trial", "variant", "levels", "block", "outcome", "flags", *METRICS]
_YEAR_ONE = (1980, 1, 1, 0, 0, 0)


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
        InputError: nothing was published, or it does not fit the records.
    """
    sections, ledger = read_published(root), read_ledger(root)
    trials = trial_frame(root, {key for trials in trial_sets(sections, ledger) for key in trials})
    pages = Pages(root, sections, ledger, trials)
    packed = archive(sections, trials, ledger)
    text = pages.index(n_packed=len(packed))
    for old in (NOTEBOOKS, FIGURES):
        shutil.rmtree(folder / old, ignore_errors=True)
    executed = {section.notebook: section for section in sections if section.executed is not None}
    figures = {key: figure for section in sections for key, figure in section.figures.items()}
    files = {f"{NOTEBOOKS}/{name}.html": notebook_page(section) for name, section in executed.items()}
    files |= {name: svg_of(root, key, figures[key]).read_text("utf-8") for key, name in pages.beside.items()}
    files |= {NUMBERS: pages.numbers(), TRIALS: pages.lists(), INDEX: text}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DATA).write_bytes(packed)
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
        n_figures=len(figures),
        n_trials=len(trials),
        n_notebooks=len(executed),
        beside=tuple(pages.beside),
    )


def notebook_page(section: Section) -> str:
    """Return the executed copy of a section's notebook as one page.

    Raises:
        InputError: it cannot be read.
    """
    from nbconvert import HTMLExporter
    from nbformat.reader import NotJSONError

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


def archive(sections: Sequence[Section], trials: pd.DataFrame, ledger: Sequence[Entry]) -> bytes:
    """Return a ZIP with the tables that its README.txt lists."""
    values = [
        {"key": key, **{name: entry.get(name) for name in _VALUE}, "text": printed(entry), "trials": " ".join(trials_of(entry))}
        for section in sections
        for key, entry in section.values.items()
    ]  # fmt: skip
    tables = {
        key: {name: table[name] for name in ("caption", "header", "rows", "notes")}
        for section in sections
        for key, table in section.tables.items()
    }
    columns = ["key", *_VALUE, "text", "trials"]
    frames = {
        "values.csv": pd.DataFrame(values, columns=columns, dtype=object),
        "trials.csv": trials[_TRIAL],
        "claims.csv": typed(pd.DataFrame(list(ledger))),
    }
    files = {"README.txt": _README, "tables.json": json.dumps(tables, ensure_ascii=False, indent=1)}
    files |= {name: frame.to_csv(index=False, lineterminator="\n") for name, frame in frames.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, text in sorted(files.items()):
            out.writestr(zipfile.ZipInfo(name, _YEAR_ONE), text.encode("utf-8"), zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()
