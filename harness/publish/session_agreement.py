# SPDX-License-Identifier: Apache-2.0
"""On how many verdicts two sessions of an experiment agree, in words."""

from __future__ import annotations

from harness.analysis.stats.session_agreement import ExpectedAgreement, SessionAgreement, expected_agreement
from harness.model.digits import plain


def counts_in_words(found: SessionAgreement, *, changed: bool = False) -> str:
    """Return ``22 of 33 verdicts agree (where nothing changed, sampling alone gives 18 to 27, on average 23.1), none
    contradict, in 11 at most one session decides, and in 4 of the 22 neither does``; kinds without pairs omitted."""
    counts, expected = found.counts(changed=changed), expected_agreement(found, changed=changed)
    beside = (
        "" if expected is None else f" (where nothing changed, sampling alone gives {_expected(expected)})"
    )
    said = [f"{counts['agree']} of {sum(counts.values())} verdicts agree{beside}"]
    if counts["contradict"] or counts["one undecided"]:
        n = counts["contradict"]
        said.append(f"{n or 'none'} contradict{'s' if n == 1 else ''}")
    if counts["one undecided"]:
        said.append(f"in {counts['one undecided']} at most one session decides")
    if n_neither := found.n_undecided_in_both(changed=changed):
        neither = "neither does" if counts["one undecided"] else "neither session decides"
        said.append(f"and in {n_neither} of the {counts['agree']} {neither}")
    return ", ".join(said)


def _expected(one: ExpectedAgreement) -> str:
    range_ = f"{one.low} to {one.high}" if one.low < one.high else str(one.low)
    return f"{range_}, on average {plain(one.agree)}"
