# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the forms of Java programs: measured ones, and those that could not be had, and why.

An experiment on forms is ``forms``, or one whose name begins with that.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.model import BuildRecord, Estimate, Experiment, Variant
from harness.model.formatting import NOT_MEASURED
from harness.project import find_root
from harness.publish.cells import Cell, gapped
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, for_each, nothing

EXPERIMENT = "forms"
#: part of the key -> (column of the table of trials, unit)
_PARTS = {
    "first": ("time_to_first_response_s", "s"),
    "memory_first": ("rss_at_first_response_bytes", "B"),
    "memory_idle": ("idle_rss_bytes", "B"),
    "artifact": ("artifact_bytes", "B"),
    "runtime": ("runtime_bytes", "B"),
}
_PHRASE = Phrase(
    who="forms of Java programs",
    more="start later than the same program on a whole JDK",
    less="start sooner than the same program on a whole JDK",
    more_short="later",
    less_short="sooner",
)
#: parts that a form is compared in
_COMPARED = ("first", "memory_idle")
#: column of the table of builds -> unit
_BUILD_UNITS = {"build": "s", "peak": "B", "size": "B"}
_UNTOLD = "its tool does not tell"


def results(evidence: Evidence | None, experiment: str = EXPERIMENT) -> Tree:
    """Return what is said of every variant of the definition, measured or not.

    ``<part>.<variant>``: means; ``cache.<variant>``: size of an AOT cache; ``effect.<part>.<variant>``: a form over its
    program on a whole JDK; ``reference.<part>.<variant>``: over the reference; ``tool.native`` and ``unavailable``:
    in words, what compiled the native images and which forms could not be had; ``finding``: title, take-away and how
    sure, of the time to the first answer over that on a whole JDK.
    """
    defined, gone = _definition(experiment), _unavailable(evidence)
    variants = defined.variants
    plain = {v.implementation: name for name, v in variants.items() if v.runtime.is_plain}
    bases = {
        "effect": {name: plain[v.implementation] for name, v in variants.items() if not v.runtime.is_plain},
        "reference": {name: defined.reference for name in variants if name != defined.reference},
    }
    builds = [build for v in variants.values() if (build := _build(evidence, v))]
    tools = {b.form.tool for b in builds if b.form is not None and b.form.form == "native"}
    labels = defined.labels if evidence is None else evidence.labels_of(defined)
    lacking = [f"{labels[name]}: {why}" for name, why in gone.items()]
    caches = {name: _cache(evidence, name, v) for name, v in variants.items()}
    compared = {
        kind: {
            part: for_each(
                base_of,
                {name: _effect(evidence, part, name, base) for name, base in base_of.items()},
                NO_COMPARISON,
            )
            for part in _COMPARED
        }
        for kind, base_of in bases.items()
    }
    return {
        FINDING: finding(comparisons_in(compared["effect"]["first"]), _PHRASE),
        **{part: {name: _published(evidence, name, part) for name in variants} for part in _PARTS},
        "cache": {name: size for name, size in caches.items() if size is not None},
        **compared,
        "tool": {
            "native": ", ".join(sorted(tools)) or ("none" if evidence else Absent(kind="text", why="none"))
        },
        "unavailable": "; ".join(lacking) or "none" if evidence else NO_TEXT,
    }


