# SPDX-License-Identifier: Apache-2.0
"""Effects of factors: ratios and ratios of ratios over blocks, and what cannot be said of a factorial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
import pytest

from harness.analysis import FactorEffect, factor_effects
from harness.errors import InputError

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
        for variant, logging, warm_up in product(("go", "java"), ("off", "on"), ("none", "calls")):
            if not keep(variant, logging, warm_up):
                continue
            java, on = variant == "java", logging == "on"
            value = (
                0.01 * shared * (2.0 if java else 1.0) * (1.5 if on else 1.0) * (1.2 if java and on else 1.0)
            )
            rows.append({
                "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                "position": len(rows) + 1, "duplicate": False, "variant": variant, "configuration": variant,
                "excluded": False, "flags": "", "logging": logging, "warm_up": warm_up,
                "latency_p99_s": value * float(np.exp(rng.normal(0.0, noise))),
            })  # fmt: skip
    return pd.DataFrame(rows)


def named(found: Sequence[FactorEffect]) -> dict[tuple[str, ...], FactorEffect]:
    return {tuple(one.levels.values()): one for one in found}


def value(one: FactorEffect) -> float:
    assert one.ratio.value is not None, one.why
    return one.ratio.value


def test_an_effect_is_the_ratio_of_two_levels_averaged_over_the_others_and_an_interaction_a_ratio_of_these() -> (
    None
):
    found = named(factor_effects(trials(), "latency_p99_s", FACTORS))
    assert list(found) == [
        ("java",), ("on",), ("calls",), ("java", "on"), ("java", "calls"), ("on", "calls"),
    ]  # fmt: skip
    assert value(found["java",]) == pytest.approx(2.0 * 1.2**0.5)
    assert value(found["on",]) == pytest.approx(1.5 * 1.2**0.5)
    assert value(found["calls",]) == pytest.approx(1.0)
    assert value(found["java", "on"]) == pytest.approx(1.2)
    assert found["java",].n_averaged == 4 and found["java", "on"].n_averaged == 2
    assert found["java", "on"].against == {"variant": "go", "logging": "off"}


def test_what_the_trials_of_a_block_share_is_not_in_the_interval() -> None:
    found = named(factor_effects(trials(noise=0.01), "latency_p99_s", FACTORS))
    ratio = found["java", "on"].ratio
    assert ratio.low is not None and ratio.high is not None
    assert ratio.low < 1.2 < ratio.high < 1.25, "the blocks differ by a third, their trials by a hundredth"
    assert found["java", "on"].found is True and found["java", "calls"].found is False


def test_an_effect_of_cells_that_were_not_measured_is_refused_by_their_name_and_the_others_stand() -> None:
    some = trials(noise=0.01, keep=lambda _, logging, warm_up: logging == "off" or warm_up == "none")
    found = named(factor_effects(some, "latency_p99_s", FACTORS))
    assert found["on", "calls"].ratio.value is None
    assert found["on", "calls"].why == "not measured: variant go, logging on, warm_up calls"
    assert value(found["java", "on"]) == pytest.approx(1.2, rel=0.05)
    assert found["java", "on"].n_averaged == 1


def test_few_blocks_are_refused_and_said() -> None:
    for one in factor_effects(trials(n_blocks=4, noise=0.01), "latency_p99_s", FACTORS):
        assert one.ratio.value is None and one.found is None
        assert one.why == "few blocks: 4 hold every cell of it, fewer than 5"


def test_a_block_that_lacks_a_cell_counts_for_the_effects_without_it() -> None:
    table = trials(noise=0.01)
    gone = (table["block"] == 0) & (table["variant"] == "java") & (table["logging"] == "on")
    found = named(factor_effects(table.assign(excluded=gone), "latency_p99_s", FACTORS, order=1))
    assert found["java",].n_blocks == 9
    assert "1 blocks left out: they lack a cell of it" in found["java",].ratio.warnings
    three = factor_effects(
        table[table["variant"] == "go"], "latency_p99_s", ("variant", "logging", "warm_up")
    )
    assert [tuple(one.levels) for one in three] == [("logging",), ("warm_up",), ("logging", "warm_up")]


def test_duplicates_do_not_count_and_a_factor_that_was_left_out_is_noticed() -> None:
    table = trials(noise=0.01)
    again = table[table["variant"] == "go"].assign(duplicate=True, latency_p99_s=9.0)
    plain = factor_effects(table, "latency_p99_s", FACTORS)
    assert factor_effects(pd.concat([table, again]), "latency_p99_s", FACTORS) == plain
    with pytest.raises(InputError, match="several trials of one cell"):
        factor_effects(table, "latency_p99_s", ("variant", "logging"))
    with pytest.raises(InputError, match="no trial of the reference level"):
        factor_effects(table, "latency_p99_s", FACTORS, references={"logging": "loud"})
    with pytest.raises(InputError, match="positive values"):
        factor_effects(table.assign(latency_p99_s=0.0), "latency_p99_s", FACTORS)


def test_another_reference_turns_the_ratio_round() -> None:
    table = trials(noise=0.02)
    plain = named(factor_effects(table, "latency_p99_s", FACTORS))["java", "on"]
    turned = named(factor_effects(table, "latency_p99_s", FACTORS, references={"variant": "java"}))
    assert value(turned["go", "on"]) == pytest.approx(1 / value(plain))


def test_a_resolution_above_a_cells_latency_refuses_its_effects() -> None:
    table = trials(noise=0.02).assign(latency_resolution_s=0.05)
    (java, *_) = factor_effects(table, "latency_p99_s", FACTORS)
    assert java.ratio.value is None and java.why


def test_an_effect_between_trials_that_the_generator_bounded_finds_nothing_and_says_so() -> None:
    bound = trials(noise=0.01).assign(bound_by="generator", throughput_per_s=100.0)
    for one in factor_effects(bound, "latency_p99_s", FACTORS):
        assert one.found is None and one.not_about is not None and "generator" in one.not_about
        assert one.ratio.value is not None, "the ratio itself is that of the trials"


def test_loads_may_be_bound_differently_and_variants_under_one_load_may_not() -> None:
    table = trials(noise=0.01).assign(throughput_per_s=100.0)
    by_load = table.assign(bound_by=np.where(table["logging"] == "on", "service", "offered"))
    found = named(factor_effects(by_load, "latency_p99_s", FACTORS, loads=("logging",)))
    assert found["on",].not_about is None and found["java", "on"].found is True
    without = named(factor_effects(by_load, "latency_p99_s", FACTORS))
    assert without["on",].not_about is not None


def test_three_factors_at_once_are_asked_for_by_the_order() -> None:
    found = factor_effects(trials(noise=0.01), "latency_p99_s", FACTORS, order=3)
    (three,) = [one for one in found if one.order == 3]
    assert three.ratio.low is not None and three.ratio.high is not None
    assert three.ratio.low < 1.0 < three.ratio.high
