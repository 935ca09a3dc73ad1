# SPDX-License-Identifier: Apache-2.0
"""What the notebooks say about a table of trials; those of duets are compared with what ran beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarise
from harness.analysis.stats.verdicts import adjust_pvalues, decide, p_can_tell, smallest_p
from harness.model import Estimate, Verdict
from harness.tests.analysis.trial_tables import trial_table

METRIC = "latency_p99_s"


def table(
    blocks: int, ratio: float = 1.2, *, cv: float = 0.02, seed: int = 0, base: float = 0.05
) -> pd.DataFrame:
    """Two variants and the reference's duplicate, with logging on and off, in shuffled blocks."""
    rng = np.random.default_rng(seed)
    cells = [(variant, logging, False) for variant in ("go", "java") for logging in ("on", "off")]
    cells.append(("go", "on", True))
    return trial_table(
        {
            "block": block, "duplicate": duplicate, "variant": variant, "logging": logging,
            "configuration": f"{variant},logging={logging}", "n_requests": 10_000.0, "latency_resolution_s": 0.001,
            METRIC: base * (ratio if variant == "java" else 1) * (1 + (logging == "on")) * np.exp(rng.normal(0, cv)),
        }
        for block in range(1, blocks + 1)
        for variant, logging, duplicate in (cells[i] for i in rng.permutation(len(cells)))
    )  # fmt: skip


def compared(trials: pd.DataFrame) -> tuple[Comparison, ...]:
    return compare(trials, METRIC, reference="go", by=("logging",))


def by_level(trials: pd.DataFrame) -> dict[str, Comparison]:
    return {c.levels["logging"]: c for c in compared(trials)}


def java_off(trials: pd.DataFrame) -> pd.Index[int]:
    return trials.index[(trials["variant"] == "java") & (trials["logging"] == "off")]


def test_a_comparison_pairs_by_block_and_names_its_trials() -> None:
    trials = table(10)
    off = by_level(trials)["off"]
    own = trials[~trials["duplicate"] & (trials["logging"] == "off")]
    d = own.pivot(index="block", columns="variant", values=METRIC)
    assert off.ratio.value == pytest.approx(np.exp(float(np.log(d["java"] / d["go"]).mean())))
    assert off.verdict == Verdict.DIFFERENT and off.n_blocks == 10 and off.ratio.n_requests == 200_000
    assert len(off.ratio.inputs) == 20
    assert all(name.startswith("e/s/0") for name in off.ratio.inputs)
    assert off.p_value == 2 / 1024 and off.p_adjusted is not None and off.p_adjusted >= off.p_value


@pytest.mark.parametrize(
    ("trials", "verdict", "margin"),
    [
        (table(20, ratio=1.03, cv=0.005), Verdict.DIFFERENT_BUT_NEGLIGIBLE, 0.10),
        (table(20, ratio=1.0, cv=0.01), Verdict.EQUIVALENT, 0.10),
        (table(6, ratio=1.0, cv=0.15).query("not duplicate"), Verdict.INCONCLUSIVE, 0.10),
        (table(6, ratio=1.0, cv=0.3), Verdict.INCONCLUSIVE, None),  # a machine too noisy calls nothing equal
    ],
    ids=["small and sure", "equal", "noisy", "too noisy a machine"],
)
def test_a_verdict_follows_intervals(trials: pd.DataFrame, verdict: Verdict, margin: float | None) -> None:
    for comparison in compared(trials):
        assert (comparison.verdict, comparison.margin) == (verdict, margin)
        too_noisy = any("too noisy to call anything equivalent" in warning for warning in comparison.warnings)
        assert too_noisy == (margin is None)


def test_excluded_and_missing_trials_are_counted_and_two_groups_and_flags_are_named() -> None:
    trials = table(8)
    first, second, *_ = java_off(trials)
    trials.loc[first, "excluded"], trials.loc[second, METRIC] = True, np.nan
    off = by_level(trials)["off"]
    assert (off.n_blocks, off.n_excluded) == (6, 1)
    for words in ("1 trials excluded", f"have no {METRIC}", "2 trials left out"):
        assert words in " | ".join(off.warnings)
    trials = table(20, ratio=1.0)
    trials.loc[java_off(trials)[:5], METRIC] *= 1.5
    trials.loc[java_off(trials)[:3], "flags"] = "noisy_machine errors_seen"
    found = " | ".join(by_level(trials)["off"].warnings)
    assert "errors_seen" in found
    for words in ("two groups of trials (15 low, 5 high)", "3 of 20 trials flagged noisy_machine"):
        assert words in found


