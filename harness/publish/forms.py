# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the forms of Java programs: measured ones, and those that could not be had, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from harness.analysis.comparisons import Comparison, compare
from harness.analysis.summaries import summarise
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.model import BuildRecord, Estimate, FormBuild, Variant
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.formatting import NOT_MEASURED
from harness.publish.pages import Published
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


def form_variants() -> dict[str, Variant]:
    """Return every variant of the experiment's definition, measured or not."""
    return load_study(find_root(), EXPERIMENT).experiment.variants


def form_cells(evidence: Evidence | None) -> list[dict[str, Cell] | None]:
    """Return one table row per variant of the definition; one that was not measured has its reason in place."""
    rows: list[dict[str, Cell] | None] = []
    last: str | None = None
    for name, variant in form_variants().items():
        if last not in (None, variant.implementation):
            rows.append(None)
        last = variant.implementation
        cells: dict[str, Cell] = {"variant": variant.label or name}
        rows.append(cells | {part: _mean(evidence, name, part) for part in _PARTS})
    return rows


def build_cells(evidence: Evidence | None) -> list[dict[str, Cell] | None]:
    """Return one table row per form that was made: its tool, how long that took, in how much memory, its size."""
    rows: list[dict[str, Cell] | None] = []
    for name, variant in form_variants().items():
        made = _form_build(evidence, variant)
        if made is None:
            continue
        short = made.tool.partition(" (")[0]  # whole it stands in the text, and would be as wide as the page
        rows.append(
            {
                "variant": variant.label or name,
                "build": _plain(made.build_s, "s"),
                "peak": _plain(made.peak_rss_bytes, "B"),
                "size": _plain(made.image_bytes, "B"),
                "tool": short if made.problem is None else f"{short}: {made.problem}",
            }
        )
    return rows


def publish_form_effects(publisher: Publisher, evidence: Evidence | None) -> Published:
    """Publish ``forms.{first,memory_idle,...}.<variant>``, the ratio and verdict of each form to its program on a
    whole JDK, those of every variant to the reference, and what compiled the native images.

    Keys: ``forms.effect.{first,memory_idle}.{ratio,verdict}.<variant>``, ``forms.reference.{...}``,
    ``forms.tool.native``, ``forms.unavailable``.
    """
    variants = form_variants()
    reference = load_study(find_root(), EXPERIMENT).experiment.reference
    plain = {v.implementation: name for name, v in variants.items() if _is_plain(v)}
    with publisher.together():
        for name, variant in variants.items():
            for part in _PARTS:
                publisher.number(f"forms.{part}.{slug(name)}", _mean(evidence, name, part))
            for part in ("first", "memory_idle"):
                if not _is_plain(variant):
                    effect = _effect(evidence, part, name, plain[variant.implementation])
                    publisher.comparison(f"forms.effect.{part}", name, effect)
                if name != reference:
                    publisher.comparison(
                        f"forms.reference.{part}", name, _effect(evidence, part, name, reference)
                    )
        tools = {made.tool for v in variants.values() if (made := _form_build(evidence, v)) and _native(made)}
        publisher.text("forms.tool.native", ", ".join(sorted(tools)) or "no compiler of native images")
        gone = _unavailable(evidence)
        said = "; ".join(f"{variants[name].label or name}: {why}" for name, why in gone.items()) or "none"
        publisher.text("forms.unavailable", said)
        if evidence is not None:
            publisher.text("forms.measured", evidence.profile)
    return Published(f"forms: {said}")


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
            mean: Literal["arithmetic", "geometric"] = (
                "arithmetic" if (mine[metric] == 0).any() else "geometric"
            )
            found: Estimate = summarise(mine, metric, mean=mean).iloc[0]["estimate"]
            return found
        why = _unavailable(evidence).get(variant, NOT_MEASURED)
    return Estimate(value=None, unit=unit, method="none", estimand="", n_trials=0, warnings=(why,))


def _unavailable(evidence: Evidence | None) -> Mapping[str, str]:
    return {} if evidence is None else {gone.variant: gone.reason for gone in evidence.header.unavailable}


def _form_build(evidence: Evidence | None, variant: Variant) -> FormBuild | None:
    if evidence is None or variant.runtime.form in (None, "jvm"):
        return None
    name = f"{variant.implementation}+{variant.runtime.form}"
    builds: list[BuildRecord] = [b[name] for session in evidence.sessions if name in (b := session.builds())]
    return builds[-1].form if builds else None


def _native(made: FormBuild) -> bool:
    return made.form == "native"


def _is_plain(variant: Variant) -> bool:
    return variant.runtime.form in (None, "jvm") and not variant.runtime.aot_cache


def _plain(value: float | None, unit: str) -> Estimate:
    said = () if value is not None else ("its tool does not tell",)
    return Estimate(
        value=value, unit=unit, method="as is", estimand="of one build", n_trials=0, warnings=said
    )


__all__ = ["build_cells", "form_cells", "form_variants", "publish_form_effects"]
