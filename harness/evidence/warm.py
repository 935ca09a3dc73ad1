# SPDX-License-Identifier: Apache-2.0
"""Services that have warmed up, each on CPUs of its own: comparisons per CPU, and what becoming warm took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.evidence.experiment import Evidence
from harness.model import Estimate

#: Levels of the factors ``load`` and ``craft``.
SATURATION, IDIOMATIC = "saturation", "idiomatic"
#: A process whose warm-up ended so is warm.
SETTLED = "settled"


class ColdStart(NamedTuple):
    """What the processes of one variant that settled needed to become warm, on average; ``None``: none settled."""

    seconds: Estimate | None
    n_requests: Estimate | None
    extra_cpu_s: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Warm:
    """The idiomatic programs of an experiment whose processes were warmed up in windows.

    ``saturation``: the trials at saturation, their ``throughput_per_s`` per CPU of the service.
    ``cold``: variant -> what it needed to become warm, without the duplicated reference.
    """

    evidence: Evidence
    saturation: pd.DataFrame
    cold: Mapping[str, ColdStart]

    def compared(self, metric: str) -> tuple[Comparison, ...]:
        """Return the comparisons with the reference at saturation; none: it was not measured."""
        if self.saturation.loc[~self.saturation["excluded"].astype(bool), metric].isna().all():
            return ()
        return compare(self.saturation, metric, reference=self.evidence.reference)


def warm_services(evidence: Evidence) -> Warm:
    """Return the idiomatic trials taken apart; of a session from before there were crafts, all of them are."""
    trials = _idiomatic(evidence)
    cpus = pd.Series(
        [
            None if record.instance is None else record.instance.cpu_limit
            for _, _, record in evidence.with_records()
        ],
        index=evidence.trials.index,
        dtype="float64",
    )
    full = trials[trials["load"] == SATURATION]
    settled = _processes(trials)[lambda frame: frame["warm_class"] == SETTLED]
    return Warm(
        evidence=evidence,
        saturation=full.assign(throughput_per_s=full["throughput_per_s"] / cpus[full.index]),
        cold={
            str(name): ColdStart(
                *(_mean(own, metric) for metric in ("cold_s", "cold_requests", "cold_extra_cpu_s"))
            )
            for name, own in settled.groupby("variant", sort=False)
        },
    )


def cold_windows(evidence: Evidence) -> pd.DataFrame:
    """Return one row per window of the warm-up of every kept process.

    Columns: those of the trial (``session_id trial_id variant label implementation language block``), ``window`` from
    1 on, ``at_s``, the middle of the window in seconds since the first request, ``per_s``, right answers per second,
    and ``cpu_s_per_request``.

    Raises:
        ValueError: no process has windows.
    """
    about = ["session_id", "trial_id", "variant", "label", "implementation", "language", "block"]
    frames = []
    for _, row in _processes(_idiomatic(evidence)).iterrows():
        windows = evidence.windows(str(row["session_id"]), str(row["trial_id"]))
        if windows is not None and len(windows):
            columns = {
                "window": range(1, len(windows) + 1),
                "at_s": windows["start_s"] + windows["duration_s"] / 2,
                "per_s": (windows["n_requests"] - windows["n_errors"]) / windows["duration_s"],
                "cpu_s_per_request": windows["cpu_s"] / windows["n_requests"].where(lambda n: n > 0),
            }
            frames.append(pd.DataFrame({name: row[name] for name in about} | columns))
    return pd.concat(frames, ignore_index=True)


def _idiomatic(evidence: Evidence) -> pd.DataFrame:
    trials = evidence.trials
    return trials[trials["craft"] == IDIOMATIC] if "craft" in evidence.factors else trials


def _processes(trials: pd.DataFrame) -> pd.DataFrame:
    """The kept first trials of processes that were warmed up in windows, duplicates left out."""
    counted = ~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)
    return trials[counted & trials["warm_up_s"].notna()]


def _mean(trials: pd.DataFrame, metric: str) -> Estimate | None:
    return None if trials[metric].isna().all() else summarised(trials, metric)
