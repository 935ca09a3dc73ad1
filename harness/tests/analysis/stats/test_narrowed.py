# SPDX-License-Identifier: Apache-2.0
"""Estimates read a few columns of a table of trials, and say what they say of the whole table."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.analysis.stats import comparisons, summaries
from harness.tests.analysis.stats.test_about_services import CPU, P99, RATE, RSS, trials


def whole(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame


@pytest.mark.parametrize("metric", [RATE, CPU, P99, RSS])
@pytest.mark.parametrize("bounds", [("service", "service"), ("offered", "offered"), ("machine", "generator")])
@pytest.mark.parametrize("age", ["warm", "young"])
def test_columns_that_no_estimate_reads_change_nothing(
    metric: str, bounds: tuple[str, str], age: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = trials(*bounds, rate=0.5).assign(
        age=age, compile_s=0.1, measurement_s=10.0, source="bundled", n_requests=900.0,
        latency_resolution_s=1e-9, note="of no use",
    )  # fmt: skip
    frame.loc[frame["block"] == 4, "age"] = "young"
    frame.loc[frame["block"] == 3, "latency_resolution_s"] = 1e3 if metric == P99 else 1e-9
    compared = comparisons.compare(frame, metric, reference="go")
    summed = summaries.summarise(frame, metric, by=("variant", "logging"))
    for module in (comparisons, summaries):
        monkeypatch.setattr(module, "narrowed", whole)
    assert comparisons.compare(frame, metric, reference="go") == compared
    pd.testing.assert_frame_equal(summaries.summarise(frame, metric, by=("variant", "logging")), summed)
    assert compared[0].ratio.inputs == () or compared[0].ratio.inputs[0].startswith("bundled/")