def test_a_variant_whose_every_trial_failed_is_inconclusive_not_absent() -> None:
    trials = table(6)
    trials.loc[trials["variant"] == "java", "excluded"] = True
    for comparison in compared(trials):
        assert comparison.ratio.value is None and comparison.n_blocks == 0 and comparison.n_excluded == 6
        assert comparison.verdict == Verdict.INCONCLUSIVE
    summary = summarise(trials, METRIC).set_index("variant")
    assert summary.loc["java", "n_trials"] == 0 and summary["value"].isna()["java"]


def test_the_margin_is_never_below_the_noise_of_the_duplicate_which_enters_nothing_else() -> None:
    trials = table(6, cv=0.10)
    noise = aa_noise(trials, METRIC).noise
    assert noise is not None and 0.10 < noise <= 0.25
    for comparison in compared(trials):
        assert comparison.margin == noise and any("A/A noise" in warning for warning in comparison.warnings)
    alone = trials[~trials["duplicate"]]
    assert aa_noise(alone, METRIC).noise is None
    assert [c.ratio for c in compared(alone)] == [c.ratio for c in compared(trials)]
    assert any("no A/A pairs" in warning for c in compared(alone) for warning in c.warnings)
    assert list(summarise(trials, METRIC)["n_trials"]) == [12, 12]


def paired(trials: pd.DataFrame, logging: str, *, factor: float, variant: str = "go") -> pd.DataFrame:
    """The trials with a duplicate of a variant at a level in each block, ``factor`` times as slow in odd blocks."""
    chosen = trials.query(f"not duplicate and variant == '{variant}' and logging == '{logging}'").copy()
    chosen["duplicate"] = True
    chosen["trial_id"] = chosen["trial_id"] + "-aa"
    chosen.loc[chosen["block"] % 2 == 1, METRIC] *= factor
    return pd.concat([trials, chosen], ignore_index=True)


def test_the_noise_of_a_cell_is_that_of_its_own_pair_and_without_one_that_of_another_which_is_named() -> None:
    trials = table(6, cv=0.01)
    found = by_level(paired(paired(trials[~trials["duplicate"]], "off", factor=1.2), "on", factor=1.01))
    off, on = found["off"].noise, found["on"].noise
    assert off.elsewhere is None and on.elsewhere is None
    assert off.noise is not None and on.noise is not None and off.noise > 0.10 > on.noise
    assert found["off"].margin == off.noise and found["on"].margin == 0.10
    found = by_level(table(6))
    assert (found["on"].noise.elsewhere, found["off"].noise.elsewhere) == (None, "a log line")
    assert found["off"].noise.noise == found["on"].noise.noise
    assert "no A/A pair in this cell: the noise is that of a log line" in found["off"].warnings


def test_the_pair_of_a_third_program_tells_nothing_of_the_noise_of_two_others() -> None:
    trials = table(6, ratio=1.0, cv=0.01)
    third = trials[(trials["variant"] == "java") & ~trials["duplicate"]].assign(variant="third")
    third["configuration"] = third["configuration"].str.replace("java", "third")
    alone = pd.concat([trials[~trials["duplicate"]], third], ignore_index=True)
    wild = paired(alone, "off", factor=3.0, variant="third")
    found = {(c.variant, c.levels["logging"]): c for c in compared(wild)}
    assert found["third", "off"].margin is None
    alike = found["java", "off"]
    assert (alike.noise.noise, alike.margin, alike.verdict) == (None, 0.10, Verdict.EQUIVALENT)


def a_ratio(low: float, high: float) -> Estimate:
    value = (low * high) ** 0.5
    return Estimate(value=value, low=low, high=high, unit="ratio", method="", estimand="", n_trials=20)


