# SPDX-License-Identifier: Apache-2.0
"""How much was measured: blocks that would be needed, modes unseen, equal cells, and what requests are worth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.adequacy import blocks_needed, equal_cells, leading_metric
from harness.analysis.stats.effective_sample import pooled_percentile, worth_of
from harness.analysis.stats.sample_size import plan_repetitions
from harness.verify.simulated.comparisons import ar_series


def session(
    *, blocks: int = 8, noise: float = 0.02, duplicate_shift: float = 1.0, seed: int = 1
) -> pd.DataFrame:
    """Two variants and the reference's duplicate, with a log line and without."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(1, blocks + 1):
        for logging in ("off", "on"):
            for variant, duplicate, shift in (
                ("go", False, 1.0),
                ("go", True, duplicate_shift),
                ("java", False, 0.8),
            ):
                rows.append({
                    "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                    "position": len(rows) + 1, "duplicate": duplicate, "variant": variant, "logging": logging,
                    "configuration": f"{variant},{logging}", "excluded": False, "flags": "", "load_model": "closed",
                    "throughput_per_s": 1000 * shift * np.exp(noise * rng.standard_normal()), "latency_mean_s": 0.01,
                })  # fmt: skip
    return pd.DataFrame(rows)


def test_blocks_are_those_of_the_plan_made_from_the_same_scatter() -> None:
    trials = session()
    found = blocks_needed(trials, "go", ("logging",))
    assert found is not None and found.n_comparisons == 2 and found.n_blocks == 8
    cell = trials[trials["logging"] == "off"].sort_values("block")
    a, b = (
        cell.loc[(cell["variant"] == name) & ~cell["duplicate"], "throughput_per_s"]
        for name in ("java", "go")
    )
    assert plan_repetitions(a, b).n_blocks <= (found.needed_most or 0)
    assert found.unseen_share == pytest.approx(1 - 0.05 ** (1 / 8))


def test_more_scatter_needs_more_blocks_and_beyond_reason_there_is_no_number() -> None:
    quiet, loud = (blocks_needed(session(noise=noise), "go", ("logging",)) for noise in (0.01, 0.1))
    assert quiet is not None and loud is not None
    assert quiet.needed is not None and loud.needed is not None
    assert quiet.needed < loud.needed / 10
    assert quiet.half_width < loud.half_width
    hopeless = blocks_needed(session(noise=20.0), "go", ("logging",))
    assert hopeless is not None and hopeless.needed is None


def test_a_session_that_compares_nothing_needs_no_number() -> None:
    assert blocks_needed(session().query("variant == 'go'"), "go", ("logging",)) is None
    assert blocks_needed(session(blocks=2), "go", ("logging",)) is None


def test_equal_cells_pass_and_a_duplicate_that_differs_is_told_in_its_cells() -> None:
    equal = equal_cells(session(), ("logging",))
    assert [cell.levels for cell in equal] == [{"logging": "off"}, {"logging": "on"}]
    assert all(cell.n_blocks == 8 and len(cell.found.ratio.inputs) == 16 for cell in equal)
    assert not any(cell.found.passed for cell in equal_cells(session(duplicate_shift=1.3), ("logging",)))


def test_equal_cells_differ_about_as_often_as_their_level_says() -> None:
    found = [
        cell.found.passed for seed in range(60) for cell in equal_cells(session(seed=seed), ("logging",))
    ]
    assert 0.0 < np.mean([passed is False for passed in found]) < 0.12


def test_where_arrivals_come_at_a_rate_latency_leads() -> None:
    assert leading_metric(session()) == "throughput_per_s"
    assert leading_metric(session().assign(load_model="open")) == "latency_mean_s"


@pytest.mark.parametrize(("rho", "most", "least"), [(0.0, 1.3, 0.75), (0.9, 0.09, 0.02)])
def test_requests_that_follow_each_other_are_worth_fewer(rho: float, most: float, least: float) -> None:
    latency = np.exp(0.3 * ar_series(np.random.default_rng(3), (20_000,), rho)) * 0.002
    found = worth_of(latency, "e/s/t")
    assert found.effective is not None
    assert least < found.effective / found.n_requests < most
    assert found.batch_means is not None and found.block_bootstrap is not None
    honest = found.as_if_independent * np.sqrt(found.n_requests / found.effective)
    assert found.batch_means == pytest.approx(honest, rel=0.5)
    assert found.block_bootstrap == pytest.approx(honest, rel=0.5)


def test_constant_latencies_are_worth_no_number() -> None:
    found = worth_of(np.full(100, 0.001), "e/s/t")
    assert found.effective is None and found.batch_means is None


def test_trials_drawn_again_give_a_narrower_interval_and_an_extreme_percentile_is_refused() -> None:
    rng = np.random.default_rng(4)
    trials = [np.exp(0.5 * rng.standard_normal(5000) + 0.1 * rng.standard_normal()) for _ in range(5)]
    found = pooled_percentile(trials, 0.99)
    assert found.cluster_low is not None and found.cluster_high is not None
    assert found.jackknife.low is not None and found.jackknife.high is not None
    assert found.cluster_high - found.cluster_low < found.jackknife.high - found.jackknife.low
    refused = pooled_percentile(trials, 0.999)
    assert refused.jackknife.value is None and refused.cluster_low is None
    assert "p99.9" in refused.jackknife.warnings[0] or "beyond" in refused.jackknife.warnings[0]
