# SPDX-License-Identifier: Apache-2.0
"""Unit 1: reading a latency distribution, with files that are broken in known ways."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.quantiles import (
    EXTREME,
    FEWEST_BEYOND_EXTREME,
    n_beyond,
    quantile_refused,
    rank,
)
from harness.evidence import Evidence
from harness.model.digits import plain
from harness.questions.workshop.checking import Checks, Truth

_SHOWN = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
_SEED = 20
#: What was done to each of the suspects.
_FAILED_SHARE, _FAST_MS, _STEP_MS, _IN_SECONDS = 0.2, 1.0, 50.0, 0.3
_FAULTS = {"A": "resolution", "B": "failures", "C": "units", "D": "nothing"}
_TENTHS = 10


@dataclass(frozen=True, kw_only=True)
class LatencyUnit:
    """The requests of one cold trial, and copies of them in which something is wrong.

    ``latencies_ms``: of the correct answers in the order in which they were sent, shape (n,).
    ``checks``: of the exercises.
    """

    label: str
    latencies_ms: Floats

    def summary(self) -> pd.DataFrame:
        """Return mean and percentiles, and how many requests lie beyond each."""
        values = self.latencies_ms
        rows = {
            "mean": (plain(float(values.mean())), f"{int((values > values.mean()).sum())}", ""),
            **{name: self._row(q) for name, q in _SHOWN.items()},
            "longest": (plain(float(values.max())), "0", ""),
        }
        heads = ["latency / ms", "requests beyond it", "may it be reported?"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=heads).rename_axis(self.label)

    def _row(self, q: float) -> tuple[str, str, str]:
        values, n = self.latencies_ms, len(self.latencies_ms)
        value = float(np.sort(values)[rank(n, q) - 1])
        return plain(value), f"{round(n_beyond(n, q))}", quantile_refused(n, q) or "yes"

    def tenths(self) -> pd.DataFrame:
        """Return count and p99 of each tenth of the trial, as a dashboard shows them minute by minute."""
        parts = np.array_split(self.latencies_ms, _TENTHS)
        return pd.DataFrame(
            {
                "tenth of the trial": range(1, _TENTHS + 1),
                "requests": [len(part) for part in parts],
                "p99_ms": [_p99(part) for part in parts],
            }
        )

    @cached_property
    def suspects(self) -> dict[str, pd.DataFrame]:
        """Name -> file with the columns ``latency_ms`` and ``ok``: the trial's requests, broken or not."""
        whole = pd.DataFrame({"latency_ms": self.latencies_ms, "ok": True})
        rng = np.random.default_rng(_SEED)
        failed, seconds = rng.random((2, len(whole)))
        broken = {
            "failures": whole.assign(
                latency_ms=whole["latency_ms"].mask(failed < _FAILED_SHARE, _FAST_MS),
                ok=failed >= _FAILED_SHARE,
            ),
            "units": whole.assign(
                latency_ms=whole["latency_ms"].mask(seconds < _IN_SECONDS, whole["latency_ms"] / 1e3)
            ),
            "resolution": whole.assign(latency_ms=np.ceil(whole["latency_ms"] / _STEP_MS) * _STEP_MS),
            "nothing": whole,
        }
        return {name: broken[fault] for name, fault in _FAULTS.items()}

    def looks(self) -> pd.DataFrame:
        """Return what a first look at each suspect shows."""
        rows = {
            name: {
                "requests": len(file),
                "failed": int((~file["ok"]).sum()),
                "shortest / ms": plain(float(file["latency_ms"].min())),
                "median / ms": plain(float(file["latency_ms"].median())),
                "p99 / ms": plain(_p99(file["latency_ms"].to_numpy(dtype=np.float64))),
                "different values": file["latency_ms"].nunique(),
            }
            for name, file in self.suspects.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("file")

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        values = self.latencies_ms
        with_failures = next(name for name, fault in _FAULTS.items() if fault == "failures")

        def median_of_right() -> float:
            file = self.suspects[with_failures]
            return float(file.loc[file["ok"], "latency_ms"].median())

        return Checks(
            {
                "1.1": Truth(
                    value=lambda: int((values > _p99(values)).sum()),
                    within=0.02,
                    why="So few requests decide what the p99 is. Ten unlucky ones move it.",
                    wrong={
                        "These are the requests that were faster.": lambda: int(
                            (values <= _p99(values)).sum()
                        ),
                        "Count the requests, not their share.": lambda: float((values > _p99(values)).mean()),
                    },
                ),
                "1.2": Truth(
                    value=lambda: _p99(values),
                    within=0.005,
                    why="A percentile of the whole needs all requests: it cannot be made of percentiles of parts.",
                    wrong={
                        "This is the mean of ten percentiles, and no percentile of anything.": lambda: float(
                            self.tenths()["p99_ms"].mean()
                        ),
                        "This is the worst tenth.": lambda: float(self.tenths()["p99_ms"].max()),
                        "This is the middle tenth; the requests of the worst ones are missing.": lambda: (
                            float(self.tenths()["p99_ms"].median())
                        ),
                    },
                ),
                "1.3": Truth(
                    value=lambda: round(FEWEST_BEYOND_EXTREME / (1 - EXTREME)),
                    within=0.001,
                    why="This trial has fewer, so its p99.9 is not reported.",
                    wrong={
                        "So many lie beyond it. How many requests are that in all?": lambda: float(
                            FEWEST_BEYOND_EXTREME
                        ),
                        "That leaves a single request beyond it.": lambda: round(1 / (1 - EXTREME)),
                    },
                ),
                "1.4": Truth(
                    value=lambda: dict(_FAULTS),
                    why="Failed requests are fast, coarse clocks leave few values, and mixed units make two humps.",
                ),
                "1.5": Truth(
                    value=median_of_right,
                    within=0.001,
                    why="Latency is of correct answers. Failed requests are counted beside it, never in it.",
                    wrong={
                        "Failed requests are in it.": lambda: float(
                            self.suspects[with_failures]["latency_ms"].median()
                        )
                    },
                ),
            }
        )


def latency_unit(evidence: Evidence, *, variant: str, **levels: str) -> LatencyUnit:
    """Return the unit of the first kept trial of a variant at these levels."""
    trials = evidence.cell(**levels)
    kept = trials[(trials["variant"] == variant) & ~trials["excluded"].astype(bool)]
    row = kept.sort_values("block").iloc[0]
    requests = evidence.whole_requests(str(row["session_id"]), str(row["trial_id"]))
    assert requests is not None  # JMeter writes a row for each request
    ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
    label = f"{row['label']}, one trial"
    return LatencyUnit(label=label, latencies_ms=ok["latency_s"].to_numpy(dtype=np.float64) * 1e3)


def _p99(values: Floats) -> float:
    return float(np.sort(values)[rank(len(values), 0.99) - 1])
