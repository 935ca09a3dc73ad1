# SPDX-License-Identifier: Apache-2.0
"""The values beside a ratio are of the trials that the ratio is of."""

from __future__ import annotations

import pytest

from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.summaries import summarise
from harness.evidence.results import of_ratios
from harness.tests.support.made_up_trials import made_up_trials

RATE = "throughput_per_s"


def test_a_block_that_one_arm_lacks_counts_in_no_value_of_its_row() -> None:
    trials = made_up_trials()
    trials = trials[trials["variant"].isin(["go-kit", "go-nethttp"])].reset_index(drop=True)
    left_out = (trials["variant"] == "go-kit") & (trials["block"] == 3) & (trials["logging"] == "on")
    trials.loc[left_out, "excluded"] = True
    trials.loc[(trials["variant"] == "go-nethttp") & (trials["block"] == 3), RATE] *= 3
    found = compare(trials, RATE, reference="go-nethttp", by=["logging"])
    frame = summarise(of_ratios(trials, found, ["logging", "variant"]), RATE, by=["logging", "variant"])
    values = {(row["logging"], row["variant"]): float(row["value"]) for row in frame.to_dict("records")}
    for one in found:
        level = one.levels["logging"]
        ratio = values[level, "go-kit"] / values[level, "go-nethttp"]
        assert one.ratio.value == pytest.approx(ratio)
    assert dict(zip(frame["logging"], frame["n_trials"], strict=False)) == {"off": 5, "on": 4}
    assert frame.loc[frame["variant"] == "go-kit", "n_excluded"].sum() == 1


def test_trials_without_any_ratio_are_all_there() -> None:
    trials = made_up_trials()
    assert of_ratios(trials, [], ["variant"]).equals(trials)
