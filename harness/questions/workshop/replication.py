# SPDX-License-Identifier: Apache-2.0
"""Unit 2: what one trial says, and how sure requests make us of a difference that is not there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.analysis.stats.aa_noise import AANoise, aa_noise
from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import student
from harness.analysis.stats.quantiles import Worth, worth_of
from harness.evidence import Evidence
from harness.model.digits import percent, plain, spoken
from harness.questions.workshop.checking import Checks, Truth
from harness.questions.workshop.tables import TrialValues

_METRIC = "latency_mean_s"
#: Whose interval is computed by hand.
_SUBJECT = "java-helidon"
_SEED = 7
#: Made-up studies: how far processes of one program differ, and windows of one process; the difference of study B.
_BETWEEN, _WITHIN, _EFFECT = 0.04, 0.01, 1.3
_WINDOWS, _PROCESSES = 20, 10
_NOT_SHOWN, _SHOWN = "not shown", "shown"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One program, run twice in one block at the same ``levels`` of the factors: its mean latency in both runs."""

    levels: str
    block: int
    first: Worth
    again: Worth
    first_ms: float
    again_ms: float

    @property
    def ratio(self) -> float:
        """The second run over the first."""
        return self.again_ms / self.first_ms

    @property
    def half(self) -> float:
        """Half the width of the ratio's interval, had every request been independent; as a share."""
        return float(np.hypot(self.first.as_if_independent, self.again.as_if_independent))

    @property
    def called_different(self) -> bool:
        """Whether that interval leaves out 1."""
        return abs(self.ratio - 1) > self.half * self.ratio


