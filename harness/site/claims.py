# SPDX-License-Identifier: Apache-2.0
"""Published claims with their verdicts, as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.definitions.claims import load_ledgers
from harness.model.claim import ClaimVerdict
from harness.model.formatting import DASH
from harness.questions.claims import JudgedClaim, JudgedTest, PublishedTables, judge_claims, newest_evidence
from harness.questions.claims.words import (
    VERDICT_WORDS,
    bound_words,
    here_words,
    measured_words,
    number,
    predicate_words,
    unit,
    verdict_words,
)


@dataclass(frozen=True, kw_only=True)
class ClaimNumber:
    """One number of a claim."""

    what: str
    claimed: str
    printed: str
    here: str
    bound: str
    session: str
    said: str
    trials: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """One claim. ``kind``: its verdict as a word of the ledger, which filters ask for."""

    name: str
    source: str
    statement: str
    condition: str
    quote: str
    kind: str
    verdict: str
    shown: ClaimNumber
    tests: tuple[ClaimNumber, ...]


def judged_claims(root: Path, *, bundled_only: bool) -> tuple[JudgedClaim, ...]:
    """Return every claim with its verdict, as ``rematch claims`` has it.

    Args:
        bundled_only: leave out what was measured here, as the published numbers do.
    """
    return judge_claims(
        load_ledgers(root), newest_evidence(root, bundled_only=bundled_only), PublishedTables(root)
    )


def claim_rows(judged: Sequence[JudgedClaim]) -> tuple[ClaimRow, ...]:
    """Return them in the order of the ledger."""
    return tuple(
        ClaimRow(
            name=one.name,
            source=one.claim.source,
            statement=one.claim.statement,
            condition=one.claim.condition,
            quote=one.claim.quote or "",
            kind=one.verdict.value,
            verdict=verdict_words(one),
            shown=_test(one.contradiction or one.shown),
            tests=tuple(_test(test) for test in one.tests),
        )
        for one in judged
    )


def verdict_counts(rows: Sequence[ClaimRow]) -> dict[str, tuple[str, int]]:
    """Return verdict as the ledger has it -> (in words, how many claims), those that any claim has."""
    return {
        verdict.value: (VERDICT_WORDS[verdict], n)
        for verdict in ClaimVerdict
        if (n := sum(row.kind == verdict.value for row in rows))
    }


def _test(one: JudgedTest) -> ClaimNumber:
    found = one.measured
    return ClaimNumber(
        what=one.test.what,
        claimed=predicate_words(one.test),
        printed=DASH if one.published is None else number(one.published, unit(one.test)),
        here=here_words(found),
        bound=DASH if found is None else bound_words(found.bound_by) or DASH,
        session=DASH if found is None else found.session,
        said=measured_words(one),
        trials=() if found is None else tuple(sorted(found.estimate.inputs)),
    )
