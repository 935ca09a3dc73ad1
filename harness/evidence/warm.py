# SPDX-License-Identifier: Apache-2.0
"""Services that have warmed up, each on CPUs of its own: comparisons per CPU, and what becoming warm took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.ages import compile_share
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.evidence import Evidence
from harness.evidence.once import Once
from harness.model import Estimate
from harness.model.digits import plain, spoken

#: Levels of the factor ``load``.
SATURATION, RATE = "saturation", "rate"
#: Levels of the factor ``craft``: as that community writes it, and by hand.
IDIOMATIC, TUNED = "idiomatic", "tuned"
#: JIT compilers at work during the measurement, over its length: elapsed time of all of them, so it can be above 1.
COMPILE_SHARE = "compile_share"
#: A process whose warm-up ended so is warm.
SETTLED = "settled"


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What the processes of one variant needed to become warm; the duplicated reference is left out.

    ``seconds``, ``n_requests`` and ``extra_cpu_s`` are means over the processes that settled; ``None``: none did.
    Seconds of 0 are those of a process that was warm within its first window of ``window_s``; ``within_first``: how
    many were, ``later_s``: seconds of the others. The rest of ``n`` did not settle within ``at_most_s``.
    """

    n: int
    n_settled: int
    window_s: float
    at_most_s: float
    within_first: int
    later_s: tuple[float, ...]
    seconds: Estimate | None
    n_requests: Estimate | None
    extra_cpu_s: Estimate | None

    def __repr__(self) -> str:
        means = {"seconds": self.seconds, "requests": self.n_requests, "extra CPU seconds": self.extra_cpu_s}
        shown = [
            f", {name} {spoken(mean.value, mean.low, mean.high)}"
            for name, mean in means.items()
            if mean is not None and mean.value is not None
        ]
        return (
            f"{self.n_settled} of {self.n} processes settled within {plain(self.at_most_s)} s, "
            f"{self.within_first} of them in the first {plain(self.window_s)} s{''.join(shown)}"
        )


@dataclass(frozen=True, kw_only=True)
class Warm(Once):
    """An experiment whose processes were warmed up in windows, taken apart.

    ``saturation`` and ``rate``: the trials of each load, ``throughput_per_s`` of them per CPU of the service, with
    the column ``COMPILE_SHARE``; ``rate`` is empty where that load was not measured. ``cpus``: of the services.
    All of it is of one craft.
    """

    evidence: Evidence
    saturation: pd.DataFrame
    rate: pd.DataFrame
    cpus: tuple[float, ...]
    cold: Mapping[str, ColdStart]

    def __repr__(self) -> str:
        return (
            f"{len(self.saturation)} trials at saturation and {len(self.rate)} at a rate, {self.evidence!r}"
        )

    def compared(self, metric: str, *, load: str = SATURATION) -> Sequence[Comparison]:
        """Return the comparisons with the reference under one load, computed once; none: it was not measured."""
        return self.once((metric, load), lambda: self._compare(metric, load))

    def _compare(self, metric: str, load: str) -> tuple[Comparison, ...]:
        trials = self.rate if load == RATE else self.saturation
        kept = trials[~trials["excluded"].astype(bool)]
        if kept.empty or kept[metric].isna().all() or self.evidence.reference not in set(trials["variant"]):
            return ()
        return compare(trials, metric, reference=self.evidence.reference)


def warm_services(evidence: Evidence | None, *, craft: str = IDIOMATIC) -> Warm | None:
    """Return the trials of one craft taken apart; ``None``: it was not measured."""
    trials = _of_craft(evidence, craft)
    if evidence is None or trials is None:
        return None
    cpus = _service_cpus(evidence)[trials.index]
    per_cpu = trials.assign(
        **{
            "throughput_per_s": trials["throughput_per_s"] / cpus,
            COMPILE_SHARE: compile_share(trials),
        }
    )
    return Warm(
        evidence=evidence,
        saturation=per_cpu[per_cpu["load"] == SATURATION],
        rate=per_cpu[per_cpu["load"] == RATE],
        cpus=tuple(sorted(set(cpus.dropna()))),
        cold=_cold_starts(evidence, trials),
    )


def cold_windows(evidence: Evidence | None, *, craft: str = IDIOMATIC) -> pd.DataFrame | None:
    """Return one row per window of the warm-up of every kept process; ``None``: not measured.

    Columns: those of the trial (``session_id trial_id variant label implementation language block``), ``window`` from
    1 on, ``at_s``, the middle of the window in seconds since the first request, ``per_s``, right answers per second,
    and ``cpu_s_per_request``.
    """
    trials = _of_craft(evidence, craft)
    if evidence is None or trials is None:
        return None
    about = ["session_id", "trial_id", "variant", "label", "implementation", "language", "block"]
    found = []
    for _, row in _processes(trials).iterrows():
        windows = evidence.windows(str(row["session_id"]), str(row["trial_id"]))
        if windows is None or windows.empty:
            continue
        found.append(
            pd.DataFrame(
                {name: row[name] for name in about}
                | {
                    "window": range(1, len(windows) + 1),
                    "at_s": windows["start_s"] + windows["duration_s"] / 2,
                    "per_s": (windows["n_requests"] - windows["n_errors"]) / windows["duration_s"],
                    "cpu_s_per_request": windows["cpu_s"] / windows["n_requests"].where(lambda n: n > 0),
                }
            )
        )
    return pd.concat(found, ignore_index=True) if found else None


def _of_craft(evidence: Evidence | None, craft: str) -> pd.DataFrame | None:
    """The trials of one craft; of a session from before there were two, all of them are idiomatic."""
    if evidence is None:
        return None
    mine = evidence.trials
    if "craft" in evidence.factors:
        mine = mine[mine["craft"] == craft]
    elif craft != IDIOMATIC:
        return None
    return None if mine.empty else mine


def _service_cpus(evidence: Evidence) -> pd.Series[float]:
    """How many CPUs the service of each trial was given, as its record says."""
    given = [
        None if record.instance is None else record.instance.cpu_limit
        for _, _, record in evidence.with_records()
    ]
    return pd.Series(given, index=evidence.trials.index, dtype="float64")


def _processes(trials: pd.DataFrame) -> pd.DataFrame:
    """The kept first trials of processes that were warmed up in windows, duplicates left out."""
    kept = ~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)
    return trials[kept & trials["warm_up_s"].notna()]


def _cold_starts(evidence: Evidence, trials: pd.DataFrame) -> dict[str, ColdStart]:
    spec = evidence.header.experiment.profiles[evidence.header.plan.profile].warm_up
    if spec is None:
        return {}
    window_s = float(spec.window_s)
    found = {}
    for name, mine in _processes(trials).groupby("variant", sort=False):
        settled = mine[mine["warm_class"] == SETTLED]
        at_once = settled["cold_s"] == 0
        found[str(name)] = ColdStart(
            n=len(mine),
            n_settled=len(settled),
            window_s=window_s,
            at_most_s=float(spec.at_most_s),
            within_first=int(at_once.sum()),
            later_s=tuple(settled.loc[~at_once, "cold_s"].dropna()),
            seconds=_mean(settled, "cold_s"),
            n_requests=_mean(settled, "cold_requests"),
            extra_cpu_s=_mean(settled, "cold_extra_cpu_s"),
        )
    return found


def _mean(trials: pd.DataFrame, metric: str) -> Estimate | None:
    return None if trials[metric].isna().all() else summarised(trials, metric)