@pytest.mark.parametrize("n_blocks", range(1, 21))
@pytest.mark.parametrize("family", [1, 2, 12, 24])
def test_a_p_value_is_printed_where_blocks_of_one_sign_can_reach_05(n_blocks: int, family: int) -> None:
    floor = smallest_p(n_blocks)
    alone = adjust_pvalues([floor, *[1.0] * (family - 1)], method="bh")[0]
    assert alone is not None and p_can_tell(n_blocks, family) == (n_blocks >= 5 and alone <= 0.05)
    ratios = a_ratio(1.1, 1.3), a_ratio(1.12, 1.28)
    said = decide(*ratios, n_blocks=n_blocks, margin=0.05, p_adjusted=alone, family_size=family)
    assert said.p_adjusted is None or said.p_adjusted <= 0.05
    assert (said.verdict == Verdict.DIFFERENT) == (n_blocks >= 5)


@pytest.mark.parametrize(
    ("noise", "margin"), [(None, 0.05), (0.02, 0.05), (0.2, 0.2), (0.25, 0.25), (0.2501, None)]
)
def test_an_interval_inside_the_band_alone_is_equivalent(noise: float | None, margin: float | None) -> None:
    said = decide(a_ratio(0.98, 1.02), a_ratio(0.985, 1.015), n_blocks=5, margin=0.05, noise=noise)
    assert said.margin == margin
    assert said.verdict == (Verdict.INCONCLUSIVE if margin is None else Verdict.EQUIVALENT)
    few = decide(a_ratio(0.98, 1.02), a_ratio(0.985, 1.015), n_blocks=4, margin=0.05, noise=noise)
    assert (few.verdict, few.margin) == (Verdict.INCONCLUSIVE, None)


RATE = "throughput_per_s"
RATIOS = {"java": 0.8, "rust": 1.25}


def duets(n_blocks: int = 10, *, seed: int = 4, shared_sd: float = 0.5, own_sd: float = 0.01) -> pd.DataFrame:
    """Blocks of pairs: each variant beside ``go``, and ``go`` beside itself; what a pair shares varies widely."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(1, n_blocks + 1):
        for variant in ("java", "go", "rust"):
            shared, names = rng.normal(0, shared_sd), (variant, "go")
            ids = [f"{len(rows) + 1 + n:04d}-{name}" for n, name in enumerate(names)]
            rows += [
                {
                    "block": block, "duplicate": variant == "go" and place == 0, "variant": name,
                    "load_model": "closed", "duet_partner": ids[1 - place], "bound_by": "service",
                    RATE: 1000 * RATIOS.get(name, 1.0) * np.exp(shared + rng.normal(0, own_sd)),
                }
                for place, name in enumerate(names)
            ]  # fmt: skip
    return trial_table(rows)


@pytest.mark.parametrize("variant", RATIOS)
def test_a_ratio_is_that_of_the_two_that_ran_side_by_side(variant: str) -> None:
    trials = duets()
    found = {one.variant: one for one in compare(trials, RATE, reference="go")}[variant]
    by_id = trials.set_index("trial_id")
    mine = trials[trials["variant"] == variant]
    theirs = by_id.loc[mine["duet_partner"], RATE].to_numpy()
    assert found.ratio.value == pytest.approx(np.exp(np.log(mine[RATE].to_numpy() / theirs).mean()))
    assert found.n_blocks == 10 and found.verdict == Verdict.DIFFERENT
    # what a pair shares would hide everything from a comparison with another pair's reference
    assert found.ratio.low is not None and found.ratio.high is not None
    assert found.ratio.low < RATIOS[variant] < found.ratio.high < found.ratio.low * 1.03
    assert {name.rpartition("/")[2] for name in found.ratio.inputs} == {
        *mine["trial_id"], *mine["duet_partner"],
    }  # fmt: skip


def test_only_trials_of_the_pair_are_counted_as_excluded() -> None:
    trials = duets()
    ids = trials.loc[trials["block"] == 3, "trial_id"]
    trials.loc[trials["trial_id"].isin(ids), "excluded"] = True
    for one in compare(trials, RATE, reference="go"):
        assert (one.n_blocks, one.n_excluded) == (9, 2)
