# SPDX-License-Identifier: Apache-2.0
"""Equal cells: the reference against its duplicate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.audit.session_checks import equal_cells, leading_metric
from harness.analysis.stats.aa_noise import AANoise


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


def holds_one(noise: AANoise) -> bool:
    assert noise.ratio.low is not None and noise.ratio.high is not None
    return noise.ratio.low <= 1 <= noise.ratio.high


def test_equal_cells_pass_and_a_duplicate_that_differs_is_told_in_its_cells() -> None:
    equal = equal_cells(session(), ("logging",))
    assert [levels for levels, _ in equal] == [{"logging": "off"}, {"logging": "on"}]
    assert all(noise.n_blocks == 8 and len(noise.ratio.inputs) == 16 for _, noise in equal)
    assert not any(holds_one(noise) for _, noise in equal_cells(session(duplicate_shift=1.3), ("logging",)))


def test_equal_cells_differ_about_as_often_as_their_level_says() -> None:
    held = [
        holds_one(noise) for seed in range(60) for _, noise in equal_cells(session(seed=seed), ("logging",))
    ]
    assert 0.0 < np.mean([not cell for cell in held]) < 0.12


def test_where_arrivals_come_at_a_rate_latency_leads() -> None:
    assert leading_metric(session()) == "throughput_per_s"
    assert leading_metric(session().assign(load_model="open")) == "latency_mean_s"