@dataclass(frozen=True, kw_only=True)
class ReplicationUnit:
    """The reference against itself, all variants against each other, and two made-up studies."""

    evidence: Evidence
    values: TrialValues

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The reference and its duplicate of each block, taken by their requests."""
        trials = self.evidence.trials
        kept = trials[~trials["excluded"].astype(bool)]
        found = []
        for _, again in kept[kept["duplicate"].astype(bool)].iterrows():
            twins = kept[
                ~kept["duplicate"].astype(bool)
                & (kept["configuration"] == again["configuration"])
                & (kept["block"] == again["block"])
            ]
            if len(twins):
                found.append(self._pair(twins.iloc[0], again))
        return tuple(found)

    def pair_table(self) -> pd.DataFrame:
        """Return the pairs with the interval that treats every request as independent, and what it says."""
        rows = [
            {
                "run with": pair.levels,
                "block": pair.block,
                "first / ms": plain(pair.first_ms),
                "again / ms": plain(pair.again_ms),
                "again over first (95 %, over requests)": spoken(
                    pair.ratio, pair.ratio * (1 - pair.half), pair.ratio * (1 + pair.half)
                ),
                "requests": f"{pair.first.n_requests:,}",
                "worth": f"{plain(pair.first.effective)}" if pair.first.effective else "",
                "it says": "different" if pair.called_different else "not shown to differ",
            }
            for pair in self.pairs
        ]
        return pd.DataFrame(rows)

    @cached_property
    def over_blocks(self) -> AANoise:
        """The same pairs with the block as the unit."""
        return aa_noise(self.evidence.trials, _METRIC)

    def closest(self) -> tuple[pd.Series, pd.Series]:
        """Return the trials of the two variants that single trials confuse most often, the better one first."""
        frame = self.values.frame
        pairs = [self._better_first(frame[a], frame[b]) for a, b in combinations(map(str, frame), 2)]
        return max(pairs, key=lambda pair: float(self._wrong(*pair).mean()))

    @cached_property
    def studies(self) -> dict[str, pd.DataFrame]:
        """Two made-up studies of two arms: ``arm process window latency_ms``. In A nothing differs, in B something."""
        rng = np.random.default_rng(_SEED)
        return {
            "A": _study(rng, n_processes=1, n_windows=_WINDOWS, effect=1.0),
            "B": _study(rng, n_processes=_PROCESSES, n_windows=2, effect=_EFFECT),
        }

    def study_table(self) -> pd.DataFrame:
        """Return what both studies report of themselves: arms with the interval over all their rows."""
        rows = []
        for name, study in self.studies.items():
            for arm, mine in study.groupby("arm"):
                found = student(mine["latency_ms"].to_numpy(dtype=np.float64), 0.95)
                rows.append(
                    {
                        "study": name,
                        "arm": arm,
                        "processes": mine["process"].nunique(),
                        "rows": len(mine),
                        "latency / ms (95 %, over rows)": spoken(
                            float(found.centre), float(found.low), float(found.high)
                        ),
                    }
                )
        return pd.DataFrame(rows)

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        return Checks(
            {
                "2.1": Truth(
                    value=lambda: sum(pair.called_different for pair in self.pairs),
                    why="One program was measured, so every one of these is a false alarm.",
                    wrong={
                        "These are the pairs in which it was right.": lambda: sum(
                            not pair.called_different for pair in self.pairs
                        ),
                    },
                ),
                "2.2": Truth(
                    value=self._holds_one,
                    why="Blocks differ as processes do, and the interval over them says so.",
                ),
                "2.3": Truth(
                    value=lambda: self._wins().sum(),
                    why=lambda: (
                        f"One trial of each would have named the wrong winner in {percent(self._wins().mean())} "
                        "of these pairs."
                    ),
                    wrong={
                        "These are the pairs in which it does not win.": lambda: int((~self._wins()).sum()),
                        "Only trials of the same block are compared here. Take every pair.": lambda: (
                            self._wins().diagonal().sum()
                        ),
                        "This is their share. How many pairs are that?": lambda: self._wins().mean(),
                    },
                ),
                "2.4": Truth(
                    value=lambda: {"A": _NOT_SHOWN, "B": _SHOWN},
                    why="Windows of one process are one observation. A has one process in each arm, so it has no "
                    "interval at all; B has many.",
                    wrong={
                        "Count processes, not rows.": lambda: {"A": _SHOWN, "B": _SHOWN},
                        "A has more rows and says less: what is its unit?": lambda: {
                            "A": _SHOWN,
                            "B": _NOT_SHOWN,
                        },
                    },
                ),
                "2.5": Truth(
                    value=lambda: self._interval(0.99),
                    within=2e-4,
                    why="The verdicts of section 6 rest on the same lines, at 95 %.",
                    wrong={
                        "This is the interval of 95 %.": lambda: self._interval(0.95),
                        "This is the interval of 98 %: of the rest, half lies on each side.": lambda: (
                            self._interval(0.98)
                        ),
                    },
                ),
            }
        )

    def noise_words(self) -> str:
        """Return the spread of the pairs' ratios in words."""
        ratios = [pair.ratio for pair in self.pairs]
        times = plain(max(ratios) / min(ratios))
        return f"{len(ratios)} pairs of one program: the largest ratio is {times} times the smallest."

    def _pair(self, first: pd.Series, again: pd.Series) -> Pair:
        a, b = self._latencies(first), self._latencies(again)
        return Pair(
            levels=" ".join(str(first["configuration"]).split(",")[1:]),
            block=int(first["block"]),
            first=worth_of(a, str(first["trial_id"])),
            again=worth_of(b, str(again["trial_id"])),
            first_ms=1e3 * float(a.mean()),
            again_ms=1e3 * float(b.mean()),
        )

    def _latencies(self, row: pd.Series) -> Floats:
        requests = self.evidence.requests(str(row["session_id"]), str(row["trial_id"]))
        assert requests is not None  # JMeter writes a row for each request
        ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
        return ok["latency_s"].to_numpy(dtype=np.float64)

    def _holds_one(self) -> bool:
        ratio = self.over_blocks.ratio
        return ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high

    def _better_first(self, a: pd.Series, b: pd.Series) -> tuple[pd.Series, pd.Series]:
        higher = a.mean() > b.mean()
        return (a, b) if higher == (self.values.words.better == "higher") else (b, a)

    def _wrong(self, a: pd.Series, b: pd.Series) -> npt.NDArray[np.bool_]:
        """Return for each pair of trials, of any blocks, whether it contradicts the means; shape (blocks, blocks)."""
        sign = 1 if self.values.words.better == "higher" else -1
        better, other = (sign * one.dropna().to_numpy(dtype=np.float64) for one in (a, b))
        return np.asarray(better[:, None] < other)

    def _wins(self) -> npt.NDArray[np.bool_]:
        return self._wrong(*self.closest())

    def _interval(self, level: float) -> dict[str, float | None]:
        """Return the interval of the subject's ratio by the comparison that the project itself makes."""
        found = compare(
            self.values.trials, self.values.metric, reference=self.evidence.reference, level=level
        )
        ratio = next(one.ratio for one in found if one.variant == _SUBJECT)
        return {"low": ratio.low, "high": ratio.high}


def replication_unit(evidence: Evidence, values: TrialValues) -> ReplicationUnit:
    """Return the unit of an experiment whose load tool writes every request."""
    return ReplicationUnit(evidence=evidence, values=values)


def _study(rng: np.random.Generator, *, n_processes: int, n_windows: int, effect: float) -> pd.DataFrame:
    rows: list[tuple[str, int, int, float]] = []
    for arm, centre in (("before", 10.0), ("after", 10.0 * effect)):
        for process in range(1, n_processes + 1):
            # Two arms of one process each: what tells them apart is the process, in a made-up study as in a real one.
            sign = 1 if arm == "after" else -1
            level = centre * np.exp(sign * _BETWEEN if n_processes == 1 else rng.normal(0, _BETWEEN))
            latencies = level * np.exp(rng.normal(0, _WITHIN, n_windows))
            rows += [(arm, process, window, value) for window, value in enumerate(latencies, start=1)]
    return pd.DataFrame(rows, columns=["arm", "process", "window", "latency_ms"])
