# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the forms of Java programs: measured ones, and those that could not be had, and why.

An experiment on forms is ``forms``, or one whose name begins with that. Its keys begin with its name, with dots in
it: ``forms.``, ``forms.clients.``.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarise
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.model import BuildRecord, Estimate, Variant
from harness.model.formatting import NOT_MEASURED
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug

EXPERIMENT = "forms"
#: part of the key -> (column of the table of trials, unit)
_PARTS = {
    "first": ("time_to_first_response_s", "s"),
    "memory_first": ("rss_at_first_response_bytes", "B"),
    "memory_idle": ("idle_rss_bytes", "B"),
    "artifact": ("artifact_bytes", "B"),
    "runtime": ("runtime_bytes", "B"),
}
#: column of the table of builds -> unit
_BUILD_UNITS = {"build": "s", "peak": "B", "size": "B"}
_UNTOLD = "its tool does not tell"


def form_variants(experiment: str = EXPERIMENT) -> dict[str, Variant]:
    """Return every variant of the experiment's definition, measured or not."""
    return load_study(find_root(), experiment).experiment.variants


def form_cells(evidence: Evidence | None, experiment: str = EXPERIMENT) -> list[dict[str, Cell] | None]:
    """Return one table row per variant of the definition; one that was not measured has its reason in place."""
    rows: list[dict[str, Cell] | None] = []
    last: str | None = None
    for name, variant in form_variants(experiment).items():
        if last not in (None, variant.implementation):
            rows.append(None)
        last = variant.implementation
        cells: dict[str, Cell] = {"variant": variant.label or name}
        cells |= {part: _mean(evidence, name, part) for part in _PARTS}
        rows.append(cells | {"cache": _cache(evidence, name, variant)})
    return rows


def build_cells(evidence: Evidence | None, experiment: str = EXPERIMENT) -> list[dict[str, Cell] | None]:
    """Return one table row per form that was made, AOT caches among them: its tool, how long that took, in how much
    memory, its size; and one for each that could not be had, with its reason in place."""
    rows: list[dict[str, Cell] | None] = []
    for name, variant in form_variants(experiment).items():
        build, why = _build(evidence, variant), _unavailable(evidence).get(name)
        if _is_plain(variant) or (build is None and why is None):
            continue
        cells: dict[str, Cell] = {"variant": variant.label or name}
        if build is None:
            rows.append(cells | {part: _nothing(unit, why or "") for part, unit in _BUILD_UNITS.items()})
        elif build.form is None:
            rows.append(
                cells
                | {
                    "build": _plain(build.aot_training_s, "s"),
                    "peak": _nothing("B", _UNTOLD),
                    "size": _plain(build.aot_cache_bytes, "B"),
                    "tool": "a training start",
                }
            )
        else:
            made = build.form
            short = made.tool.partition(" (")[
                0
            ]  # whole it stands in the text, and would be as wide as the page
            rows.append(
                cells
                | {
                    "build": _plain(made.build_s, "s"),
                    "peak": _plain(made.peak_rss_bytes, "B"),
                    "size": _plain(made.image_bytes, "B"),
                    "tool": short if made.problem is None else f"{short}: {made.problem}",
                }
            )
    return rows


