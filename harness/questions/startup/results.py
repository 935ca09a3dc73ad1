# SPDX-License-Identifier: Apache-2.0
"""What the paper says of starting: means of every variant, the effect of an AOT cache, and another session."""

from __future__ import annotations

from harness.analysis.stats.comparisons import compare
from harness.evidence import Evidence
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.load_sentence import given_sentence
from harness.publish.range_words import range_leaf
from harness.publish.results import NO_COMPARISON, NO_TEXT, Tree, for_each, means
from harness.questions.startup.other_session import compared_in_words

FIRST = "time_to_first_response_s"
_AOT = "With a cache over without one, the ratio of times to the first correct answer"


def results(evidence: Evidence, other: Evidence | None) -> Tree:
    """Return ``{first,idle_memory}.<variant>``, ``aot.<implementation>``, with a cache over without one, and
    ``aot_range``, these in a sentence; ``other_session``: a paragraph on the programs that another session measured in
    the same form; ``finding``: title, take-away and how sure, of the time to the first answer of programs in another
    language than the reference's."""
    effects = evidence.aot_effects(FIRST)
    return {
        FINDING: _finding(evidence),
        "aot_range": range_leaf(
            _AOT, [one for one in effects.values() if one is not None], evidence.variants
        ),
        "first": means(evidence.trials, evidence.variants, FIRST),
        "idle_memory": means(evidence.trials, evidence.variants, "idle_rss_bytes"),
        "aot": for_each(effects, effects, NO_COMPARISON),
        "other_session": (compared_in_words(evidence, other, FIRST) if other else "") or NO_TEXT,
    }


def _finding(evidence: Evidence) -> Tree:
    trials, reference = evidence.trials, evidence.reference
    languages = dict(zip(trials["variant"].astype(str), trials["language"].astype(str), strict=True))
    found = compare(trials, FIRST, reference=reference)
    name = evidence.variants[reference]
    return finding(
        [one for one in found if languages[one.variant] != languages[reference]],
        Phrase(
            who="Java programs",
            more=f"take longer than {name} to their first correct answer",
            less=f"take less time than {name} to their first correct answer",
            more_short="longer",
            less_short="less time",
        ),
        also=(given_sentence(evidence, trials),),
    )
