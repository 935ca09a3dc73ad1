# SPDX-License-Identifier: Apache-2.0
"""Unit 6: comparisons that are fair and comparisons that are not, as files, and what a fair one needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pairing import counting
from harness.analysis.stats.sample_size import plan_repetitions
from harness.compare.comparing import compare_files
from harness.compare.result import Comparison
from harness.compare.words import HEADS, cells, summary
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.warm import Warm, warm_services
from harness.model.digits import percent, plain
from harness.publish.display import Published, plain_table, table_page
from harness.questions.workshop.checking import Checks, Truth

METRIC = "cpu_s_per_request"
FOLDER = Path("results") / "workshop" / "comparisons"
#: Made-up runs: when the first begins, and how far two of them are apart.
_EPOCH_S, _EVERY_S = 1_790_000_000.0, 100.0
_USERS, _EACH, _MEDIAN_S, _SIGMA = 10, 150, 0.05, 0.5
_RUNS, _SEED = 5, 3
_EFFECT, _BETWEEN = 1.15, 0.01
_TURNS = ((0, 3, 4, 7, 8), (1, 2, 5, 6, 9))
_FAULTS = {"A": "order", "B": "fair", "C": "errors", "D": "mix", "E": "replication"}
#: The trap of ``rematch compare`` that each fault is.
TRAPS = {
    "order": "order_confounded",
    "errors": "fast_errors",
    "mix": "different_labels",
    "replication": "one_run",
}
#: What the exercise asks for, and what was shown before.
_HALF_WIDTH, _SHOWN = 0.01, 0.02
_PLANS = {
    "A": ("unequal", "old: 2 CPUs, heap 512m; new: 2 CPUs, heap 2g; 10 blocks in random order"),
    "B": ("fair", "old and new: 2 CPUs, heap 512m; 10 blocks in random order; old twice in each block"),
    "C": ("no replication", "old and new: 2 CPUs, heap 512m; one process each, measured for ten minutes"),
    "D": ("order", "old and new: 2 CPUs, heap 512m; 10 processes of old on Monday, 10 of new on Tuesday"),
}


@dataclass(frozen=True, kw_only=True)
class _Run:
    """How one made-up run differs from an ordinary one."""

    place: int
    median_s: float
    failed_share: float = 0.0
    search_share: float = 0.3


@dataclass(frozen=True, kw_only=True)
class ComparingUnit:
    """Five comparisons of made-up runs below ``folder``, and a measured session for planning.

    Each comparison is a folder with the folders ``a`` and ``b``, of JMeter files, one a run.
    """

    folder: Path
    warm: Warm
    subject: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the comparisons."""
        return tuple(_FAULTS)

    def runs(self, name: str) -> pd.DataFrame:
        """Return what the files of a comparison show, one row a run, in the order in which they began.

        Raises:
            InputError: no such comparison.
        """
        found = self.compared(name)
        rows = [
            {
                "arm": arm,
                "began at / s": round((run.start_epoch_s or 0.0) - _EPOCH_S),
                "requests": run.n_requests,
                "failed": percent(run.n_errors / run.n_requests),
                "searches": percent(run.labels.get("search", 0) / run.n_requests),
                "median / ms": plain(1e3 * run.values[None, "p50"]),
                "correct answers per second": plain(run.values[None, "throughput"]),
            }
            for arm, runs in zip(("a", "b"), found.arms, strict=True)
            for run in runs
        ]
        return pd.DataFrame(rows).sort_values("began at / s", ignore_index=True)

    def compared(self, name: str) -> Comparison:
        """Return what ``rematch compare`` says of a comparison.

        Raises:
            InputError: no such comparison.
        """
        if name not in _FAULTS:
            raise InputError("no such comparison", place="name", found=name, allowed=", ".join(_FAULTS))
        arms = [str(self.folder / name / arm) for arm in ("a", "b")]
        return compare_files(arms[:1], arms[1:])

    def verdicts(self, name: str) -> Published:
        """Return the table of ``rematch compare`` with the traps that it found."""
        found = self.compared(name)
        heads = list(HEADS)
        body = [list(cells(row)) for row in found.rows if row.label is None]
        notes = [
            summary(found),
            *(f"{trap.name}: {trap.text}".replace(str(self.folder), "") for trap in found.traps),
        ]
        page = table_page(heads, body, f"comparison {name}", notes, [False] * len(heads))
        return Published("\n".join([plain_table(heads, body), *notes]), page=page)

    def plans(self) -> pd.DataFrame:
        """Return four plans of a comparison of an old and a new version, in words."""
        return pd.DataFrame(
            {"plan": [words for _, words in _PLANS.values()]}, index=pd.Index(list(_PLANS), name="name")
        )

    def pilot(self) -> tuple[Floats, Floats]:
        """Return CPU time per request of the subject and of the reference, one value a block, shapes (k,)."""
        trials = self.warm.saturation
        kept = counting(trials)
        wide = kept.pivot(index="block", columns="variant", values=METRIC)
        both = wide[[self.subject, self.warm.evidence.reference]].dropna().to_numpy(dtype=np.float64)
        return both[:, 0], both[:, 1]

    def blocks_for(self, half_width: float) -> int:
        """Return how many blocks make the interval of the ratio so narrow, planned from the pilot."""
        return plan_repetitions(*self.pilot(), half_width=half_width)

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        return Checks(
            {
                "6.1": Truth(
                    value=lambda: dict(_FAULTS),
                    why="Only one of the five says something about the services.",
                    wrong={
                        "In which order were the runs of A made?": lambda: {"A": "fair"},
                        "How many requests of C failed, and how fast is a failure?": lambda: {"C": "fair"},
                        "Do both arms of D have the same requests?": lambda: {"D": "fair"},
                        "How many processes has each arm of E?": lambda: {"E": "fair"},
                    },
                ),
                "6.2": Truth(
                    value=self._holds_truth,
                    why="The runs were made with this ratio, and took turns; so the interval can be believed.",
                ),
                "6.3": Truth(
                    value=lambda: self.blocks_for(_HALF_WIDTH),
                    why=self._cost_words,
                    wrong={
                        "The width shrinks with the root of the blocks: half of it costs more than twice as many.": (
                            lambda: round(self.blocks_for(_SHOWN) * _SHOWN / _HALF_WIDTH)
                        ),
                        "These are the blocks of the pilot.": lambda: len(self.pilot()[0]),
                    },
                ),
                "6.4": Truth(
                    value=lambda: {name: fault for name, (fault, _) in _PLANS.items()},
                    why="Equal conditions, fresh processes, random order, and the noise measured beside the effect.",
                    wrong={"How many processes of each has C?": lambda: {"C": "fair"}},
                ),
            }
        )

    def _cost_words(self) -> str:
        shown, asked = self.blocks_for(_SHOWN), self.blocks_for(_HALF_WIDTH)
        return (
            f"From plus and minus {percent(_SHOWN)} to {percent(_HALF_WIDTH)}, {shown} blocks become {asked}, "
            f"{plain(asked / shown)} times as many. The root alone would make it {plain((_SHOWN / _HALF_WIDTH) ** 2)}; "
            "the smaller plan pays for its few degrees of freedom, too."
        )

    @property
    def true_ratio(self) -> float:
        """By how much the services of ``b`` were made slower than those of ``a``, as a ratio of medians."""
        return _EFFECT

    def _holds_truth(self) -> bool:
        fair = next(name for name, fault in _FAULTS.items() if fault == "fair")
        row = self.compared(fair).row("p50")
        assert row is not None and row.low is not None and row.high is not None  # five runs an arm
        return row.low <= self.true_ratio <= row.high


