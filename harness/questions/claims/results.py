# SPDX-License-Identifier: Apache-2.0
"""What the paper and its notebook say of every claim: generated from predicate, numbers and verdict alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from harness.definitions.claims import load_ledgers
from harness.evidence import Evidence
from harness.model.claim import ClaimVerdict
from harness.model.formatting import DASH
from harness.model.phrases import capital
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.findings import FINDING, NO_FINDING
from harness.publish.results import NO_TEXT, Absent, Leaf, Tree, Words, as_is
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, counts, judge_claims
from harness.questions.claims.published import PublishedTables
from harness.questions.claims.sessions import SMOKE
from harness.questions.claims.words import (
    VERDICT_WORDS,
    bound_words,
    here_words,
    number,
    passed_over_words,
    predicate_words,
    unit,
    verdict_words,
)

#: Table of the paper -> the sources whose claims it has.
TABLES = {
    "strings": ("nelson2020", "nelson2026"),
    "bank": ("nikitsenka2018", "kirichenko2020"),
    "clients": ("tivrfoa2024",),
    "runtimes": ("openjdk444", "openjdk483", "openjdk519", "go125"),
}
#: Claims of the table near the front of the paper, in its order; those that could not be judged have no row.
FRONT = (
    "N9",
    "N13",
    "N1",
    "N3",
    "N5",
    "N6",
    "N10",
    "N11",
    "N23",
    "R4",
    "R1",
    "B4",
    "T1",
    "T2",
    "T4",
    "T5",
    "V4",
)
FRONT_ROWS = 12
FRONT_COLUMNS = {
    "claim": "claim", "statement": "what is claimed", "number": "number that decides", "printed": "published",
    "here": "here (95 %)", "verdict": "verdict",
}  # fmt: skip
FRONT_WIDTHS = {"statement": 0.25, "number": 0.22, "printed": 0.07, "here": 0.2, "verdict": 0.12}
#: Columns of those tables, and the widths of the ones that are set in lines.
COLUMNS = {
    "claim": "claim", "statement": "what is claimed", "number": "number", "claimed": "claimed", "printed": "printed",
    "here": "here (95 %)", "bound": "bound by", "verdict": "verdict",
}  # fmt: skip
WIDTHS = {"statement": 0.23, "number": 0.17, "claimed": 0.08, "here": 0.1, "bound": 0.09, "verdict": 0.1}


def experiments(root: Path | None = None) -> tuple[str, ...]:
    """Return the experiments that the claims of both ledgers name, in the order in which they do."""
    claims = load_ledgers(root or find_root()).values()
    tests = [test for claim in claims for test in claim.tests]
    return tuple(dict.fromkeys(number.experiment for test in tests for number in test.measured))


def judge_all(
    measured: Mapping[str, Evidence | None], *, root: Path | None = None
) -> tuple[JudgedClaim, ...]:
    """Return every claim of both ledgers with its verdict, from these sessions; those of smoke are left out.

    Args:
        measured: experiment -> its evidence; ``None``, or not there: it was not measured.
    """
    here = root or find_root()
    usable = {name: one for name, one in measured.items() if one is not None and one.profile != SMOKE}

    return judge_claims(load_ledgers(here), usable.get, PublishedTables(here))


def results(judged: Sequence[JudgedClaim]) -> Tree:
    """Return what is published.

    ``count.<verdict>``, ``count.judged`` (either way) and ``count.all``; for each claim ``here.<claim>``, the number
    that decided its verdict here, and ``verdict.<claim>``, both absent where nothing was measured, and
    ``line.<claim>``: its statement, what it needs, what was printed and measured, which evidence was passed over, and
    the verdict; ``contradicted`` and ``untestable``, those that are so; which of the ``TABLES`` have rows, and
    ``front``; and ``finding``: take-away and how sure.
    """
    counted: dict[str, Leaf] = {
        verdict.value: as_is(float(n), "1", f"claims {VERDICT_WORDS[verdict]}")
        for verdict, n in counts(judged).items()
    }
    missing = untestable(judged)
    counted["all"] = as_is(float(len(judged)), "1", "claims")
    counted["judged"] = as_is(float(_n_judged(judged)), "1", "claims that were decided, either way")
    front = {"front": {"measured": "measured"}} if front_rows(judged) else {}
    return {
        **front,
        FINDING: _finding(judged),
        "count": counted,
        "here": {one.name: _here(one) for one in judged},
        "contradicted": ", ".join(one.name for one in judged if one.verdict is ClaimVerdict.CONTRADICTED)
        or "none",
        "untestable": Words(missing) if missing else "none",
        "table": {name: {"measured": "measured"} for name in TABLES if table_rows(judged, name)},
        "line": {one.name: line(one) for one in judged},
        "verdict": {
            one.name: NO_TEXT if one.shown.measured is None else verdict_words(one) for one in judged
        },
    }


def table_rows(judged: Sequence[JudgedClaim], table: str) -> list[Mapping[str, Cell] | None]:
    """Return the rows of one of ``TABLES``: a claim each, with the number that decided its verdict.

    Claims that cannot be tested here have none (``untestable`` lists them), nor has a table of which nothing was
    measured.
    """
    mine = [one for one in judged if one.claim.source in TABLES[table]]
    if not any(one.sessions for one in mine):
        return []
    return _rows(mine)


def front_rows(judged: Sequence[JudgedClaim]) -> list[Mapping[str, Cell] | None]:
    """Return the rows of the table near the front: ``FRONT``, those of which something was measured here."""
    found = {one.name: one for one in judged if one.sessions}
    return _rows([found[name] for name in FRONT if name in found][:FRONT_ROWS])


def _rows(judged: Sequence[JudgedClaim]) -> list[Mapping[str, Cell] | None]:
    rows: list[Mapping[str, Cell] | None] = []
    for one in judged:
        if one.verdict is ClaimVerdict.UNTESTABLE:
            continue
        shown = one.shown
        found = shown.measured
        rows.append(
            {
                "claim": one.name,
                "statement": one.claim.statement,
                "number": shown.test.what,
                "claimed": predicate_words(shown.test),
                "printed": DASH if shown.published is None else number(shown.published, unit(shown.test)),
                "here": here_words(found),
                "bound": DASH if found is None else bound_words(found.bound_by) or DASH,
                "verdict": VERDICT_WORDS[one.verdict],
            }
        )
    return rows


def untestable(judged: Sequence[JudgedClaim]) -> str:
    """Return the claims that cannot be tested here, by what is missing; empty: there are none."""
    told: dict[str, list[str]] = {}
    for one in judged:
        if one.verdict is ClaimVerdict.UNTESTABLE:
            told.setdefault(one.shown.judgement.why, []).append(one.name)
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in told.items())


def _n_judged(judged: Sequence[JudgedClaim]) -> int:
    return sum(one.verdict.judged for one in judged)


def _finding(judged: Sequence[JudgedClaim]) -> Tree:
    """How many claims were decided and how; it has no title, as counts of verdicts are no finding on services."""
    if not any(one.sessions for one in judged):
        return NO_FINDING
    found = counts(judged)
    inputs = tuple(
        dict.fromkeys(
            trial
            for one in judged
            for test in one.tests
            if test.measured is not None
            for trial in test.measured.estimate.inputs
        )
    )
    decided, others = (
        ", ".join(
            f"{found[verdict]} {_DO[verdict][found[verdict] > 1]}"
            for verdict in ClaimVerdict
            if found[verdict] and verdict.judged == either_way
        )
        for either_way in (True, False)
    )
    takeaway = f"Of {len(judged)} published claims {_n_judged(judged)} could be judged: {decided or 'none'}."
    return {
        **NO_FINDING,
        "takeaway": Words(f"{takeaway} Of the others: {others}." if others else takeaway, inputs),
        "sure": Words(
            "A claim holds only where each of its numbers does with its whole interval; claims about warm services are "
            "judged by warm processes alone.",
            inputs,
        ),
    }


#: What one claim does, and several.
_DO = {
    ClaimVerdict.HOLDS: ("holds", "hold"),
    ClaimVerdict.HOLDS_WEAKER: ("holds, but weaker than published", "hold, but weaker than published"),
    ClaimVerdict.HOLDS_STRONGER: ("holds, and stronger than published", "hold, and stronger than published"),
    ClaimVerdict.REVERSED: ("is reversed", "are reversed"),
    ClaimVerdict.DOES_NOT_HOLD: ("does not hold today", "do not hold today"),
    ClaimVerdict.CONTRADICTED: (
        "is contradicted by its own numbers",
        "are contradicted by their own numbers",
    ),
    ClaimVerdict.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    ClaimVerdict.UNTESTABLE: ("cannot be tested here", "cannot be tested here"),
}


def _here(one: JudgedClaim) -> Leaf:
    found = one.shown.measured
    if found is not None and (found.below is not None or found.young):
        return Words(here_words(found), found.estimate.inputs)
    return Absent(unit=unit(one.shown.test)) if found is None else found.estimate


def line(one: JudgedClaim) -> Words:
    """Return a claim in one paragraph, with the trials it rests on."""
    said = [f"{one.name}: {one.claim.statement}", *(_sentence(test) for test in one.tests)]
    if one.claim.opposes:
        said.append(f"{', '.join(one.claim.opposes)} of the same source says the opposite.")
    said.append(f"Verdict: {verdict_words(one)}.")
    inputs = [
        name for test in one.tests if test.measured is not None for name in test.measured.estimate.inputs
    ]
    return Words(" ".join(said), tuple(dict.fromkeys(inputs)))


def _sentence(one: JudgedTest) -> str:
    parts = [f"{capital(one.test.what)}: claimed {predicate_words(one.test)}"]
    if one.published is not None:
        parts.append(f"printed {number(one.published, unit(one.test))}")
    found = one.measured
    if found is None:
        parts.append(f"untestable here ({one.judgement.why})")
    else:
        bound = bound_words(found.bound_by)
        about = [f"n = {found.n}", *([f"bound by {bound}"] if bound else []), found.session]
        outcome = {"holds": "holds", "fails": "fails", "undecided": f"undecided, {one.judgement.why}"}
        parts.append(f"here {here_words(found)} ({', '.join(about)}): {outcome[one.outcome]}")
    passed_over = "; ".join(passed_over_words(other) for other in one.passed_over)
    return ", ".join(parts) + "." + (f" Passed over: {passed_over}." if passed_over else "")


def as_table(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return one row a number of a claim: what it needs, what was printed and measured, and what that says."""
    rows = []
    for one in judged:
        for test in one.tests:
            found = test.measured
            rows.append(
                {
                    "claim": one.name,
                    "source": one.claim.source,
                    "statement": one.claim.statement,
                    "verdict": VERDICT_WORDS[one.verdict],
                    "number": test.test.what,
                    "claimed": predicate_words(test.test),
                    "printed": DASH if test.published is None else number(test.published, unit(test.test)),
                    "here": here_words(found),
                    "n": DASH if found is None else str(found.n),
                    "bound by": DASH if found is None else bound_words(found.bound_by) or DASH,
                    "machine": DASH if found is None else found.machine,
                    "outcome": test.outcome,
                    "why": test.judgement.why,
                }
            )
    return pd.DataFrame(rows).set_index(["claim", "number"])
