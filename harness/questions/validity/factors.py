# SPDX-License-Identifier: Apache-2.0
"""What the factors of the experiments do to p99, alone and together: which interactions the blocks tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.factor_effects import FactorEffect, factor_effects
from harness.analysis.tables.schema import factor_column
from harness.evidence import Evidence
from harness.model.age import with_age
from harness.model.base import Frozen
from harness.model.level_words import level_words
from harness.publish.cells import Cell, gapped
from harness.publish.results import Absent, Leaf, Tree, as_is, for_each

METRIC = "latency_p99_s"
VARIANT = "variant"
#: experiment -> the interaction that its question is about: factor -> level.
ASKED: Mapping[str, Mapping[str, str]] = {
    "strings-rounds": {VARIANT: "java-helidon", "logging": "on"},
    "strings-published": {VARIANT: "java-helidon", "logging": "on"},
    "gc-loops": {VARIANT: "serial-64m", "loop": "closed"},
}
Effects = Mapping[str, Sequence["NamedEffect"]]


class NamedEffect(Frozen):
    """An effect of an experiment's factors, with the words of figures and tables."""

    experiment: str
    words: str
    effect: FactorEffect

    @property
    def said(self) -> str:
        """What the interval says, or why nothing can be said."""
        one = self.effect
        if one.why is not None:
            return one.why
        if one.not_about is not None:
            return f"not about the services: {one.not_about.split('; ')[0]}"
        if one.found is None:
            return "cannot be said: no interval"
        return with_age("told from none" if one.found else "not told from none", one.young)


def effects_on_p99(measured: Mapping[str, Evidence | None]) -> dict[str, tuple[NamedEffect, ...]]:
    """Return experiment -> the effects of its factors, then their interactions; experiments that were not measured,
    or have no p99, are left out."""
    return {
        name: _effects(name, evidence)
        for name, evidence in measured.items()
        if evidence is not None and evidence.trials[METRIC].notna().any()
    }


def _effects(name: str, evidence: Evidence) -> tuple[NamedEffect, ...]:
    factors = evidence.header.experiment.factors
    bases = {factor_column(factor): next(iter(levels)) for factor, levels in factors.items()}
    columns = (VARIANT, *evidence.factors)
    there = {column: set(evidence.trials[column].astype(str)) for column in columns}
    found = factor_effects(
        evidence.trials, METRIC, columns,
        references={
            column: base
            for column, base in {VARIANT: evidence.reference, **bases}.items()
            if base in there[column]
        },
        loads=[
            factor_column(factor)
            for factor, levels in factors.items()
            if any(level.load is not None for level in levels.values())
        ],
    )  # fmt: skip
    return tuple(NamedEffect(experiment=name, words=_words(one, evidence), effect=one) for one in found)


def _words(one: FactorEffect, evidence: Evidence) -> str:
    parts = [
        evidence.variants.get(level, level) if factor == VARIANT else level_words(factor, level)
        for factor, level in one.levels.items()
    ]
    return " × ".join(parts)


def effect_rows(found: Effects) -> list[Mapping[str, Cell] | None]:
    """Return one row an interaction: its ratio of ratios, the rank-based one, blocks, and what they say."""
    rows: list[Mapping[str, Cell]] = [
        {
            "experiment": one.experiment,
            "effect": one.words,
            "ratio": one.effect.ratio,
            "ranks": one.effect.hodges_lehmann,
            "blocks": one.effect.n_blocks or None,
            "said": one.said,
        }
        for ones in found.values()
        for one in ones
        if one.effect.order > 1
    ]
    return gapped(rows, "experiment")


def effect_results(measured: Mapping[str, Evidence | None], found: Effects) -> Tree:
    """Return ``factors.{asked,told,interactions,refused}.<experiment>``, measured or not.

    ``asked``: the interaction that the experiment's question is about; the rest are counts of interactions.
    """
    asked = {name: one.effect.ratio for name, ones in found.items() if (one := _asked(name, ones))}
    together = {name: [one.effect for one in ones if one.effect.order > 1] for name, ones in found.items()}
    told = {name: [one for one in ones if one.found] for name, ones in together.items()}
    refused = {name: [one for one in ones if one.found is None] for name, ones in together.items()}

    def counts(of: Mapping[str, Sequence[FactorEffect]], what: str) -> dict[str, Leaf]:
        return for_each(
            measured, {name: as_is(len(ones), "1", what) for name, ones in of.items()}, Absent(unit="1")
        )

    return {
        "factors": {
            "asked": for_each(measured, asked, Absent()),
            "interactions": counts(together, "interactions of two factors"),
            "told": counts(told, "interactions that the blocks tell from none"),
            "refused": counts(refused, "interactions of which nothing can be said"),
        }
    }


def _asked(name: str, found: Sequence[NamedEffect]) -> NamedEffect | None:
    wanted = ASKED.get(name)
    return next((one for one in found if one.effect.levels == wanted), None)
