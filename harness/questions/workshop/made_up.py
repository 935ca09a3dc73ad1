# SPDX-License-Identifier: Apache-2.0
"""Data of the exercises that are made up, so that their truth is known: the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.verify.simulated.queueing import (
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_closed,
    simulate_open,
)

#: Files of unit 1 -> what was done to them.
FILES = {"A": "resolution", "B": "failures", "C": "units", "D": "nothing"}
#: Courses of unit 3, logs of unit 4, and comparisons of unit 6, as well.
COURSES = {"A": "flat", "B": "warms up", "C": "no steady state", "D": "slows down"}
LOOPS = {"A": "closed", "B": "open", "C": "closed"}
COMPARISONS = {"A": "order", "B": "fair", "C": "errors", "D": "mix", "E": "replication"}
#: The simulated service of unit 4 answers in a few milliseconds, and stands still once.
USERS, THINK_S, RATE_PER_S, DURATION_S = 8, 0.017, 400.0, 30.0
PAUSE_S = 1.0
_PAUSE = Pauses(starts_s=(12.0,), lengths_s=(PAUSE_S,))
#: By how much the clock of unit 5 is ahead.
AHEAD_S = 0.24
#: By how much the services of ``b`` in unit 6 are slower, as a ratio of medians.
TRUE_RATIO = 1.15
#: Where the files of unit 6 are, below the root of the project.
FOLDER = Path("results") / "workshop" / "comparisons"
_EPOCH_S, _EVERY_S = 1_790_000_000.0, 100.0
_USERS, _EACH, _MEDIAN_S, _SIGMA, _BETWEEN = 10, 150, 0.05, 0.5, 0.01
_TURNS = ((0, 3, 4, 7, 8), (1, 2, 5, 6, 9))


def suspects(latencies_ms: Floats) -> dict[str, pd.DataFrame]:
    """Return name -> file with the columns ``latency_ms`` and ``ok``: a trial's requests, broken or not."""
    whole = pd.DataFrame({"latency_ms": latencies_ms, "ok": True})
    failed, in_seconds = np.random.default_rng(20).random((2, len(whole)))
    latency = whole["latency_ms"]
    broken = {
        "failures": whole.assign(latency_ms=latency.mask(failed < 0.2, 1.0), ok=failed >= 0.2),
        "units": whole.assign(latency_ms=latency.mask(in_seconds < 0.3, latency / 1e3)),
        "resolution": whole.assign(latency_ms=np.ceil(latency / 50) * 50),
        "nothing": whole,
    }
    return {name: broken[fault] for name, fault in FILES.items()}


def studies() -> dict[str, pd.DataFrame]:
    """Return two studies of two arms: ``arm process window latency_ms``. In A nothing differs, in B something."""
    rng = np.random.default_rng(7)
    return {"A": _study(rng, (0.96, 1.04), n=1, n_windows=20), "B": _study(rng, (1, 1.3), n=10, n_windows=2)}


def _study(rng: np.random.Generator, arms: tuple[float, float], *, n: int, n_windows: int) -> pd.DataFrame:
    rows = []
    for arm, level in zip(("before", "after"), arms, strict=True):
        for process in range(1, n + 1):
            # two arms of one process each: what tells them apart is the process
            centre = 10 * level * np.exp(rng.normal(0, 0.04 if n > 1 else 0))
            latencies = centre * np.exp(rng.normal(0, 0.01, n_windows))
            rows += [(arm, process, window, value) for window, value in enumerate(latencies, start=1)]
    return pd.DataFrame(rows, columns=["arm", "process", "window", "latency_ms"])


def courses() -> pd.DataFrame:
    """Return the mean latency in milliseconds by window of four services under load: ``window A B C D``."""
    rng, n = np.random.default_rng(11), 400
    at = np.arange(1, n + 1)
    levels = {
        "flat": np.full(n, 10.0),
        "warms up": 10 + 14 * np.exp(-at / 40),
        "slows down": np.where(at < 0.6 * n, 10.0, 13.0),
        "no steady state": 10 + 8 * at / n + 2 * np.sin(at / 9),
    }
    columns = {name: levels[course] * np.exp(rng.normal(0, 0.04, n)) for name, course in COURSES.items()}
    return pd.DataFrame({"window": at, **columns})


def loops() -> dict[str, pd.DataFrame]:
    """Return loop -> every request of the simulated service: ``start_s latency_s``, in the order of starts."""
    rng = np.random.default_rng(5)
    return {"open": _open(rng), "closed": _closed(rng, USERS, THINK_S)}


def unnamed_loops() -> dict[str, pd.DataFrame]:
    """Return three logs of the same service under loops that their names do not tell."""
    rng = np.random.default_rng(6)
    return {"A": _closed(rng, USERS, THINK_S), "B": _open(rng), "C": _closed(rng, 4 * USERS, 0.08)}


