# SPDX-License-Identifier: Apache-2.0
"""What a session of very many trials holds does not grow with them; one that leaks is found."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
from scipy import stats

from harness.tests.chaos.stage import Stage, stage
from harness.tests.support.available import only_when_long, patient

N_TRIALS = 100
EVERY_S = 0.25
#: The most that 1,000 trials may add, by what is read; memory, disk and logs in bytes.
LIMITS = {
    "memory": 2.0 * 2**20, "descriptors": 1.0, "threads": 1.0, "files left on disk": 64.0 * 2**10,
    "log a trial": 64.0,
}  # fmt: skip
LEAKED = {"memory", "descriptors", "threads", "files left on disk"}
#: Pools and caches build up once: this share of the trials is left out, and the rest are so many windows. Of these the
#: least value counts, what is left when a trial has ended: readings that follow each other are alike.
WARM_UP_SHARE, WINDOWS = 0.2, 16


def read(here: Stage, process: psutil.Process) -> dict[str, float]:
    """Return what a session holds now; memory is its own, without pages of files, which the kernel takes back."""
    with process.oneshot():
        memory = process.memory_info()
        values = {"descriptors": process.num_fds(), "threads": process.num_threads()}
    folders = (here.root / ".cache" / "running", here.root / "tmp")
    events = here.folder.folder / "events.jsonl"
    return {
        **values,
        "memory": memory.rss - memory.shared,
        "files left on disk": sum(size(path) for folder in folders for path in folder.rglob("*")),
        "log a trial": (size(events) + size(here.root.parent / "stderr")) / here.n_finished(),
    }


def size(path: Path) -> int:
    with suppress(OSError):  # it went meanwhile
        return path.lstat().st_size if path.is_file() else 0
    return 0


def growing(series: dict[str, list[tuple[float, float]]]) -> set[str]:
    """Return what grows with the number of trials: the 95 % interval of Theil and Sen's slope is above the limit."""
    grown = set()
    for what, pairs in series.items():
        n, values = np.array(pairs).T
        edges = np.linspace(n.max() * WARM_UP_SHARE, n.max(), WINDOWS + 1)
        windows = [(n >= low) & (n < high) for low, high in pairwise(edges)]
        least = [values[window].min() for window in windows]
        low = stats.theilslopes(least, [n[window].mean() for window in windows], 0.95)[2]
        if 1000 * low > LIMITS[what]:
            grown.add(what)
    return grown


def soak(here: Stage, **changes: dict[str, object]) -> set[str]:
    """Measure ``N_TRIALS`` tiny trials in one session; return what of it grows."""
    here.clear()
    here.start("--blocks", str(N_TRIALS // 2), **changes)
    process, series = psutil.Process(here.process.pid), defaultdict[str, list[tuple[float, float]]](list)
    until = time.monotonic() + patient(900)
    while not here.ended(EVERY_S):
        assert time.monotonic() < until, "the session hangs"
        if done := here.n_finished():
            with suppress(psutil.Error):  # it has ended
                for what, value in read(here, process).items():
                    series[what].append((done, value))
    assert here.process.returncode == 0 and here.folder.complete, here.text("stderr")
    assert here.n_finished() == N_TRIALS and series.keys() == LIMITS.keys()
    return growing(series)


@only_when_long("a session that leaks and one that does not, a hundred trials each")
def test_a_session_that_leaks_is_found() -> None:
    with stage("soak") as here:
        assert soak(here, leaks={}) >= LEAKED
        assert soak(here) <= {"memory"}, "pools still fill"
