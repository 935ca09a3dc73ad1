# SPDX-License-Identifier: Apache-2.0
"""What the paper says of capacity and demand: by the number of pods, over the reference, and pods by rate."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.analysis.stats.pairing import inputs_of
from harness.evidence.load_response import search_words
from harness.model.digits import plain
from harness.publish.bounds import bounded, bounds
from harness.publish.comparisons import comparison_notes
from harness.publish.compiling import compiling
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, as_is, for_each
from harness.questions.pod_capacity.analysis import PODS, SHARES, SIZES, Demand, Searched

_PHRASE = Phrase(
    who="cells of a Java service in pods",
    more="carry more requests per second within the goals than Go in as many pods",
    less="carry fewer requests per second within the goals than Go in as many pods",
    more_short="more",
    less_short="fewer",
)
_RATE = "rate, as a share of what one pod of the reference carries"


def results(searched: Searched | None, variants: Mapping[str, str]) -> Tree:
    """Return what is said of every variant of the definition, measured or not.

    ``capacity.<pods>.<variant>``, its mean; ``lead.<pods>.<variant>``, over the reference in as many pods;
    ``growth.<pods>.<variant>``, over its own in one pod; ``bound.<pods>.<variant>``, in words; ``rate.<share>``, and
    ``demand.<share>.<variant>``, the least pods that carry that rate, in words; ``needs``, a sentence of them all;
    ``goals``, ``bounded``, ``compiling``, ``searches`` and ``unavailable`` in words; ``finding``: title, take-away
    and how sure.
    """
    leads = {(one.levels[PODS], one.variant): one for one in (searched.leads if searched else ())}
    growth = {name: searched.growth(name) if searched else {} for name in variants}
    needs = _needs(searched, variants)
    return {
        "name": variants,
        FINDING: finding(list(leads.values()), _PHRASE, also=[needs]),
        "capacity": {
            pods: for_each(
                variants,
                {name: searched.capacity(name, pods) for name in variants} if searched else {},
                Absent(unit="1/s"),
            )
            for pods in SIZES
        },
        "lead": {pods: {name: leads.get((pods, name), NO_COMPARISON) for name in variants} for pods in SIZES},
        "growth": {
            pods: {name: growth[name].get(pods, NO_COMPARISON) for name in variants}
            for pods in SIZES
            if pods != "one"
        },
        "bound": {
            pods: bounds(None if searched is None else _at(searched, pods), variants) for pods in SIZES
        },
        "rate": {share: _rate(searched, share) for share in SHARES},
        "demand": {
            share: {name: _demand_leaf(searched, name, share) for name in variants} for share in SHARES
        },
        "needs": _said(searched, needs),
        "goals": search_words(searched.goals) if searched else NO_TEXT,
        "bounded": bounded(searched.trials if searched else None),
        "compiling": compiling(searched.trials if searched else None),
        "searches": _said(searched, _searches(searched)),
        "unavailable": _unavailable(searched, variants),
    }


def notes(searched: Searched | None) -> list[str]:
    """Return the notes on the ratios: what is not about the services, p-values and margin."""
    return [] if searched is None else comparison_notes(searched.leads, searched.evidence.variants)


def demand_words(found: Demand) -> str:
    """Return a number of pods: ``2``, ``2 or 3`` where the intervals allow both, ``more than 3``."""
    if found.least is None:
        return f"more than {found.measured}"
    if found.most is None:
        return f"{found.least} or more"
    return str(found.least) if found.least == found.most else f"{found.least} to {found.most}"


def _at(searched: Searched, pods: str) -> pd.DataFrame | None:
    trials = searched.trials[searched.trials[PODS] == pods]
    return None if trials.empty else trials


def _said(searched: Searched | None, text: str) -> Leaf:
    return Words(text, inputs_of(searched.kept)) if searched is not None and text else NO_TEXT


def _rate(searched: Searched | None, share: str) -> Leaf:
    rate = searched.rate(SHARES[share]) if searched else None
    return Absent(unit="1/s") if rate is None else as_is(rate, "1/s", _RATE)


def _demand(searched: Searched | None, name: str, share: str) -> Demand | None:
    rate = searched.rate(SHARES[share]) if searched else None
    return None if searched is None or rate is None else searched.demand(name, rate)


def _demand_leaf(searched: Searched | None, name: str, share: str) -> Leaf:
    found = _demand(searched, name, share)
    return NO_TEXT if found is None else demand_words(found)


def _needs(searched: Searched | None, variants: Mapping[str, str]) -> str:
    """Which pods the highest of the rates needs, of every variant that was measured."""
    share, told = list(SHARES)[-1], []
    for name, label in variants.items():
        found = _demand(searched, name, share)
        if found is not None:
            pods = demand_words(found)
            told.append(f"{pods} {'pod' if pods == '1' else 'pods'} of {label}")
    rate = searched.rate(SHARES[share]) if searched else None
    if rate is None or not told:
        return ""
    return f"A rate of {plain(rate, 3)} requests per second needs {' and '.join(told)}."


def _searches(searched: Searched | None) -> str:
    if searched is None or searched.kept.empty:
        return ""
    n, load_s = len(searched.kept), float(searched.kept["search_load_s"].mean())
    return f"{n} searches found a capacity, with {plain(load_s, 2)} s of load each on average."


def _unavailable(searched: Searched | None, variants: Mapping[str, str]) -> Leaf:
    if searched is None:
        return NO_TEXT
    gone = searched.evidence.header.unavailable
    return "; ".join(f"{variants.get(one.variant, one.variant)}: {one.reason}" for one in gone) or "none"


__all__ = ["demand_words", "notes", "results"]
