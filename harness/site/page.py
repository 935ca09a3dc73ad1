# SPDX-License-Identifier: Apache-2.0
"""The results page: a file that loads nothing, whole without its script, and lists of numbers and trials beside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.model import Estimate
from harness.model.formatting import DASH, NOT_MEASURED, show
from harness.questions.claims.words import VERDICT_WORDS
from harness.report.html import page_style
from harness.site.published import (
    METRICS,
    Entry,
    Section,
    marks_of,
    printed,
    session_of,
    svg_of,
    trial_sets,
    trials_of,
    trials_of_cells,
)
from harness.site.svg import inline_svg

#: The title of the page.
QUESTION = "Are Java microservices as fast as Go ones, and what do they cost?"
INDEX, NUMBERS, TRIALS = "index.html", "numbers.html", "trials.html"
NOTEBOOKS = "notebooks"
_TEMPLATES = Path(__file__).with_name("templates")
#: Facts on the first screen, where they were published: what they are of -> keys.
_FACTS = {
    "measured": ("session.days",),
    "machine": ("machine.cpu", "machine.cores", "machine.memory", "tool.go", "tool.jdk"),
    "status": ("status",),
}


def claims_of(ledger: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the claims of rows of the ledger, in its order: ``name``, the rows of its ``numbers``, and the one that it
    is ``shown`` with; a row of a source alone is none."""
    rows = [row for row in ledger if row["kind"] is not None]
    groups = [(name, list(numbers)) for name, numbers in groupby(rows, lambda row: str(row["claim"]))]
    return [
        {"name": name, "numbers": numbers, "shown": next(row for row in numbers if row["leads"])}
        for name, numbers in groups
    ]


class Pages:
    """What stands on the pages, and where they link to.

    ``drawn``: key of a figure -> its drawing; ``marks``: its named series.

    Raises:
        InputError: a figure that cannot be shown.
    """

    def __init__(
        self, root: Path, sections: Sequence[Section], ledger: Sequence[Entry], trials: pd.DataFrame
    ) -> None:
        self.sections = sections
        self.claims = claims_of(ledger)
        self.trials = {
            str(session): rows.to_dict("records") for session, rows in trials.groupby("session", sort=False)
        }
        self._session = {session: f"s{place}" for place, session in enumerate(self.trials)}
        self._set = {key: f"t{place}" for place, key in enumerate(trial_sets(sections, ledger))}
        figures = {key: figure for section in sections for key, figure in section.figures.items()}
        self.drawn = {
            key: inline_svg(svg_of(root, key, figure), prefix=f"f{place}-", title=figure["alt"])
            for place, (key, figure) in enumerate(figures.items())
        }
        marks = {key: marks_of(root, figure) for key, figure in figures.items()}
        self.marks = {key: series for key, series in marks.items() if series is not None}

    def link(self, text: str, trials: tuple[str, ...]) -> Markup:
        """Return a number that leads to its trials; one that rests on none is text."""
        if not trials:
            return Markup("{}").format(text)
        return Markup('<a class="n" href="{}#{}">{}</a>').format(TRIALS, self._set[trials], text)

    def index(self) -> str:
        """Return the page that a reader opens."""
        script, kinds = _text("site.js"), Counter(claim["shown"]["kind"] for claim in self.claims)
        counts = {kind.value: (words, n) for kind, words in VERDICT_WORDS.items() if (n := kinds[kind.value])}
        return self._render(
            "site.html.jinja", QUESTION, script,
            head=self.sections[0], facts=_facts(self.sections), claim_counts=counts,
            notebooks=[section.notebook for section in self.sections if section.executed is not None],
            sources=list(dict.fromkeys(claim["shown"]["source"] for claim in self.claims)),
            data=_for_script({"marks": self.marks}),
        )  # fmt: skip

    def numbers(self) -> str:
        """Return the page of all published numbers."""
        return self._render("numbers.html.jinja", "numbers")

    def lists(self) -> str:
        """Return the page of all trials, and of the lists to which numbers lead."""
        sets = [
            (
                name,
                len(trials),
                [(self._session[key], key, list(own)) for key, own in groupby(trials, session_of)],
            )
            for trials, name in self._set.items()
        ]
        return self._render(
            "trials.html.jinja", "trials", session_ids=self._session, sets=sets, metrics=METRICS
        )

    def _render(self, template: str, title: str, script: str = "", **words: Any) -> str:
        pages = Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(_TEMPLATES)
        )
        names = {"index": INDEX, "numbers": NUMBERS, "trials": TRIALS, "notebooks": NOTEBOOKS}
        return pages.get_template(template).render(
            title=title, style=page_style() + Markup(_text("site.css")), policy=_policy(script), script=Markup(script),
            pages=names, site=self, link=self.link, printed=printed, shown=_shown, trials_of=trials_of,
            trials_of_cells=trials_of_cells, **words,
        )  # fmt: skip


def _shown(value: float, unit: str) -> str:
    """Return a metric of one trial."""
    if pd.isna(value):
        return DASH
    return show(Estimate(value=value, unit=unit, method="one trial", estimand="", n_trials=1)).text


def _facts(sections: Sequence[Section]) -> dict[str, str]:
    """What the first screen says of the sessions; facts that were not published are left out."""
    values = {key: entry["text"] for section in sections for key, entry in section.values.items()}
    facts = {
        name: [values[key] for key in keys if values.get(key, NOT_MEASURED) != NOT_MEASURED]
        for name, keys in _FACTS.items()
    }
    return {name: ", ".join(texts) for name, texts in facts.items() if texts}


def _for_script(data: Mapping[str, Any]) -> Markup:
    """What the script reads, as JSON inside a page: no sign of it can end the element around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _policy(script: str) -> str:
    """Nothing is loaded, and no script runs but the page's own."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
