# SPDX-License-Identifier: Apache-2.0
"""A table of trials that nobody measured, for what draws or compares."""

from __future__ import annotations

import numpy as np
import pandas as pd

VARIANTS = ("go-kit", "go-nethttp", "java-helidon", "java-helidon-aot", "rust-x")


def trial(number: int, variant: str, block: int, **columns: object) -> dict[str, object]:
    """Return the row of a trial that ended well, the ``number``-th of its table, with further columns or others."""
    return {
        "experiment": "e", "session_id": "s", "trial_id": f"{number:04d}", "block": block, "position": number + 1,
        "duplicate": False, "variant": variant, "label": variant, "implementation": variant,
        "language": variant.partition("-")[0], "configuration": variant, "excluded": False, "flags": "", **columns,
    }  # fmt: skip


def made_up_trials() -> pd.DataFrame:
    """Five variants, with a log line and without, in five blocks."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for block in range(1, 6):
        for logging in ("off", "on"):
            for number, variant in enumerate(VARIANTS):
                rate = 1000 * (number + 2) * rng.normal(1, 0.02)
                rows.append(trial(
                    len(rows), variant, block, label=variant.upper(), implementation=variant.removesuffix("-aot"),
                    configuration=f"{variant},{logging}", logging=logging, measurement_s=3.0, throughput_per_s=rate,
                    latency_mean_s=50 / rate, rss_after_bytes=2e7 * (number + 1),
                    time_to_first_response_s=0.02 * (number + 1), n_requests=1000.0, n_errors=0.0,
                ))  # fmt: skip
    return pd.DataFrame(rows)
