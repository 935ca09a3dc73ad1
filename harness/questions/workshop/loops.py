# SPDX-License-Identifier: Apache-2.0
"""Unit 4: open and closed loops, with one simulated service whose only pause is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from harness.analysis.load.coordinated_omission import OmissionCheck, coordinated_omission_check
from harness.analysis.stats.comparisons import Comparison
from harness.evidence import Evidence
from harness.figures.curves import open_and_closed
from harness.publish.display import Published
from harness.questions.workshop.checking import Checks, Truth
from harness.questions.workshop.showing import around_pause, show_figure
from harness.verify.simulated.queueing import (
    Pauses,
    ServiceLaw,
    arrival_times,
    service_times,
    simulate_closed,
    simulate_open,
)

#: The simulated service: it answers in a few milliseconds, and stands still once.
USERS, THINK_S, RATE_PER_S, DURATION_S = 8, 0.017, 400.0, 30.0
PAUSE_AT_S, PAUSE_S = 12.0, 1.0
SLOW_S = 0.5
_SEED = 5
_LOOPS = {"A": "closed", "B": "open", "C": "closed"}


@dataclass(frozen=True, kw_only=True)
class LoopsUnit:
    """A session in both loops, and a simulated service under both. ``pause_s``: how long it stands still."""

    evidence: Evidence
    pause_s: float = PAUSE_S

    @cached_property
    def simulated(self) -> dict[str, pd.DataFrame]:
        """Loop -> every request of the simulated service: ``start_s latency_s``, in the order of starts."""
        rng = np.random.default_rng(_SEED)
        return {"open": _open(rng, RATE_PER_S), "closed": _closed(rng, USERS, THINK_S)}

    def pause_figure(self) -> Published:
        """Return both simulated loops around the pause."""
        return show_figure(
            around_pause(self.simulated, PAUSE_AT_S + PAUSE_S / 2),
            alt="Latency by the time at which a request was sent, around the pause: in the open loop a triangle of "
            "slow requests, in the closed one a handful and then a gap without any request.",
        )

    @cached_property
    def unnamed(self) -> dict[str, pd.DataFrame]:
        """Three logs of the same service under loops that the file does not name: ``start_s latency_s``."""
        rng = np.random.default_rng(_SEED + 1)
        made = {
            "A": _closed(rng, USERS, THINK_S),
            "B": _open(rng, RATE_PER_S),
            "C": _closed(rng, 4 * USERS, 0.08),
        }
        assert set(made) == set(_LOOPS)
        return made

    def unnamed_figure(self) -> Published:
        """Return the three logs around the pause."""
        return show_figure(
            around_pause(self.unnamed, PAUSE_AT_S + PAUSE_S / 2),
            alt="Latency by the time at which a request was sent, around the pause, one panel for each of the logs "
            "A, B and C.",
        )

    def measured_figure(self) -> Published:
        """Return latency by percentile of the measured services in both loops."""
        return show_figure(
            open_and_closed(self.evidence.latencies_by("loop"), self.evidence.variants),
            alt="Latency against percentile on an axis of nines, one panel a variant, an open and a closed loop in "
            "each, with bands over trials.",
        )

    @cached_property
    def effects(self) -> dict[str, Comparison | None]:
        """Label -> p99 under the open loop over that under the closed one, block by block."""
        return {
            label: self.evidence.effect_of("loop", "latency_p99_s", variant=name, base="closed")
            for name, label in self.evidence.variants.items()
        }

    def corrected(self, log: pd.DataFrame, *, users: int) -> OmissionCheck:
        """Return what the check for coordinated omission says of a log, with its corrected percentiles."""
        return coordinated_omission_check(
            log["start_s"].to_numpy(dtype=np.float64),
            log["latency_s"].to_numpy(dtype=np.float64),
            users=users,
        )

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        return Checks(
            {
                "4.1": Truth(
                    value=lambda: {name: _n_slow(log) for name, log in self.simulated.items()},
                    why="In the closed loop each user is delayed once. In the open one everybody who arrives is.",
                ),
                "4.2": Truth(
                    value=lambda: RATE_PER_S * PAUSE_S,
                    within=0.12,
                    why="So many requests were never sent, so no percentile can show how long they would have waited.",
                    wrong={"This is the number of users, who did send theirs.": lambda: USERS},
                ),
                "4.3": Truth(
                    value=lambda: dict(_LOOPS),
                    why="A closed loop falls silent in the pause, however many users it has.",
                ),
                "4.4": Truth(
                    value=self._corrected_over_open,
                    within=0.02,
                    why="The correction restores what was left out of one long pause. It cannot restore what a short "
                    "one hid, so an open loop is still what to measure in.",
                    wrong={"The uncorrected p99 is in it.": self._measured_over_open},
                ),
            }
        )

    def _open_p99(self) -> float:
        return float(np.quantile(self.simulated["open"]["latency_s"], 0.99))

    def _corrected_over_open(self) -> float:
        found = self.corrected(self.simulated["closed"], users=USERS)
        assert found.corrected_s is not None  # users were given
        return found.corrected_s["p99"] / self._open_p99()

    def _measured_over_open(self) -> float:
        return self.corrected(self.simulated["closed"], users=USERS).measured_s["p99"] / self._open_p99()


def loops_unit(evidence: Evidence) -> LoopsUnit:
    """Return the unit of an experiment with the factor ``loop``."""
    return LoopsUnit(evidence=evidence)


def _open(rng: np.random.Generator, rate_per_s: float) -> pd.DataFrame:
    arrivals = arrival_times("poisson", rate_per_s, DURATION_S, rng)
    start, latency = simulate_open(
        arrivals, service_times(len(arrivals), ServiceLaw(), rng), servers=USERS, pauses=_pause()
    )
    return _log(start, latency)


def _closed(rng: np.random.Generator, users: int, think_s: float) -> pd.DataFrame:
    start, latency = simulate_closed(
        users, DURATION_S, ServiceLaw(), rng, servers=USERS, think_s=think_s, pauses=_pause()
    )
    return _log(start, latency)


def _pause() -> Pauses:
    return Pauses(starts_s=(PAUSE_AT_S,), lengths_s=(PAUSE_S,))


def _log(start: np.ndarray, latency: np.ndarray) -> pd.DataFrame:
    found = pd.DataFrame({"start_s": start, "latency_s": latency})
    return found.sort_values("start_s", kind="stable", ignore_index=True)


def _n_slow(log: pd.DataFrame) -> int:
    return int((log["latency_s"] > SLOW_S).sum())
