# SPDX-License-Identifier: Apache-2.0
"""Reports on JMeter files made up from a load, and what they say of the units in them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

from harness.report.analyse import report_file
from harness.report.result import Report
from harness.tests.support.generated_jtl import BARE, FULL, Load, write_load

SOME = settings(max_examples=12, deadline=None)
COLUMNS = st.sampled_from([
    FULL, BARE, tuple(c for c in FULL if c != "threadName"), tuple(c for c in FULL if "Threads" not in c),
    tuple(c for c in FULL if c not in {"Latency", "Connect"}), ("timeStamp", "elapsed", "allThreads", "success"),
])  # fmt: skip
seeds = st.integers(0, 10_000)


def reported(load: Load, columns: tuple[str, ...] = FULL, **written: float) -> Report:
    with tempfile.TemporaryDirectory() as name:
        return report_file(write_load(Path(name) / "some.jtl", load, columns, **written))


def accused(report: Report) -> list[str]:
    return [one.text for one in report.units if one.contradicted]


def suspected(report: Report) -> set[str | None]:
    return {one.rather for one in report.units if one.contradicted}
