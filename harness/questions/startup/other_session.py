# SPDX-License-Identifier: Apache-2.0
"""The same program in two sessions: what differs between them, and how much the numbers differ."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.summaries import summarised
from harness.evidence import Evidence
from harness.model import Estimate, Variant
from harness.model.digits import plain
from harness.model.formatting import show
from harness.publish.load_words import go_in_words, java_in_words
from harness.publish.sources import day_of


def compared_in_words(one: Evidence, other: Evidence, metric: str) -> str:
    """Return a paragraph on the programs that two sessions measured in the same form: the smallest and the largest
    ratio of the second session's mean to the first's, apart for each difference of settings, and what the sessions'
    plans and records say is not the same. Empty: there is no such program."""
    pairs = _pairs(one, other)
    means = {name: (_mean(one, name, metric), _mean(other, pair, metric)) for name, pair in pairs.items()}
    known = {name: both for name, both in means.items() if None not in (both[0].value, both[1].value)}
    if not known:
        return ""
    groups: dict[str, dict[str, tuple[Estimate, Estimate]]] = {}
    for name, both in known.items():
        groups.setdefault("; ".join(_differences(one, other, name, pairs[name])), {})[
            str(one.variants[name])
        ] = both
    who = "One program was" if len(known) == 1 else f"{len(known)} programs were"
    said = [
        f"{who} measured in two sessions, {one.experiment} and {other.experiment}; ratios are those of the second "
        "session's mean to the first's."
    ]
    said += [f"With {change}: {_range(group)}." for change, group in groups.items() if change]
    if "" in groups:
        said.append(f"With the same settings in both: {_range(groups[''])}.")
    between = _session_differences(one, other)
    if between:
        said.append(f"The sessions differ too: {between}.")
    if any(groups):
        said.append("What the settings changed cannot be told from what the sessions changed.")
    return " ".join(said)


def _range(group: Mapping[str, tuple[Estimate, Estimate]]) -> str:
    """The smallest and the largest ratio, each with its program and both means; of one program its own."""
    ratios = sorted(
        (there.value / here.value, name, f"{show(here).text} and {show(there).text}")
        for name, (here, there) in group.items()
        if here.value and there.value
    )
    ends = [f"{plain(ratio)} for {name} ({both})" for ratio, name, both in ratios]
    if len(ends) < 2:
        return "".join(ends) or "no ratio"
    return f"from {ends[0]} to {ends[-1]}, {len(ends)} programs"


def _pairs(one: Evidence, other: Evidence) -> Mapping[str, str]:
    """Variant of one -> variant of the other with the same program, form and AOT cache, where both have trials."""
    others = other.header.experiment.variants
    measured, there = set(one.trials["variant"]), set(other.trials["variant"])
    return {
        name: pair
        for name, variant in one.header.experiment.variants.items()
        for pair, twin in others.items()
        if name in measured and pair in there and _program(variant) == _program(twin)
    }


def _program(variant: Variant) -> tuple[object, ...]:
    return variant.implementation, variant.runtime.aot_cache, variant.runtime.form or "jvm"


def _differences(one: Evidence, other: Evidence, name: str, pair: str) -> list[str]:
    """What of a program's settings is not the same."""
    mine, theirs = one.header.experiment.variants[name], other.header.experiment.variants[pair]
    found = []
    java = one.header.implementations[mine.implementation].language == "java"
    words = java_in_words if java else go_in_words
    (ours,), (others,) = words([mine.runtime]), words([theirs.runtime])
    if ours != others:
        found.append(f"{ours} in the one and {others} in the other")
    ignored = {"gc", "heap_max", "gogc", "gomemlimit"}
    left, right = (v.runtime.model_dump(exclude=ignored) | dict(v.settings) for v in (mine, theirs))
    found += [
        f"{key} {left.get(key)} in the one and {right.get(key)} in the other"
        for key in dict.fromkeys([*left, *right])
        if left.get(key) != right.get(key)
    ]
    return found


def _session_differences(one: Evidence, other: Evidence) -> str:
    """What of day, source, machine, tools and generator is not the same, from the records."""
    (mine, theirs) = (evidence.header.provenance for evidence in (one, other))
    facts: dict[str, tuple[object, object]] = {
        "day": (day_of(one.sessions[-1]), day_of(other.sessions[-1])),
        "processor": (mine.machine.cpu_model, theirs.machine.cpu_model),
        "CPUs": (mine.machine.n_cpus, theirs.machine.n_cpus),
        "kernel": (mine.machine.kernel, theirs.machine.kernel),
        "JDK": (mine.tools.get("jdk"), theirs.tools.get("jdk")),
        "Go": (mine.tools.get("go"), theirs.tools.get("go")),
        "source": (str(mine.commit)[:12], str(theirs.commit)[:12]),
    }
    return ", ".join(
        f"{what} {ours} and {others}" for what, (ours, others) in facts.items() if ours != others
    )


def _mean(evidence: Evidence, variant: str, metric: str) -> Estimate:
    return summarised(evidence.trials[evidence.trials["variant"] == variant], metric)
