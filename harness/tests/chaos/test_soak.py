# SPDX-License-Identifier: Apache-2.0
"""What a session of very many trials holds does not grow with them; one that leaks is found."""

from __future__ import annotations

import random
import time
from collections import defaultdict

import pytest

from harness.tests.chaos.faults.stage import Stage, stage
from harness.tests.chaos.watch import LIMITS, Growth, bytes_below, growth, held
from harness.tests.support.available import only_when_long
from harness.tests.support.patience import patient

N_TRIALS = 100
EVERY_S = 0.25
LEAKED = {"memory", "descriptors", "threads", "files left on disk"}
Series = list[tuple[float, float]]


def soak(here: Stage, *, leaks: bool) -> dict[str, Growth]:
    """Measure ``N_TRIALS`` tiny trials in one session; return how what it holds grows.

    ``leaks``: each trial leaves memory, a descriptor, a thread and a file behind: the control.
    """
    here.forget()
    session = here.start("--blocks", str(N_TRIALS // 2), changes={"leaks": {}} if leaks else {})
    series: defaultdict[str, Series] = defaultdict(list)
    events = here.folder.folder / "events.jsonl"
    until = time.monotonic() + patient(900)
    try:
        while not session.ended(EVERY_S):
            assert time.monotonic() < until, "the session hangs"
            done, values = here.n_finished(), held(session.process.pid)
            if not done or values is None or not events.is_file():
                continue
            values["files left on disk"] = bytes_below((here.root / ".cache" / "running", here.root / "tmp"))
            values["log a trial"] = (len(session.stderr) + events.stat().st_size) / done
            for what, value in values.items():
                series[what].append((done, value))
    finally:
        session.kill()
    assert session.code == 0 and here.folder.complete, session.stderr
    records = list(here.folder.records())
    assert len(records) == N_TRIALS
    series["record of a trial"] = [
        (float(n), float(len(record.model_dump_json()))) for n, record in enumerate(records, 1)
    ]
    growths = [growth(what, values) for what, values in series.items()]
    return {one.what: one for one in growths if one is not None}


@only_when_long("a session that leaks and one that does not, a hundred trials each")
def test_a_session_that_leaks_is_found() -> None:
    with stage("soak") as here:
        leaking, sound = (
            {what: one.judged for what, one in soak(here, leaks=leaks).items()} for leaks in (True, False)
        )
    assert {what for what, judged in leaking.items() if judged == "grows"} >= LEAKED
    assert sound.keys() == LIMITS.keys()
    assert {what for what, judged in sound.items() if judged == "grows"} <= {"memory"}, "pools still fill"


def noisy_series(slope: float, n: int = 4000) -> Series:
    """Values that go up and down, each near the one before it."""
    rng, off, made = random.Random(5), 0.0, []
    for i in range(n):
        off = 0.5 * off + rng.gauss(0, 3.0)
        made.append((float(i), 100 + slope * i + off))
    return made


@pytest.mark.parametrize(
    ("slope", "judged"),
    [(0.0, "flat"), (0.001, "undecided"), (0.02, "grows"), (1.0, "grows"), (-0.02, "flat")],
)
def test_a_leak_is_told_from_noise(slope: float, judged: str) -> None:
    seen = growth("descriptors", noisy_series(slope))
    assert seen is not None and seen.judged == judged
    assert seen.low <= seen.per_1000_trials <= seen.high
    assert seen.per_1000_trials == pytest.approx(1000 * slope, abs=1)
