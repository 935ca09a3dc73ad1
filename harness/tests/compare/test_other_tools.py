# SPDX-License-Identifier: Apache-2.0
"""What JMeter and Locust say of the same requests: held against Locust itself, and against JMeter's rule by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.compare.other_tools import numbers_as
from harness.formats.table import RequestTable


def table(latency_s: np.ndarray, failed: int = 0) -> RequestTable:
    n = len(latency_s)
    ok = np.ones(n, dtype=bool)
    ok[:failed] = False
    return RequestTable(
        path=Path("x"), source="locust", start_epoch_s=np.linspace(1.79e9, 1.79e9 + 0.01 * (n - 1), n, dtype=np.float64), latency_s=latency_s, ok=ok,
        label_codes=np.zeros(n, dtype=np.int32), labels=("x",), resolution_s=1e-6,
    )  # fmt: skip


LOCUST = """
import json, sys
from locust.stats import RequestStats
for run in json.load(sys.stdin):
    stats = RequestStats()
    for ms in run:
        stats.log_request("GET", "x", ms, 0)
    entry = stats.total
    print(json.dumps([entry.avg_response_time, *(entry.get_response_time_percentile(q) for q in (0.5, 0.9, 0.99))]))
"""


def test_locusts_numbers_are_those_of_locust() -> None:
    runs = [np.random.default_rng(n).lognormal(4.5, 1.5, n) for n in (7, 100, 1001)]
    # Locust replaces parts of the standard library when it is imported: in a process of its own.
    done = subprocess.run(
        [sys.executable, "-c", LOCUST], input=json.dumps([run.tolist() for run in runs]),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for latency_ms, line in zip(runs, done.stdout.splitlines(), strict=True):
        found = numbers_as("locust", table(latency_ms / 1e3))
        assert [1e3 * found[name] for name in ("mean", "p50", "p90", "p99")] == pytest.approx(
            json.loads(line)
        )


def test_jmeters_percentiles_are_of_rank_round_nq_and_count_failed_requests() -> None:
    found = numbers_as("jmeter", table(np.arange(1, 12) / 1e3, failed=2))
    # 11 samples: ranks round(5.5) = 6, round(9.9) = 10, round(10.89) = 11
    assert [1e3 * found[name] for name in ("p50", "p90", "p99")] == pytest.approx([6, 10, 11])
    assert found["requests"] == 11 and found["mean"] == pytest.approx(0.006)
    assert found["errors"] == pytest.approx(2 / 11)
    assert found["throughput"] == pytest.approx(11 / (0.1 + 0.011), rel=1e-5)  # time stamps of 0.2 us
