# SPDX-License-Identifier: Apache-2.0
"""The ledger as a data set, one row a number of a claim with its verdicts then and now, and as published rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.analysis.tables.schema import LEDGER
from harness.definitions.claims import Reference, load_ledgers, load_not_then, references
from harness.model.claim import NoVerdictThen
from harness.model.formatting import DASH, show
from harness.project import find_root
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, counts, judge_claims
from harness.questions.claims.rows import AXES, PublishedTables, Sessions, newest_sessions
from harness.questions.claims.words import (
    VERDICT_WORDS,
    here_words,
    measured_words,
    number,
    outcome_words,
    place_words,
    predicate_words,
    unit,
    verdict_words,
)
from harness.rows import count, fact, tidy
from harness.rows.limits import row_of
from harness.rows.text import estimate_of

#: Columns of the row that decided a claim which are published.
_PUBLISHED = (
    "name", "kind", "metric", "value", "low", "high", "level", "unit", "age", "reference_age", "method", "estimand",
    "n_trials", "inputs", "warnings",
)  # fmt: skip


def experiments(root: Path | None = None) -> tuple[str, ...]:
    """Return the experiments that the claims of both ledgers name, in the order in which they do."""
    project = root or find_root()
    tests = [test for claim in load_ledgers(project).values() for test in claim.tests]
    named = [row for axis in AXES for test in tests for row in getattr(test, axis)]
    named += [row for reason in load_not_then(project).values() for row in reason.rows]
    return tuple(dict.fromkeys(row.experiment for row in named))


def judge_all(sessions: Sessions, *, root: Path | None = None) -> tuple[JudgedClaim, ...]:
    """Return every claim of both ledgers with its verdicts, from these sessions; those of smoke are left out."""
    project = root or find_root()
    reasons = {source: why.reason for source, why in load_not_then(project).items()}
    return judge_claims(load_ledgers(project), sessions, PublishedTables(project), reasons)


def results(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return the rows of the ledger: ``<verdict>``, ``judged`` (either way) and ``all`` count claims; of each claim
    with a measured number ``verdict`` is a fact in words, and ``here`` the number that decided it, if it has one. Of
    the source's programs ``then``, ``then_ours`` and ``not_reproduced`` are facts of each measured ``number``."""
    numbers = {verdict.value: n for verdict, n in counts(judged).items()}
    numbers |= {"all": len(judged), "judged": sum(claim.verdict.judged for claim in judged)}
    counted = [count(name, n, "claims") for name, n in numbers.items()]
    return tidy([*counted, *(row | {"claim": claim.name} for claim in judged for row in _rows(claim))])


def _rows(claim: JudgedClaim) -> Iterator[dict[str, Any]]:
    for place, each in enumerate(claim.tests, 1):
        for name, judgement, text in (
            ("then", each.then, each.then.outcome),
            ("then_ours", each.then_ours, each.then_ours.outcome),
            ("not_reproduced", each.then, each.not_reproduced),
        ):
            if judgement.row is not None and text is not None:
                yield fact(name, text, judgement.row["inputs"]) | {"number": str(place)}
    test = claim.shown
    if test.row is None:
        return
    yield fact("verdict", verdict_words(claim), test.row["inputs"])
    if test.row["below"] is None:
        why = None if test.row["value"] is not None else test.row["why"]
        about = {"label": test.test.what, "reference": test.row["filter"].reference, "why": why}
        yield {name: test.row[name] for name in _PUBLISHED} | about


def as_table(
    judged: Sequence[JudgedClaim], sessions: Sessions | None = None, *, root: Path | None = None
) -> pd.DataFrame:
    """Return one row a number of a claim; ``docs/data-dictionary.md`` has its columns.

    Beside them stand texts for tables; ``kind``, the verdict as a word of a program; ``leads``, whether it is the
    number that the claim is shown with; and its ``trials``.

    Args:
        sessions: where they are given, a row more for each source whose claims need no verdict of their time.
    """
    project = root or find_root()
    known = references(project)
    lines = [
        _origin(known, claim.claim.source) | _line(claim, test) for claim in judged for test in claim.tests
    ]
    for source, reason in load_not_then(project).items() if sessions is not None else ():
        if reason.rows:
            lines.append(_origin(known, source) | _of_reason(source, reason, sessions or {}))
    return pd.DataFrame(lines)


