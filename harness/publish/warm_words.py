# SPDX-License-Identifier: Apache-2.0
"""The answer in sentences: who did more, by how much and how surely, what bounded it, and what becoming warm took.

Directions are those of the verdicts; where there is none, the sentence says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.stats.comparisons import Comparison
from harness.evidence.warm import ColdStart
from harness.model import Estimate, Verdict
from harness.model.age import with_age
from harness.model.digits import plain, span, whole_percent
from harness.model.formatting import OF_FEW, show, too_few
from harness.model.phrases import capital, cores_in_words, listed
from harness.publish.range_words import times


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """Words for a metric: "answered more requests per second than", "used less CPU time per request than"."""

    verb: str
    more: str
    less: str
    what: str
    subject: str


THROUGHPUT = Quantity(
    verb="answered", more="more", less="fewer", what="requests per second", subject="throughput"
)
CPU = Quantity(
    verb="used", more="more", less="less", what="CPU time per request", subject="CPU time per request"
)


def where(cpus: Sequence[float], found: Sequence[Comparison] = ()) -> str:
    """Return how the services of these comparisons ran: "warm and on one core each"; not warm where one is young."""
    how = [] if any(one.young for one in found) else ["warm"]
    how += [f"on {cores_in_words(cpus[0])} each"] if len(cpus) == 1 else []
    return " and ".join(how) or "on different numbers of cores"


def answer(
    found: Sequence[Comparison],
    labels: Mapping[str, str],
    quantity: Quantity,
    place: str,
) -> str:
    """Return one sentence on all variants, grouped by what their verdicts say; empty: there is no comparison.

    Args:
        found: comparisons of one metric with one reference. place: see ``where``.
    """
    if not found:
        return ""
    reference = labels[found[0].reference]
    groups: dict[str, list[str]] = {}
    for one in found:
        said = f"{labels[one.variant]} ({with_age(one.not_about or times(one.ratio), one.young)})"
        groups.setdefault(_kind(one), []).append(said)
    clauses: list[str] = []
    for kind in ("more", "less", "slightly more", "slightly less", "as much", "undecided", "refused"):
        if kind in groups:
            clauses.append(_clause(kind, groups[kind], quantity, reference, found, first=not clauses))
    n_blocks = max(one.n_blocks for one in found)
    sure = f"Ratios with 95 % intervals over {n_blocks} blocks of fresh processes."
    return f"{capital(place)}, {'; '.join(clauses)}. {sure}"


def cold_answer(labels: Mapping[str, str], cold: Mapping[str, ColdStart]) -> str:
    """Return the sentence on what each variant needed to become warm; empty: none was warmed up in windows."""
    said = [f"{labels[name]} {until_warm(one)}{_extra(one)}" for name, one in cold.items() if name in labels]
    if not said:
        return ""
    return f"Under full load from its first request on, each became warm after: {'; '.join(said)}."


def until_warm(cold: ColdStart) -> str:
    """Return the seconds until a variant's processes were warm: ``14.2 s (12.1 to 16.7)``, ``< 1 s``, and how many
    processes did not settle."""
    lost = cold.n - cold.n_settled
    limit = f"{plain(int(cold.at_most_s))} s"
    if not cold.n_settled or cold.seconds is None:
        return f"not settled within {limit}, {lost} of {cold.n}"
    first = f"< {plain(int(cold.window_s))} s"
    if not cold.later_s:
        said = first
    elif cold.within_first:
        rest = span(min(cold.later_s), max(cold.later_s), " s")
        others = "the other" if len(cold.later_s) == 1 else "the others"
        said = f"{first} in {cold.within_first} of {cold.n_settled}, {rest} in {others}"
    else:
        said = show(cold.seconds, like=1.0).interval
    return f"{said}; not settled within {limit}: {lost} of {cold.n}" if lost else said


def seconds_in_words(found: Estimate | None) -> str | None:
    """Return a mean of CPU seconds with its interval, in seconds whatever its size."""
    return None if found is None or found.value is None else show(found, like=1.0).interval


def _kind(found: Comparison) -> str:
    more = found.ratio.value is not None and found.ratio.value > 1
    return {
        Verdict.DIFFERENT: "more" if more else "less",
        Verdict.DIFFERENT_BUT_NEGLIGIBLE: "slightly more" if more else "slightly less",
        Verdict.EQUIVALENT: "as much",
        Verdict.INCONCLUSIVE: "undecided",
        Verdict.NOT_ABOUT_SERVICES: "refused",
    }[found.verdict]


def _clause(
    kind: str,
    names: Sequence[str],
    quantity: Quantity,
    reference: str,
    found: Sequence[Comparison],
    *,
    first: bool,
) -> str:
    """One group of variants; the first clause names quantity and reference, the others refer to it."""
    who = listed(names)
    than = f" {quantity.what} than {reference}" if first else ""
    if kind in ("more", "less", "slightly more", "slightly less"):
        word = quantity.more if kind.endswith("more") else quantity.less
        slightly = "negligibly " if kind.startswith("slightly") else ""
        return f"{who} {quantity.verb} {slightly}{word}{than}"
    if kind == "as much":
        margin = max((one.margin or 0.0) for one in found if one.verdict == Verdict.EQUIVALENT)
        as_much = "as many" if quantity.less == "fewer" else "as much"
        what = f" {quantity.what} as {reference}" if first else ""
        return f"{who} {quantity.verb} {as_much}{what} within {whole_percent(margin)}"
    if kind == "undecided":
        verb = "is" if len(names) == 1 else "are"
        other = f"{reference} in {quantity.subject}" if first else "it"
        few = OF_FEW if any(too_few(one.verdict, one.ratio) for one in found) else ""
        return f"{who} {verb} {few}not shown to differ from {other}"
    against = f" against {reference}" if first else ""
    return f"nothing can be said of the {quantity.subject}{against} of {who}"


def _extra(cold: ColdStart) -> str:
    used = seconds_in_words(cold.extra_cpu_s)
    return "" if used is None else f", with {used} of extra CPU time"