def comparing_unit(evidence: Evidence, *, subject: str) -> ComparingUnit:
    """Write the made-up runs below ``results/workshop/``, and return the unit."""
    warm = warm_services(evidence)
    assert warm is not None  # the session is there
    folder = evidence.root / FOLDER
    write_comparisons(folder)
    pd.set_option("display.max_colwidth", None)  # a plan is a sentence, and its end decides the exercise
    return ComparingUnit(folder=folder, warm=warm, subject=subject)


def write_comparisons(folder: Path) -> None:
    """Write the five comparisons below a folder: the same bytes each time."""
    for number, (name, fault) in enumerate(_FAULTS.items()):
        rng = np.random.default_rng([_SEED, number])
        arms = _ARMS[fault](rng)
        for arm, runs in arms.items():
            (folder / name / arm).mkdir(parents=True, exist_ok=True)
            for at, run in enumerate(runs, start=1):
                _write(folder / name / arm / f"run{at}.jtl", run, rng)


def _fair(rng: np.random.Generator) -> dict[str, list[_Run]]:
    medians = (_MEDIAN_S, _MEDIAN_S * _EFFECT)
    return {
        arm: [_Run(place=place, median_s=median * float(np.exp(rng.normal(0, _BETWEEN)))) for place in places]
        for arm, median, places in zip(("a", "b"), medians, _TURNS, strict=True)
    }


