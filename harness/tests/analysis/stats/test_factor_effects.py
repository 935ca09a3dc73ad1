# SPDX-License-Identifier: Apache-2.0
"""Interactions of factors: ratios of ratios over blocks, and what cannot be said of a factorial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.factor_effects import Interaction, interactions
from harness.errors import InputError
from harness.tests.analysis.trial_tables import trial_table

Keep = Callable[[str, str, str], bool]
FACTORS = ("variant", "logging", "warm_up")


def trials(
    *, n_blocks: int = 10, noise: float = 0.0, keep: Keep = lambda *_: True, seed: int = 1
) -> pd.DataFrame:
    """Go and Java; a log line costs 1.5, Java 2.0, both together 1.2 more; a block shares a factor."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(n_blocks):
        shared = float(np.exp(rng.normal(0.0, 0.3)))
        for cell in product(("go", "java"), ("off", "on"), ("none", "calls")):
            if not keep(*cell):
                continue
            java, on = cell[0] == "java", cell[1] == "on"
            cost = (2.0 if java else 1.0) * (1.5 if on else 1.0) * (1.2 if java and on else 1.0)
            value = 0.01 * shared * cost * float(np.exp(rng.normal(0.0, noise)))
            rows.append({"block": block, "latency_p99_s": value} | dict(zip(FACTORS, cell, strict=True)))
    return trial_table(rows)


def named(effects: Sequence[Interaction]) -> dict[tuple[str, ...], Interaction]:
    return {tuple(effect.levels.values()): effect for effect in effects}


def value(effect: Interaction) -> float:
    assert effect.ratio.value is not None, effect.ratio.warnings
    return effect.ratio.value


def test_an_interaction_is_a_ratio_of_ratios_without_what_the_trials_of_a_block_share() -> None:
    found = named(interactions(trials(), "latency_p99_s", FACTORS))
    assert list(found) == [("java", "on"), ("java", "calls"), ("on", "calls")]
    assert value(found["java", "on"]) == pytest.approx(1.2)
    assert value(found["java", "calls"]) == pytest.approx(1.0)
    assert found["java", "on"].against == {"variant": "go", "logging": "off"}
    found = named(interactions(trials(noise=0.01), "latency_p99_s", FACTORS))
    ratio = found["java", "on"].ratio
    assert ratio.low is not None and ratio.high is not None
    assert ratio.low < 1.2 < ratio.high < 1.25, "the blocks differ by a third, their trials by a hundredth"
    assert found["java", "on"].shown is True and found["java", "calls"].shown is False


def test_an_interaction_of_cells_that_were_not_measured_is_refused_by_their_name() -> None:
    some = trials(noise=0.01, keep=lambda _, logging, warm_up: logging == "off" or warm_up == "none")
    found = named(interactions(some, "latency_p99_s", FACTORS))
    assert found["on", "calls"].ratio.value is None
    assert found["on", "calls"].ratio.warnings == ("not measured: variant go, logging on, warm_up calls",)
    assert value(found["java", "on"]) == pytest.approx(1.2, rel=0.05)


def test_a_block_that_lacks_a_cell_counts_for_the_interactions_without_it() -> None:
    table = trials(noise=0.01)
    gone = (table["block"] == 0) & (table["variant"] == "java") & (table["logging"] == "on")
    found = named(interactions(table.assign(excluded=gone), "latency_p99_s", FACTORS))["java", "on"]
    assert found.n_blocks == 9
    assert "1 blocks left out: they lack a cell of it" in found.ratio.warnings
    (two,) = interactions(table[table["variant"] == "go"], "latency_p99_s", FACTORS)
    assert tuple(two.levels) == ("logging", "warm_up")


def test_duplicates_do_not_count_and_a_factor_that_was_left_out_is_noticed() -> None:
    table = trials(noise=0.01)
    again = table[table["variant"] == "go"].assign(duplicate=True, latency_p99_s=9.0)
    plain = interactions(table, "latency_p99_s", FACTORS)
    assert interactions(pd.concat([table, again]), "latency_p99_s", FACTORS) == plain
    with pytest.raises(InputError, match="several trials of one cell"):
        interactions(table, "latency_p99_s", ("variant", "logging"))
    with pytest.raises(InputError, match="positive values"):
        interactions(table.assign(latency_p99_s=0.0), "latency_p99_s", FACTORS)


def test_an_interaction_between_trials_that_the_generator_bounded_shows_nothing_and_says_so() -> None:
    bound = trials(noise=0.01).assign(bound_by="generator", throughput_per_s=100.0)
    for effect in interactions(bound, "latency_p99_s", FACTORS):
        assert effect.shown is None and effect.not_about is not None and "generator" in effect.not_about
        assert effect.ratio.value is not None, "the ratio itself is that of the trials"
