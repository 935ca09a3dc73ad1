# SPDX-License-Identifier: Apache-2.0
"""How many CPUs the runtimes in pods say that they go by, in words."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.evidence.experiment import Evidence
from harness.model.digits import cell_words, plain


def goes_by(trials: pd.DataFrame) -> str:
    """Return CPUs and a JVM's collector, ``2`` or ``1, Serial``; empty: no trial says so."""
    told = trials[trials["runtime_cpus"].notna()]
    said = {
        f"{plain(int(cpus))}, {collector}" if isinstance(collector, str) else plain(int(cpus))
        for cpus, collector in zip(told["runtime_cpus"], told["gc_found"], strict=True)
    }
    return " or ".join(sorted(said))


def goes_by_in_cells(evidence: Evidence) -> Mapping[str, Mapping[str, str]]:
    """Return variant -> cell in words -> what its runtime goes by there; without those that do not say so."""
    found: dict[str, dict[str, str]] = {}
    if evidence.trials["runtime_cpus"].notna().any():
        for levels in evidence.cells():
            for variant, mine in evidence.cell(**levels).groupby("variant"):
                if said := goes_by(mine):
                    found.setdefault(str(variant), {})[cell_words(levels)] = said
    return found


__all__ = ["goes_by", "goes_by_in_cells"]