def publish_form_effects(
    publisher: Publisher, evidence: Evidence | None, experiment: str = EXPERIMENT
) -> Published:
    """Publish ``forms.{first,memory_idle,...}.<variant>``, the ratio and verdict of each form to its program on a
    whole JDK, those of every variant to the reference, and what compiled the native images.

    Keys: ``forms.cache.<variant>`` (size of an AOT cache),
    ``forms.effect.{first,memory_idle}.{ratio,verdict}.<variant>``, ``forms.reference.{...}``, ``forms.tool.native``,
    ``forms.unavailable``, and ``forms.measured`` where it was; of another experiment they begin with its own name
    (``forms-clients``: ``forms.clients.``).
    """
    study = load_study(find_root(), experiment).experiment
    variants, reference, key = study.variants, study.reference, experiment.replace("-", ".")
    plain = {v.implementation: name for name, v in variants.items() if _is_plain(v)}
    with publisher.together() as published:
        for name, variant in variants.items():
            for part, (_, unit) in _PARTS.items():
                found = _mean(evidence, name, part)
                if found.n_trials:
                    publisher.number(f"{key}.{part}.{slug(name)}", found)
                else:  # the text names it; why a form could not be had is said once, by what is unavailable
                    publisher.absent(f"{key}.{part}.{slug(name)}", unit, NOT_MEASURED)
            if (cache := _cache(evidence, name, variant)) is not None:
                publisher.number(f"{key}.cache.{slug(name)}", cache)
            for part in ("first", "memory_idle"):
                if not _is_plain(variant):
                    effect = _effect(evidence, part, name, plain[variant.implementation])
                    publisher.comparison(f"{key}.effect.{part}", name, effect)
                if name != reference:
                    publisher.comparison(
                        f"{key}.reference.{part}", name, _effect(evidence, part, name, reference)
                    )
        builds = [build for v in variants.values() if (build := _build(evidence, v))]
        tools = {b.form.tool for b in builds if b.form is not None and b.form.form == "native"}
        publisher.text(f"{key}.tool.native", ", ".join(sorted(tools)) or "none")
        gone = _unavailable(evidence)
        said = "; ".join(f"{variants[name].label or name}: {why}" for name, why in gone.items()) or "none"
        said = NOT_MEASURED if evidence is None else said
        publisher.text(f"{key}.unavailable", said)
        if evidence is not None:
            publisher.text(f"{key}.measured", evidence.profile)
    return published


def _effect(evidence: Evidence | None, part: str, variant: str, base: str) -> Comparison | None:
    if evidence is None or not {variant, base} <= set(evidence.trials["variant"]):
        return None
    both = evidence.trials[evidence.trials["variant"].isin([variant, base])]
    return next(iter(compare(both, _PARTS[part][0], reference=base)), None)


def _mean(evidence: Evidence | None, variant: str, part: str) -> Estimate:
    metric, unit = _PARTS[part]
    why = NOT_MEASURED
    if evidence is not None:
        mine = evidence.trials[evidence.trials["variant"] == variant]
        if not mine.empty:
            found: Estimate = summarise(mine, metric).iloc[0]["estimate"]
            return found
        why = _unavailable(evidence).get(variant, NOT_MEASURED)
    return _nothing(unit, why)


def _cache(evidence: Evidence | None, name: str, variant: Variant) -> Estimate | None:
    """The size of its AOT cache; ``None``: it has none by its definition."""
    if not variant.runtime.aot_cache:
        return None
    build = _build(evidence, variant)
    if build is None or build.aot_cache_bytes is None:
        return _nothing("B", _unavailable(evidence).get(name, NOT_MEASURED))
    return _plain(build.aot_cache_bytes, "B")


def _unavailable(evidence: Evidence | None) -> Mapping[str, str]:
    return {} if evidence is None else {gone.variant: gone.reason for gone in evidence.header.unavailable}


def _build(evidence: Evidence | None, variant: Variant) -> BuildRecord | None:
    """How the variant's form was made, in the last session that made it; ``None``: no session has."""
    if evidence is None:
        return None
    name = variant.build_name
    builds = [made[name] for session in evidence.sessions if name in (made := session.builds())]
    return builds[-1] if builds else None


def _is_plain(variant: Variant) -> bool:
    return variant.runtime.form in (None, "jvm") and not variant.runtime.aot_cache


def _plain(value: float | None, unit: str) -> Estimate:
    if value is None:
        return _nothing(unit, _UNTOLD)
    return Estimate(value=value, unit=unit, method="as is", estimand="of one build", n_trials=0)


def _nothing(unit: str, why: str) -> Estimate:
    return Estimate(value=None, unit=unit, method="none", estimand="", n_trials=0, warnings=(why,))


__all__ = ["build_cells", "form_cells", "form_variants", "publish_form_effects"]
