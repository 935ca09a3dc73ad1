# SPDX-License-Identifier: Apache-2.0
"""Trials of a machine whose CPUs are a third slower in some of them, and throughput with them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.tables.resource_columns import exclude_other_speeds
from harness.tests.support.made_up_trials import trial

PER_S = {"go-nethttp": 60_000.0, "java-helidon": 90_000.0}


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
