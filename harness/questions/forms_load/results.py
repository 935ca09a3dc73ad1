# SPDX-License-Identifier: Apache-2.0
"""What the paper says of forms under load: warm ratios, cold starts, and requests until break-even."""

from __future__ import annotations

import pandas as pd

from harness.analysis.stats.pairing import inputs_of
from harness.definitions import load_study
from harness.evidence.warm import Warm
from harness.model.digits import plain
from harness.model.formatting import show
from harness.project import find_root
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.results import NO_TEXT, Absent, Leaf, Tree, Words, for_each
from harness.publish.warm_results import compared, warm_tree
from harness.questions.forms_load.analysis import (
    Ends,
    Race,
    Spent,
    compared_with_plain,
    defined_forms,
    ends,
    races,
)

_SPENT: tuple[Spent, ...] = ("time", "cpu")
#: What a form is compared in with the same program on a whole JDK.
_OWN = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_s_per_request",
    "memory": "rss_after_bytes",
    "first": "time_to_first_response_s",
}

_PHRASE = Phrase(
    who="forms of a Java program",
    more="answer more requests per second, warm, than the program on a whole JDK",
    less="answer fewer requests per second, warm, than the program on a whole JDK",
    more_short="more",
    less_short="fewer",
)


def results(warm: Warm | None, experiment: str) -> Tree:
    """Return what is said of every variant of the definition, measured or not: the tree of ``warm_tree``, and

    ``even.{time,cpu}.<form>``: requests until the program on a whole JDK has caught up with the form, a mean where it
    did in every block; ``even_words.{time,cpu}.<form>``: the same in words;
    ``own.{throughput,cpu,memory,first}.<form>``: the form against the same program on a whole JDK; ``finding``: title,
    take-away and how sure, of its throughput.
    """
    defined = load_study(find_root(), experiment).experiment
    variants = defined.labels if warm is None else warm.evidence.labels_of(defined)
    forms = defined_forms(defined)
    found = {spent: races(warm, spent) for spent in _SPENT}
    told = {spent: ends(mine) for spent, mine in found.items()}
    own = {branch: compared_with_plain(warm, metric) for branch, metric in _OWN.items()}
    return {
        **warm_tree(warm, variants, reference=defined.reference),
        FINDING: finding(own["throughput"], _PHRASE),
        "own": {branch: compared(tuple(forms), mine) for branch, mine in own.items()},
        "even": {
            spent: for_each(
                forms,
                {name: one.n_requests or Absent(unit="1", why=in_words(one)) for name, one in mine.items()},
                Absent(unit="1"),
            )
            for spent, mine in told.items()
        },
        "even_words": {
            spent: for_each(
                forms, {name: _words(one, found[spent], name) for name, one in mine.items()}, NO_TEXT
            )
            for spent, mine in told.items()
        },
    }


def in_words(found: Ends) -> str:
    """Return ``after 12,300 requests (10,100 to 15,000)``, ``never: it stays ahead``, or both with their counts."""
    parts = []
    if found.caught_up:
        if found.n_requests is not None:
            said = f"after {show(found.n_requests).interval} requests"
        else:
            ends_at = dict.fromkeys(plain(float(one)) for one in (min(found.caught_up), max(found.caught_up)))
            said = f"after {' to '.join(ends_at)} requests in {len(found.caught_up)} of {found.n}"
        beyond = f", {found.n_beyond} of them by the warm cost" if found.n_beyond else ""
        parts.append(said + beyond)
    for n, what in ((found.n_stayed_ahead, "it stays ahead"), (found.n_never_ahead, "it is never ahead")):
        if n:
            parts.append(what if n == found.n else f"{what} in {n} of {found.n}")
    return "; ".join(parts)


def _words(found: Ends, of: list[Race], name: str) -> Leaf:
    mine = [one.trial for one in of if one.variant == name]
    return Words(in_words(found), inputs_of(pd.DataFrame(mine)))
