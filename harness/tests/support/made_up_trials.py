# SPDX-License-Identifier: Apache-2.0
"""A table of trials that nobody measured, for what draws or compares."""

from __future__ import annotations

import numpy as np
import pandas as pd

VARIANTS = {
    "go-kit": "go",
    "go-nethttp": "go",
    "java-helidon": "java",
    "java-helidon-aot": "java",
    "rust-x": "rust",
}


def made_up_trials() -> pd.DataFrame:
    """Five variants, with a log line and without, in five blocks."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for block in range(1, 6):
        for logging in ("off", "on"):
            for number, (variant, language) in enumerate(VARIANTS.items()):
                rate = 1000 * (number + 2) * rng.normal(1, 0.02)
                rows.append({
                    "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                    "position": len(rows) + 1, "duplicate": False, "variant": variant, "label": variant.upper(),
                    "implementation": variant.removesuffix("-aot"), "language": language, "excluded": False,
                    "flags": "", "configuration": f"{variant},{logging}", "logging": logging, "measurement_s": 3.0,
                    "throughput_per_s": rate, "latency_mean_s": 50 / rate, "rss_after_bytes": 2e7 * (number + 1),
                    "time_to_first_response_s": 0.02 * (number + 1), "n_requests": 1000.0, "n_errors": 0.0,
                })  # fmt: skip
    return pd.DataFrame(rows)
