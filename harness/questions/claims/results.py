# SPDX-License-Identifier: Apache-2.0
"""Claims as rows and as a table: verdict, the number that decided it, and what each number says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.definitions.claims import load_ledgers
from harness.evidence import Evidence
from harness.model.formatting import DASH
from harness.project import find_root
from harness.questions.claims.evaluation import JudgedClaim, counts, judge_claims
from harness.questions.claims.published import PublishedTables
from harness.questions.claims.sessions import SMOKE
from harness.questions.claims.words import (
    VERDICT_WORDS,
    bound_words,
    here_words,
    number,
    predicate_words,
    unit,
    verdict_words,
)
from harness.rows import count, fact, of_estimate, tidy


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


def results(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return the rows of the ledger: counts, and of each claim with a measured number its verdict and that number.

    ``<verdict>``, ``judged`` (either way) and ``all`` count claims; ``verdict`` is a fact in words, and ``here`` the
    number that decided it, both with the level ``claim``. A number that is less than its resolution has no row.
    """
    numbers = {verdict.value: n for verdict, n in counts(judged).items()}
    numbers |= {"all": len(judged), "judged": sum(one.verdict.judged for one in judged)}
    return tidy(
        [
            *(count(name, n, "claims") for name, n in numbers.items()),
            *(row | {"claim": one.name} for one in judged for row in _rows(one)),
        ]
    )


def _rows(one: JudgedClaim) -> Iterator[dict[str, Any]]:
    shown = one.shown
    found = shown.measured
    if found is None:
        return
    yield fact("verdict", verdict_words(one), found.estimate.inputs)
    if found.below is None:
        of = found.number
        about = (
            {"kind": "ratio", "reference": of.over or of.base} if shown.test.is_ratio else {"kind": "mean"}
        )
        ages = found.ages
        age = {} if ages is None else {"age": ages.variant.age, "reference_age": ages.reference.age}
        yield of_estimate(
            found.estimate, name="here", metric=of.metric, label=shown.test.what, **about, **age
        )


def as_table(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return one row a number of a claim: what it needs, what was printed and measured, and what that says.

    ``decides``: the number is the one that decided the verdict of its claim.
    """
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
                    "decides": test is one.shown,
                }
            )
    return pd.DataFrame(rows)