def _open(rng: np.random.Generator) -> pd.DataFrame:
    arrivals = arrival_times(RATE_PER_S, DURATION_S, rng)
    service = service_times(len(arrivals), ServiceLaw(), rng)
    return _log(*simulate_open(arrivals, service, servers=USERS, pauses=_PAUSE))


def _closed(rng: np.random.Generator, users: int, think_s: float) -> pd.DataFrame:
    law, pauses = ServiceLaw(), _PAUSE
    return _log(*simulate_closed(users, DURATION_S, law, rng, servers=USERS, think_s=think_s, pauses=pauses))


def _log(start: Floats, latency: Floats) -> pd.DataFrame:
    log = pd.DataFrame({"start_s": start, "latency_s": latency})
    return log.sort_values("start_s", kind="stable", ignore_index=True)


def clock_trial() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return requests (``start_s latency_s end_s``) and pauses (``start_s end_s``) of a trial.

    The clock of the pauses is ahead of that of the requests, by less than half a second.
    """
    rng = np.random.default_rng(3)
    pauses = regular_pauses(20.0, 0.06, 0.9, rng)
    arrivals = arrival_times(RATE_PER_S, 20.0, rng)
    service = service_times(len(arrivals), ServiceLaw(), rng)
    requests = _log(*simulate_open(arrivals, service, servers=4, pauses=pauses))
    log = pd.DataFrame(pauses.spans, columns=["start_s", "end_s"]) + AHEAD_S
    return requests.assign(end_s=requests["start_s"] + requests["latency_s"]), log


class _Run(NamedTuple):
    """One run of unit 6. ``place``: in the order of all runs of its comparison."""

    place: int
    median_s: float
    failed_share: float = 0.0
    search_share: float = 0.3


def write_comparisons(root: Path) -> Path:
    """Write the runs of five comparisons as JMeter would, and return their folder; below it ``A/a/run1.jtl``."""
    for number, (name, fault) in enumerate(COMPARISONS.items()):
        rng = np.random.default_rng([3, number])
        for arm, runs in _arms(fault, rng).items():
            folder = root / FOLDER / name / arm
            folder.mkdir(parents=True, exist_ok=True)
            for place, run in enumerate(runs, start=1):
                _requests(run, rng).to_csv(folder / f"run{place}.jtl", index=False, lineterminator="\n")
    return root / FOLDER


def _arms(fault: str, rng: np.random.Generator) -> Mapping[str, Sequence[_Run]]:
    """Return the runs of both arms: in turns and one arm slower, but for the fault."""

    def runs(places: Sequence[int], medians: Sequence[float]) -> Iterator[_Run]:
        for place, median in zip(places, medians, strict=True):
            yield _Run(place, median * float(np.exp(rng.normal(0, _BETWEEN))))

    if fault == "order":  # equal services on a machine that becomes slower
        drift = [_MEDIAN_S * (1 + 0.03 * place) for place in range(10)]
        return {"a": list(runs(range(5), drift[:5])), "b": list(runs(range(5, 10), drift[5:]))}
    a, b = (list(runs(turns, [_MEDIAN_S * r] * 5)) for turns, r in zip(_TURNS, (1, TRUE_RATIO), strict=True))
    if fault == "errors":
        b = [run._replace(failed_share=0.15, median_s=_MEDIAN_S) for run in b]
    if fault == "mix":
        b = [run._replace(search_share=0.1, median_s=_MEDIAN_S) for run in b]
    return {"a": a[:1], "b": b[:1]} if fault == "replication" else {"a": a, "b": b}


def _requests(run: _Run, rng: np.random.Generator) -> pd.DataFrame:
    """Return the requests of users who wait for their answers, with JMeter's columns."""
    shape = (_USERS, _EACH)
    search, failed = rng.random(shape) < run.search_share, rng.random(shape) < run.failed_share
    latency = rng.lognormal(np.log(run.median_s), _SIGMA, shape) * np.where(search, 2.0, 1.0)
    latency = np.where(failed, 0.002, latency)
    begun = _EPOCH_S + _EVERY_S * run.place + rng.uniform(0, run.median_s, (_USERS, 1))
    end = begun + np.cumsum(latency, axis=1)
    start_ms, end_ms = (np.floor(1e3 * times).astype(np.int64).ravel() for times in (end - latency, end))
    frame = pd.DataFrame(
        {
            "timeStamp": start_ms,
            "elapsed": end_ms - start_ms,
            "label": np.where(search, "search", "hello").ravel(),
            "responseCode": np.where(failed, "503", "200").ravel(),
            "threadName": np.repeat([f"users 1-{user + 1}" for user in range(_USERS)], _EACH),
            "success": np.where(failed, "false", "true").ravel(),
            "allThreads": _USERS,
        }
    )
    ended = frame["timeStamp"] + frame["elapsed"]
    return frame.loc[np.lexsort((frame["timeStamp"], ended))]
