# SPDX-License-Identifier: Apache-2.0
"""The results page: a file that loads nothing, whole without its script, and lists of numbers and trials beside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.model.claim import ClaimVerdict
from harness.model.formatting import NOT_MEASURED
from harness.questions.claims.words import VERDICT_WORDS
from harness.report.html import page_style
from harness.site.download import NAME
from harness.site.published import (
    Entry,
    Section,
    marks_of,
    printed,
    svg_of,
    trial_sets,
    trials_of,
    trials_of_cells,
)
from harness.site.svg import inline_svg
from harness.site.trials import METRICS, TrialRow

#: The title of the page.
QUESTION = "Are Java microservices as fast as Go ones, and what do they cost?"
INDEX, NUMBERS, TRIALS = "index.html", "numbers.html", "trials.html"
_TEMPLATES = Path(__file__).with_name("templates")
#: Facts on the first screen, where they were published: what they are of -> keys.
_FACTS = {
    "measured": ("session.days",),
    "machine": ("machine.cpu", "machine.cores", "machine.memory", "tool.go", "tool.jdk"),
    "status": ("status",),
}


class Claim(NamedTuple):
    """A published claim: the rows of its numbers, and the one that it is shown with."""

    name: str
    numbers: list[Entry]
    shown: Entry


def claims_of(ledger: Sequence[Entry]) -> list[Claim]:
    """Return the claims of rows of the ledger, in its order; a row of a source alone is none."""
    rows = [row for row in ledger if row["kind"] is not None]
    groups = [(name, list(numbers)) for name, numbers in groupby(rows, lambda row: str(row["claim"]))]
    return [Claim(name, numbers, next(row for row in numbers if row["leads"])) for name, numbers in groups]


def trials_of_number(number: Entry) -> tuple[str, ...]:
    """Return the trials of a row of the ledger."""
    return tuple(number["trials"] or ())


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a page is made of. ``beside``: key of a figure -> its file, of those that are too large for the page."""

    root: Path
    sections: tuple[Section, ...]
    trials: Sequence[TrialRow]
    claims: Sequence[Claim]
    packed: bytes
    notebooks: Mapping[str, str]
    beside: Mapping[str, str]


class Trials:
    """Where the page of the trials lists those behind a number: every set of them once."""

    def __init__(self, content: Content) -> None:
        numbers = (number for claim in content.claims for number in claim.numbers)
        sets = [*trial_sets(content.sections), *filter(None, map(trials_of_number, numbers))]
        self._set = {key: f"t{place}" for place, key in enumerate(dict.fromkeys(sets))}
        self.sessions = {
            key: list(rows) for key, rows in groupby(content.trials, lambda trial: trial.session)
        }
        self._session = {key: f"s{place}" for place, key in enumerate(self.sessions)}

    def link(self, text: str, trials: tuple[str, ...]) -> Markup:
        """Return a number that leads to its trials; one that rests on none is text."""
        if not trials:
            return Markup("{}").format(text)
        return Markup('<a class="n" href="{}#{}">{}</a>').format(TRIALS, self._set[trials], text)

    def session_id(self, session: str) -> str:
        """Return the id of a session's heading."""
        return self._session[session]

    @property
    def lists(self) -> list[tuple[str, int, list[tuple[str, list[str]]]]]:
        """(id, number of trials, [(session, numbers of the trials)]) of every set."""
        return [
            (
                name,
                len(keys),
                [
                    (session, [key.rpartition("/")[2].partition("-")[0] for key in own])
                    for session, own in groupby(keys, lambda key: key.rpartition("/")[0])
                ],
            )
            for keys, name in self._set.items()
        ]


def render_index(content: Content, trials: Trials) -> str:
    """Return the page that a reader opens.

    Raises:
        InputError: a figure that cannot be shown.
    """
    sections = content.sections
    script, kinds = _text("site.js"), Counter(claim.shown["kind"] for claim in content.claims)
    return _render(
        "site.html.jinja", QUESTION, script,
        head=sections[0], facts=_facts(sections), figures=_drawn(content), beside=content.beside,
        sections=sections, notebooks=content.notebooks, link=trials.link,
        claims=content.claims, trials_of_number=trials_of_number,
        claim_counts={verdict.value: (VERDICT_WORDS[verdict], n) for verdict in ClaimVerdict if (n := kinds[verdict])},
        sources=list(dict.fromkeys(claim.shown["source"] for claim in content.claims)),
        data_kib=-(-len(content.packed) // 1024), data=_for_script(content),
    )  # fmt: skip


def render_numbers(content: Content, trials: Trials) -> str:
    """Return the page of all published numbers."""
    sections = [section for section in content.sections if section.values]
    return _render("numbers.html.jinja", "numbers", sections=sections, link=trials.link)


def render_trials(trials: Trials) -> str:
    """Return the page of all trials, and of the lists to which numbers lead."""
    return _render(
        "trials.html.jinja", "trials", sessions=trials.sessions, session_id=trials.session_id, sets=trials.lists,
        metrics=[head for head, _ in METRICS.values()],
    )  # fmt: skip


def _render(template: str, title: str, script: str = "", **words: Any) -> str:
    pages = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(_TEMPLATES)
    )
    return pages.get_template(template).render(
        title=title, style=page_style() + Markup(_text("site.css")), policy=_policy(script), script=Markup(script),
        pages={"index": INDEX, "numbers": NUMBERS, "trials": TRIALS, "data": NAME}, printed=printed,
        trials_of=trials_of, trials_of_cells=trials_of_cells, **words,
    )  # fmt: skip


def _drawn(content: Content) -> dict[str, Markup]:
    """Key of a figure -> its drawing, of those that stand in the page."""
    return {
        key: inline_svg(svg_of(content.root, key, figure), prefix=f"f{place}-", title=figure["alt"])
        for place, (key, figure) in enumerate(_figures(content).items())
        if key not in content.beside
    }


def _figures(content: Content) -> dict[str, Entry]:
    return {key: figure for section in content.sections for key, figure in section.figures.items()}


def _facts(sections: Sequence[Section]) -> dict[str, str]:
    """What the first screen says of the sessions; facts that were not published are left out."""
    values = {key: entry["text"] for section in sections for key, entry in section.values.items()}
    facts = {
        name: [values[key] for key in keys if values.get(key, NOT_MEASURED) != NOT_MEASURED]
        for name, keys in _FACTS.items()
    }
    return {name: ", ".join(texts) for name, texts in facts.items() if texts}


def _for_script(content: Content) -> Markup:
    """What the script reads, as JSON inside a page: no sign of it can end the element around it."""
    drawn = {
        key: marks
        for key, figure in _figures(content).items()
        if key not in content.beside and (marks := marks_of(content.root, figure)) is not None
    }
    text = json.dumps({"marks": drawn}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
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
