# SPDX-License-Identifier: Apache-2.0
"""Effects of factors as they come out of a session: told, bounded by something else, and not measured."""

from __future__ import annotations

from harness.analysis.stats.factor_effects import FactorEffect
from harness.model import Estimate
from harness.questions.validity.factors import NamedEffect


def named_effects() -> list[NamedEffect]:
    """A factor alone, an interaction, one that something else bounded, and one that was not measured."""
    told = [("logging on", ("logging",), 1.4, None), ("Java × logging on", ("variant", "logging"), 0.9, None),
            ("Java × load high", ("variant", "load"), 1.1, "bound by the generator"),
            ("logging on × load high", ("logging", "load"), None, None)]  # fmt: skip
    return [
        NamedEffect(
            experiment="strings-rounds", words=words,
            effect=FactorEffect(
                levels=dict.fromkeys(factors, "a"), against=dict.fromkeys(factors, "b"), ratio=_ratio(value),
                hodges_lehmann=_ratio(value), n_blocks=5, n_averaged=1, grade="exploratory", p_value=None,
                not_about=why,
            ),
        )
        for words, factors, value, why in told
    ]  # fmt: skip


def _ratio(value: float | None) -> Estimate:
    return Estimate(
        value=value,
        low=None if value is None else 0.9 * value,
        high=None if value is None else 1.2 * value,
        unit="ratio",
        method="paired t",
        estimand="ratio",
        n_trials=10,
        warnings=() if value is not None else ("not measured: load high",),
    )