def data_set(
    judged: Sequence[JudgedClaim], sessions: Sessions | None = None, *, root: Path | None = None
) -> pd.DataFrame:
    """Return the columns of :func:`as_table` that ``claims.csv`` has, with their types."""
    table = as_table(judged, sessions, root=root).reindex(columns=[column.name for column in LEDGER])
    for column in LEDGER:
        if column.type in ("integer", "number"):
            numbers = pd.to_numeric(table[column.name])
            table[column.name] = numbers.astype("Int64" if column.type == "integer" else "float64")
        elif column.type == "boolean":
            table[column.name] = table[column.name].map({True: "true", False: "false"})
    return table


def of_bundled(root: Path) -> pd.DataFrame:
    """Return the data set of the bundled sessions."""
    sessions = newest_sessions(root, experiments(root), bundled_only=True)
    return data_set(judge_all(sessions, root=root), sessions, root=root)


def _origin(known: Mapping[str, Reference], source: str) -> dict[str, Any]:
    title, year, place = known.get(source, Reference("", "", ""))
    return {"source": source, "article": title, "year": year, "published_in": place}


def _line(claim: JudgedClaim, test: JudgedTest) -> dict[str, Any]:
    """Return the columns of a number of a claim, without those of its source."""
    row: Mapping[str, Any] = test.row or {}
    published = test.test.published
    return {
        "claim": claim.name,
        "place": claim.claim.page if published is None else place_words(published),
        **{name: getattr(claim.claim, name) for name in ("statement", "condition", "quote")},
        "number": test.test.what,
        "claimed": predicate_words(test.test),
        "unit": unit(test.test),
        "published": test.published,
        "printed": DASH if test.published is None else number(test.published, unit(test.test)),
        "measured": row.get("value"),
        "here": here_words(test.row),
        **{name: row.get(name) for name in ("low", "high", "n", "bound_by", "session", "machine")},
        "then": here_words(test.then.row),
        "then_ours": here_words(test.then_ours.row),
        "verdict_then": outcome_words(test.then),
        "verdict_then_ours": outcome_words(test.then_ours),
        "verdict_now": outcome_words(test.judgement),
        "not_reproduced": test.not_reproduced,
        "outcome": test.outcome,
        "in_words": measured_words(test),
        "why": test.judgement.why,
        "verdict": VERDICT_WORDS[claim.verdict],
        "decides": test is claim.shown,
        "kind": claim.verdict.value,
        "verdict_in_words": verdict_words(claim),
        "leads": test is (claim.contradiction or claim.shown),
        "trials": list(test.trials),
    }


def _of_reason(source: str, reason: NoVerdictThen, sessions: Sessions) -> dict[str, Any]:
    """Return the row of a source whose claims need no verdict of their time, with the numbers that say so."""
    measured, used = [], []
    for wanted in reason.rows:
        session = sessions.get(wanted.experiment)
        row = None if session is None or session.evidence is None else row_of(session, wanted, bounded=False)
        if session is not None and session.evidence is not None and isinstance(row, dict):
            used.append(session.evidence.sessions[0].key)
            measured.append(f"{wanted.variant} {show(estimate_of(row)).interval}, bound by {row['bound_by']}")
    experiment = ", ".join(dict.fromkeys(wanted.experiment for wanted in reason.rows))
    text = "; ".join(measured) or DASH
    lacking = f"not measured: no session of {experiment}"
    then = f"not needed: {reason.reason} ({text})" if measured else lacking
    return {
        "claim": source,
        "statement": reason.reason,
        "number": f"{reason.rows[0].metric} of each program",
        "here": text,
        "session": ", ".join(dict.fromkeys(used)) or None,
        "verdict_then": then,
        "verdict_now": "",
        "decides": False,
    }
