# SPDX-License-Identifier: Apache-2.0
"""Unit 5: from a latency peak to the pause behind it, and how far a clock that is off misleads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.analysis.attribution.spans import CauseName, joined
from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.quantiles import rank
from harness.evidence import Evidence
from harness.model.digits import percent, plain
from harness.questions.workshop.checking import Checks, Truth
from harness.rows import Session, latency_over_time, slow_requests
from harness.verify.simulated.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)

#: Of a service: its own log has these. The load generator's pauses are not the service's.
_SERVICE: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")
_SEED = 3
#: The made-up trial, and by how much the clock of its log is ahead.
_RATE_PER_S, _DURATION_S, _PAUSE_S, _EVERY_S = 400.0, 20.0, 0.06, 0.9
_AHEAD_S = 0.24
_STEP_S = 0.02


@dataclass(frozen=True, kw_only=True)
class PeaksUnit:
    """The first trial of some variants with its pauses, and a made-up trial whose log has a clock of its own.

    ``attributed``: those trials taken apart by the project's own attribution; the first of them is the subject.
    """

    evidence: Evidence
    attributed: tuple[TrialAttribution, ...]

    @property
    def subject(self) -> TrialAttribution:
        """The trial that the exercises are about."""
        return self.attributed[0]

    @cached_property
    def requests(self) -> pd.DataFrame:
        """The subject's correct answers in the order of their starts: ``start_s latency_s end_s``."""
        found = self._requests_of(self.subject)
        start = found["start_epoch_s"].to_numpy(dtype=np.float64) - self._begin
        latency = found["latency_s"].to_numpy(dtype=np.float64)
        return pd.DataFrame({"start_s": start, "latency_s": latency, "end_s": start + latency})

    @cached_property
    def pauses(self) -> pd.DataFrame:
        """The pauses of the subject's own log on the clock of its requests: ``start_s end_s``, none overlapping."""
        spans = [span for cause in _SERVICE for span in self.subject.events.get(cause, ())]
        rows = [(low - self._begin, high - self._begin) for low, high in joined(spans)]
        return pd.DataFrame(rows, columns=["start_s", "end_s"])

    def slowest(self, n: int = 8) -> pd.DataFrame:
        """Return the slowest requests with the time that pauses took from each."""
        found = self.requests.assign(paused_s=paused_s(self.requests, self.pauses))
        shown = found.nlargest(n, "latency_s").reset_index(drop=True)
        return pd.DataFrame(
            {
                "sent at / s": shown["start_s"].map("{:.2f}".format),
                "latency / ms": (1e3 * shown["latency_s"]).map(plain),
                "of it in pauses / ms": (1e3 * shown["paused_s"]).map(plain),
            }
        )

    def causes(self) -> pd.DataFrame:
        """Return, for each trial, what the time beyond the median of its requests beyond p99 consists of."""
        rows = {}
        for one in self.attributed:
            parts = {str(cause): share for cause, share in one.tail["p99"].items()}
            rows[one.label] = {
                "collector": one.collector or "",
                "pauses": str(one.n_pauses),
                "p99 / ms": plain(1e3 * one.latency_s["p99"]),
                "longest pause / ms": plain(1e3 * (one.longest_pause_s or 0.0)),
                "service's pauses": "cannot be placed" if one.refused else percent(_sum(parts, _SERVICE)),
                "generator's pauses": percent(parts.get("generator_stall") or 0.0),
                "unexplained": percent(parts.get("unexplained") or 0.0),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("first trial of")

    def latency_over_time(self) -> Figure:
        """Return latency over time, one panel a trial: pauses as bands, the slowest requests by their cause."""
        evidence = self.evidence
        session = Session(root=evidence.root, experiment=evidence.experiment, evidence=evidence)
        return latency_over_time(*slow_requests(session, self.attributed))

    @cached_property
    def _begin(self) -> float:
        return float(self._requests_of(self.subject)["start_epoch_s"].iloc[0])

    def _requests_of(self, one: TrialAttribution) -> pd.DataFrame:
        session_id, trial_id = one.trial.split("/")[-2:]
        requests = self.evidence.requests(session_id, trial_id)
        assert requests is not None  # it was attributed from them
        ok = requests[requests["ok"].astype(bool)]
        return ok.sort_values("start_epoch_s", kind="stable")

    @cached_property
    def made_up(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Requests (``start_s latency_s end_s``) and pauses (``start_s end_s``) of a made-up trial.

        The clock of the pauses is ahead of that of the requests, by less than half a second.
        """
        rng = np.random.default_rng(_SEED)
        pauses = regular_pauses(_DURATION_S, _PAUSE_S, _EVERY_S, rng)
        arrivals = arrival_times("poisson", _RATE_PER_S, _DURATION_S, rng)
        start, latency = simulate_open(
            arrivals, service_times(len(arrivals), ServiceLaw(), rng), servers=4, pauses=pauses
        )
        requests = pd.DataFrame({"start_s": start, "latency_s": latency, "end_s": start + latency})
        logged = [(low + _AHEAD_S, high + _AHEAD_S) for low, high in pauses.spans]
        return requests, pd.DataFrame(logged, columns=["start_s", "end_s"])

    def explained_at(self, shift_s: float) -> float:
        """Return the time that pauses take from the requests of the made-up trial, its log moved back by a shift."""
        requests, pauses = self.made_up
        moved = pauses - shift_s
        slow = requests[requests["latency_s"] > requests["latency_s"].quantile(0.95)]
        return float(paused_s(slow, moved).sum())

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        return Checks(
            {
                "5.1": Truth(
                    value=lambda: len(self.pauses),
                    why="Most of them are too short to be seen in the latencies alone.",
                ),
                "5.2": Truth(
                    value=self._paused_of_slowest,
                    within=0.02,
                    why="The pause took this much of its time. The rest is work, and waiting behind others.",
                    wrong={
                        "This is the whole latency of that request.": lambda: self._slowest()["latency_s"]
                    },
                ),
                "5.3": Truth(
                    value=self._share,
                    within=0.02,
                    why=self._step_words,
                    wrong={
                        "This is the share of the requests that met a pause.": lambda: float(
                            (paused_s(self.requests, self.pauses) > 0).mean()
                        ),
                        "This is what remains, not what vanishes.": lambda: 1 - self._share(),
                    },
                ),
                "5.4": Truth(
                    value=lambda: _AHEAD_S,
                    within=_STEP_S / _AHEAD_S,
                    why="With its clock put right the log explains the peaks. With the wrong clock it explains none.",
                    wrong={"This is in the other direction.": lambda: -_AHEAD_S},
                ),
            }
        )

    def _slowest(self) -> pd.Series:
        return self.requests.iloc[int(self.requests["latency_s"].argmax())]

    def _paused_of_slowest(self) -> float:
        return float(paused_s(self._slowest().to_frame().T, self.pauses)[0])

    def _share(self) -> float:
        return 1 - self._clear_p99_s() / self._p99_s()

    def _clear_p99_s(self) -> float:
        clear = paused_s(self.requests, self.pauses) == 0
        return _p99(self.requests["latency_s"].to_numpy(dtype=np.float64)[clear])

    def _p99_s(self) -> float:
        return _p99(self.requests["latency_s"].to_numpy(dtype=np.float64))

    def _step_words(self) -> str:
        """Say how coarse the share is: the clock's step is the smallest difference of two latencies."""
        whole, clear = self._p99_s(), self._clear_p99_s()
        step = float(np.diff(np.unique(np.rint(1e6 * self.requests["latency_s"].to_numpy()))).min() / 1e6)
        return (
            f"p99 goes from {plain(1e3 * whole)} to {plain(1e3 * clear)} ms in steps of {plain(1e3 * step)} ms, "
            f"each {percent(step / whole)} of it: one trial shows no smaller share. Queues are still in it."
        )


def paused_s(requests: pd.DataFrame, pauses: pd.DataFrame) -> Floats:
    """Return the time that pauses took from each request, shape (n,), in seconds.

    Args:
        requests, pauses: with ``start_s`` and ``end_s`` on one clock; pauses do not overlap each other.
    """
    low, high = (pauses[name].to_numpy(dtype=np.float64) for name in ("start_s", "end_s"))
    start, end = (requests[name].to_numpy(dtype=np.float64)[:, None] for name in ("start_s", "end_s"))
    return np.asarray(np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None).sum(axis=1))


def peaks_unit(evidence: Evidence, *variants: str) -> PeaksUnit:
    """Return the unit of the first kept trial of these variants."""
    sessions = {session.folder.name: session for session in evidence.sessions}
    trials = evidence.trials
    found = []
    for name in variants:
        kept = trials[
            (trials["variant"] == name) & ~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)
        ]
        row = kept.sort_values("block").iloc[0]
        session_id, trial_id = str(row["session_id"]), str(row["trial_id"])
        requests = evidence.requests(session_id, trial_id)
        assert requests is not None  # JMeter writes a row for each request
        found.append(attribute_trial(sessions[session_id], trial_id, requests))
    return PeaksUnit(evidence=evidence, attributed=tuple(found))


def _sum(parts: Mapping[str, float | None], names: Sequence[str]) -> float:
    return sum(parts.get(name) or 0.0 for name in names)


def _p99(values: Floats) -> float:
    return float(np.sort(values)[rank(len(values), 0.99) - 1])


__all__ = ["PeaksUnit", "paused_s", "peaks_unit"]
