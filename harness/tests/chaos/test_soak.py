# SPDX-License-Identifier: Apache-2.0
"""What a session of very many trials holds does not grow with them; one that leaks is found."""

from __future__ import annotations

import time
from collections import defaultdict

from harness.tests.chaos.faults.stage import Stage, stage
from harness.tests.chaos.watch import LIMITS, bytes_below, held, judged
from harness.tests.support.available import only_when_long
from harness.tests.support.patience import patient

N_TRIALS = 100
EVERY_S = 0.25
LEAKED = {"memory", "descriptors", "threads", "files left on disk"}
Series = list[tuple[float, float]]


def soak(here: Stage, *, leaks: bool) -> dict[str, str]:
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
    growths = {what: judged(what, values) for what, values in series.items()}
    return {what: growth for what, growth in growths.items() if growth is not None}


@only_when_long("a session that leaks and one that does not, a hundred trials each")
def test_a_session_that_leaks_is_found() -> None:
    with stage("soak") as here:
        leaking, sound = (soak(here, leaks=leaks) for leaks in (True, False))
    assert {what for what, growth in leaking.items() if growth == "grows"} >= LEAKED
    assert sound.keys() == LIMITS.keys()
    assert {what for what, growth in sound.items() if growth == "grows"} <= {"memory"}, "pools still fill"