def form_rows(evidence: Evidence | None, experiment: str = EXPERIMENT) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant of the definition, with the reason in place of what was not measured."""
    if evidence is None:
        return []
    defined = _definition(experiment)
    labels = evidence.labels_of(defined)
    cells: list[Mapping[str, Cell]] = [
        {
            "variant": labels[name],
            "implementation": variant.implementation,
            "cache": _cache(evidence, name, variant),
            **{
                part: _mean(evidence, name, part) or nothing(unit, _why(evidence, name))
                for part, (_, unit) in _PARTS.items()
            },
        }
        for name, variant in defined.variants.items()
    ]
    return gapped(cells, "implementation")


def build_rows(evidence: Evidence | None, experiment: str = EXPERIMENT) -> list[Mapping[str, Cell]]:
    """Return one table row per form that was made, AOT caches among them: its tool, how long that took, in how much
    memory, its size; and one for each that could not be had, with its reason in place."""
    gone, rows = _unavailable(evidence), list[Mapping[str, Cell]]()
    defined = _definition(experiment)
    labels = defined.labels if evidence is None else evidence.labels_of(defined)
    for name, variant in defined.variants.items():
        build = _build(evidence, variant)
        if not variant.runtime.is_plain and (build is not None or name in gone):
            cells = (
                {part: nothing(unit, gone[name]) for part, unit in _BUILD_UNITS.items()}
                if build is None
                else _made(build)
            )
            rows.append({"variant": labels[name], **cells})
    return rows


def _made(build: BuildRecord) -> dict[str, Cell]:
    form = build.form
    taken: tuple[float | None, ...]
    if form is None:
        taken = (build.aot_training_s, None, build.aot_cache_bytes)
        tool = "a training start"
    else:
        taken = (form.build_s, form.peak_rss_bytes, form.image_bytes)
        short = form.tool.partition(" (")[0]  # whole it stands in the text, and would be as wide as the page
        tool = short if form.problem is None else f"{short}: {form.problem}"
    units = _BUILD_UNITS.items()
    return {
        "tool": tool,
        **{part: _plain(value, unit) for (part, unit), value in zip(units, taken, strict=True)},
    }


def _definition(experiment: str) -> Experiment:
    return load_study(find_root(), experiment).experiment


def _effect(evidence: Evidence | None, part: str, variant: str, base: str) -> Comparison | None:
    if evidence is None or not {variant, base} <= set(evidence.trials["variant"]):
        return None
    both = evidence.trials[evidence.trials["variant"].isin([variant, base])]
    return next(iter(compare(both, _PARTS[part][0], reference=base)), None)


def _mean(evidence: Evidence | None, variant: str, part: str) -> Estimate | None:
    """The mean over a variant's trials; ``None``: it has none."""
    if evidence is None or variant not in set(evidence.trials["variant"]):
        return None
    return summarised(evidence.trials[evidence.trials["variant"] == variant], _PARTS[part][0])


def _published(evidence: Evidence | None, variant: str, part: str) -> Leaf:
    """The mean; why a form could not be had is said once, by ``unavailable``."""
    found = _mean(evidence, variant, part)
    return found if found is not None and found.n_trials else Absent(unit=_PARTS[part][1])


def _cache(evidence: Evidence | None, name: str, variant: Variant) -> Estimate | None:
    """The size of its AOT cache; ``None``: it has none by its definition."""
    if not variant.runtime.aot_cache:
        return None
    build = _build(evidence, variant)
    if build is None or build.aot_cache_bytes is None:
        return nothing("B", _why(evidence, name))
    return _plain(build.aot_cache_bytes, "B")


def _why(evidence: Evidence | None, variant: str) -> str:
    """Why there is nothing of a variant."""
    return _unavailable(evidence).get(variant, NOT_MEASURED)


def _unavailable(evidence: Evidence | None) -> Mapping[str, str]:
    return {} if evidence is None else {gone.variant: gone.reason for gone in evidence.header.unavailable}


def _build(evidence: Evidence | None, variant: Variant) -> BuildRecord | None:
    """How the variant's form was made, in the last session that made it; ``None``: no session has."""
    if evidence is None:
        return None
    name = variant.build_name
    builds = [made[name] for session in evidence.sessions if name in (made := session.builds())]
    return builds[-1] if builds else None


def _plain(value: float | None, unit: str) -> Estimate:
    if value is None:
        return nothing(unit, _UNTOLD)
    return Estimate(value=value, unit=unit, method="as is", estimand="of one build", n_trials=0)


__all__ = ["build_rows", "form_rows", "results"]
