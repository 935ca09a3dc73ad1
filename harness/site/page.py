# SPDX-License-Identifier: Apache-2.0
"""The results page: a file that loads nothing, whole without its script, and lists of numbers and trials beside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.model.formatting import NOT_MEASURED
from harness.publish import headline_rounds, headline_warm
from harness.publish.generated import Values, text_of
from harness.report.html import page_style
from harness.site.claims import ClaimRow, verdict_counts
from harness.site.download import NAME
from harness.site.published import Published, PublishedFigure
from harness.site.svg import Glyph, glyph_sheet, inline_svg
from harness.site.trials import METRICS, TrialRow
from harness.site.verdicts import VerdictRow, constants, decisive

QUESTION = "Are Java microservices as fast as Go ones, and what do they cost?"
INDEX, NUMBERS, TRIALS = "index.html", "numbers.html", "trials.html"
_TEMPLATES = Path(__file__).with_name("templates")
_ROUNDS = ("headline.load", "headline.generator", "headline.warm_up")
_MACHINE = ("machine.memory", "tool.go", "tool.jdk")
_NO_ANSWER = (
    "The services that answer this question were not measured here; the sections below have what was."
)


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a page is made of. ``beside``: key of a figure -> its file, of those that are too large for the page."""

    published: Published
    trials: Sequence[TrialRow]
    verdicts: Sequence[VerdictRow]
    claims: Sequence[ClaimRow]
    packed: bytes
    notebooks: Mapping[str, str]
    beside: Mapping[str, str]


class Trials:
    """Where the page of the trials lists those behind a number: every set of them once."""

    def __init__(self, content: Content) -> None:
        tests = (test for claim in content.claims for test in (claim.shown, *claim.tests))
        sets = [
            *content.published.trial_sets,
            *(row.trials for row in content.verdicts if row.trials),
            *(test.trials for test in tests if test.trials),
        ]
        self._set = {one: f"t{place}" for place, one in enumerate(dict.fromkeys(sets))}
        self.sessions = {key: list(rows) for key, rows in groupby(content.trials, lambda one: one.session)}
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
                    (session, [key.rpartition("/")[2].partition("-")[0] for key in mine])
                    for session, mine in groupby(keys, lambda key: key.rpartition("/")[0])
                ],
            )
            for keys, name in self._set.items()
        ]


def render_index(content: Content, trials: Trials) -> str:
    """Return the page that a reader opens.

    Raises:
        UnknownKey: a number of the headline was not published. InputError: a figure that cannot be shown.
    """
    published = content.published
    figures, glyphs = _drawn(published, content.beside)
    script = _text("site.js")
    head = _headline(published.values)
    top = next((one for s in published.sections for one in s.figures if one.key == head["figure"]), None)
    return _render(
        "site.html.jinja", QUESTION, script,
        head=head, top=top, figures=figures, beside=content.beside, glyphs=glyph_sheet(glyphs),
        sections=published.sections, notebooks=content.notebooks, link=trials.link,
        verdicts=_by_session(content.verdicts), open_session=_session_of(head, content.verdicts),
        claims=content.claims, claim_counts=verdict_counts(content.claims),
        sources=list(dict.fromkeys(one.source for one in content.claims)),
        data_kib=-(-len(content.packed) // 1024), data=_for_script(content),
    )  # fmt: skip


def render_numbers(content: Content, trials: Trials) -> str:
    """Return the page of all published numbers."""
    sections = [section for section in content.published.sections if section.numbers]
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
        pages={"index": INDEX, "numbers": NUMBERS, "trials": TRIALS, "data": NAME}, **words,
    )  # fmt: skip


def _by_session(verdicts: Sequence[VerdictRow]) -> list[tuple[str, list[tuple[int, VerdictRow]]]]:
    return [(name, list(rows)) for name, rows in groupby(enumerate(verdicts), lambda one: one[1].session)]


def _session_of(head: Mapping[str, Any], verdicts: Sequence[VerdictRow]) -> str:
    """The session of the first screen, else the last one."""
    trials: tuple[str, ...] = head["itself"][1] if head["itself"] else ()
    return trials[0].rpartition("/")[0] if trials else verdicts[-1].session if verdicts else ""


def _drawn(published: Published, beside: Collection[str]) -> tuple[dict[str, Markup], dict[str, Glyph]]:
    """Key of a figure -> its drawing; and the glyphs of all."""
    figures: dict[str, Markup] = {}
    glyphs: dict[str, Glyph] = {}
    every = [one for section in published.sections for one in section.figures]
    for place, one in enumerate(every):
        if one.key not in beside:
            drawing = inline_svg(one.svg, prefix=f"f{place}-", title=one.alt)
            figures[one.key] = drawing.markup
            glyphs |= drawing.glyphs
    return figures, glyphs


def _headline(values: Values) -> dict[str, Any]:
    """What stands on the first screen: of the warm services, of the published loop where those were not measured, or
    nothing of either."""
    if headline_warm.MEASURED in values:
        return {
            "figure": headline_warm.FIGURE,
            "answer": [
                (lead, said.text, _inputs(values, said.key)) for lead, said in headline_warm.answer(values)
            ],
            "table": _table(values),
            "notes": [line.replace("**", "") for line in headline_warm.below(values) if line],
            **_facts(values, "strings_warm.throughput", "strings_warm.day"),
        }
    said = [("", _said(values, key), _inputs(values, key)) for key in _ROUNDS]
    return {
        "figure": headline_rounds.FIGURE,
        "answer": [one for one in said if one[1]] or [("", _NO_ANSWER, ())],
        "table": None,
        "notes": [],
        **_facts(values, "strings.throughput", "strings_rounds.day"),
    }


def _facts(values: Values, compared: str, day: str) -> dict[str, Any]:
    itself = f"{compared}.aa"
    cores = _said(values, "machine.cores")
    machine = ", ".join(
        filter(None, (f"{cores} cores" if cores else "", *(_said(values, key) for key in _MACHINE)))
    )
    return {
        "margin": _said(values, f"{compared}.margin") or "not measured",
        "itself": (_said(values, itself), _inputs(values, itself)) if _said(values, itself) else None,
        "day": _said(values, day) or _said(values, "session.days"),
        "days": _said(values, "session.days"),
        "status": _said(values, "status"),
        "machine": machine,
    }


def _said(values: Values, key: str) -> str:
    """What was published under a key; empty: nothing was."""
    text = text_of(values, key, interval=True) if key in values else ""
    return "" if text == NOT_MEASURED else text


def _table(values: Values) -> dict[str, Any]:
    found = headline_warm.table(values)
    return {
        "before": found.before.replace("`", ""),
        "columns": found.columns,
        "rows": [
            (
                name.replace("`", ""),
                [[(said.text, _inputs(values, said.key)) for said in cell] for cell in cells],
            )
            for name, cells in found.rows.items()
        ],
    }


def _inputs(values: Values, key: str | None) -> tuple[str, ...]:
    return () if key is None or key not in values else tuple(sorted(values[key]["inputs"]))


def _for_script(content: Content) -> Markup:
    """What the script reads, as JSON inside a page: no sign of it can end the element around it."""
    figures: dict[str, PublishedFigure] = {f.key: f for s in content.published.sections for f in s.figures}
    data = {
        "rule": constants(),
        "comparisons": decisive(content.verdicts),
        "marks": {
            key: one.marks
            for key, one in figures.items()
            if one.marks is not None and key not in content.beside
        },
    }
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
