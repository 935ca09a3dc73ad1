# SPDX-License-Identifier: Apache-2.0
"""Tables of trials that nobody measured, for what draws or compares; of a machine whose CPUs are slower in some of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.tables.resource_columns import exclude_other_speeds

PER_S = {"go-nethttp": 60_000.0, "java-helidon": 90_000.0}
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


def uneven_speeds(
    *,
    elasticity: float = -1.0,
    noise: float = 0.01,
    seed: int = 1,
    busy: float = 0.1,
    java_elasticity: float | None = None,
) -> pd.DataFrame:
    """Return trials of two variants in 20 blocks; in a share ``busy`` the CPUs take 35 % longer, for whichever
    variant. ``java_elasticity``: of the Java service, where it is another one."""
    rng = np.random.default_rng(seed)
    elasticities = {"go-nethttp": elasticity, "java-helidon": java_elasticity or elasticity}
    rows: list[dict[str, object]] = []
    for block in range(1, 21):
        for variant, per_s in PER_S.items():
            slower = (1.35 if rng.random() < busy else 1.0) * float(np.exp(0.02 * rng.standard_normal()))
            rate = per_s * slower ** elasticities[variant] * float(np.exp(noise * rng.standard_normal()))
            rows.append(trial(
                len(rows), variant, block, load_name="saturation", load_model="closed", exclusion_reason=None,
                bound_by="service", bound_why="", service_share=0.98, generator_share=0.6,
                service_step_s=64e-9 * slower, throughput_per_s=rate,
            ))  # fmt: skip
    exclude_other_speeds(rows)
    return pd.DataFrame(rows)
