# SPDX-License-Identifier: Apache-2.0
"""Trials of duets are compared with what ran beside them, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.pairing import pair_by_block
from harness.analysis.stats.sample_size import power_curve
from harness.model import Verdict
from harness.tests.analysis.trial_tables import trial_table

METRIC = "throughput_per_s"
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
                    METRIC: 1000 * RATIOS.get(name, 1.0) * np.exp(shared + rng.normal(0, own_sd)),
                }
                for place, name in enumerate(names)
            ]  # fmt: skip
    return trial_table(rows)


@pytest.mark.parametrize("variant", RATIOS)
def test_a_ratio_is_that_of_the_two_that_ran_side_by_side(variant: str) -> None:
    trials = duets()
    found = {one.variant: one for one in compare(trials, METRIC, reference="go")}[variant]
    by_id = trials.set_index("trial_id")
    mine = trials[trials["variant"] == variant]
    theirs = by_id.loc[mine["duet_partner"], METRIC].to_numpy()
    assert found.ratio.value == pytest.approx(np.exp(np.log(mine[METRIC].to_numpy() / theirs).mean()))
    assert found.n_blocks == 10 and found.verdict == Verdict.DIFFERENT
    # what a pair shares would hide everything from a comparison with another pair's reference
    assert found.ratio.low is not None and found.ratio.high is not None
    assert found.ratio.low < RATIOS[variant] < found.ratio.high < found.ratio.low * 1.03
    assert {name.rpartition("/")[2] for name in found.ratio.inputs} == {
        *mine["trial_id"], *mine["duet_partner"],
    }  # fmt: skip


def test_the_noise_is_that_of_the_reference_beside_itself() -> None:
    trials = duets()
    assert aa_noise(trials, METRIC).n_blocks == 10
    assert (aa_noise(trials, METRIC).noise or 1) < 0.03
    curves = power_curve(trials, METRIC, reference="go")
    assert [(curve.variant, curve.n_pairs) for curve in curves] == [("go", 10), ("java", 10), ("rust", 10)]
    assert all((curve.sd_log_ratio or 1) < 0.03 for curve in curves)


def test_only_trials_of_the_pair_are_counted_as_excluded_or_alone() -> None:
    trials = duets()
    ids = trials.loc[trials["block"] == 3, "trial_id"]
    trials.loc[trials["trial_id"].isin(ids), "excluded"] = True
    for one in compare(trials, METRIC, reference="go"):
        assert (one.n_blocks, one.n_excluded) == (9, 2)
    java, go = (trials[trials["variant"] == name] for name in ("java", "go"))
    a, b, n_alone = pair_by_block(java[java["block"] > 4], go)
    assert len(a) == len(b) == 6 and n_alone == 0
    assert list(a["duet_partner"]) == list(b["trial_id"])
    _, _, n_alone = pair_by_block(java, go[go["block"] > 4])
    assert n_alone == 4