def _one_after_the_other(rng: np.random.Generator) -> dict[str, list[_Run]]:
    """Equal services on a machine that becomes slower: all runs of ``a`` come first."""
    drift = [_MEDIAN_S * (1 + 0.03 * place) for place in range(2 * _RUNS)]
    return {
        arm: [
            _Run(place=place, median_s=drift[place] * float(np.exp(rng.normal(0, _BETWEEN))))
            for place in places
        ]
        for arm, places in (("a", range(_RUNS)), ("b", range(_RUNS, 2 * _RUNS)))
    }


def _with_errors(rng: np.random.Generator) -> dict[str, list[_Run]]:
    fair = _fair(rng)
    return {"a": fair["a"], "b": [replace(run, failed_share=0.15, median_s=_MEDIAN_S) for run in fair["b"]]}


def _other_mix(rng: np.random.Generator) -> dict[str, list[_Run]]:
    fair = _fair(rng)
    return {"a": fair["a"], "b": [replace(run, search_share=0.1, median_s=_MEDIAN_S) for run in fair["b"]]}


def _single(rng: np.random.Generator) -> dict[str, list[_Run]]:
    return {arm: runs[:1] for arm, runs in _fair(rng).items()}


_ARMS: Mapping[str, Callable[[np.random.Generator], dict[str, list[_Run]]]] = {
    "fair": _fair,
    "order": _one_after_the_other,
    "errors": _with_errors,
    "mix": _other_mix,
    "replication": _single,
}


def _write(path: Path, run: _Run, rng: np.random.Generator) -> None:
    """Write a run of users who wait for their answers, as JMeter would."""
    shape = (_USERS, _EACH)
    search = rng.random(shape) < run.search_share
    failed = rng.random(shape) < run.failed_share
    latency = rng.lognormal(np.log(run.median_s), _SIGMA, shape) * np.where(search, 2.0, 1.0)
    latency = np.where(failed, 0.002, latency)
    begun = rng.uniform(0, run.median_s, (_USERS, 1))
    start = begun + np.concatenate([np.zeros((_USERS, 1)), np.cumsum(latency, axis=1)[:, :-1]], axis=1)
    start_ms = np.floor((_EPOCH_S + _EVERY_S * run.place + start) * 1e3).astype(np.int64)
    end_ms = np.floor((_EPOCH_S + _EVERY_S * run.place + start + latency) * 1e3).astype(np.int64)
    frame = pd.DataFrame(
        {
            "timeStamp": start_ms.ravel(),
            "elapsed": (end_ms - start_ms).ravel(),
            "label": np.where(search, "search", "hello").ravel(),
            "responseCode": np.where(failed, "503", "200").ravel(),
            "threadName": np.repeat([f"users 1-{user + 1}" for user in range(_USERS)], _EACH),
            "success": np.where(failed, "false", "true").ravel(),
            "allThreads": _USERS,
            "end": end_ms.ravel(),
        }
    )
    ordered = frame.sort_values(["end", "timeStamp"], kind="stable").drop(columns="end")
    ordered.to_csv(path, index=False, lineterminator="\n")
