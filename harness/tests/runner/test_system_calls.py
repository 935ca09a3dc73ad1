# SPDX-License-Identifier: Apache-2.0
"""System calls are counted in a load of their own, or the record has the reason why they were not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from harness.measure.runner.load_phase import CALLS, counts_of
from harness.model import Outcome
from harness.store import SessionFolder
from harness.tests.support.sessions import calm_alone, make_session_project, measure_tiny

#: As perf writes it: a comment, an empty line, then a line for each event.
PERF = """# started on Sat Nov 28 19:00:00 2026

1000,,raw_syscalls:sys_enter,2001234567,100.00,,
400,,syscalls:sys_enter_read,2001234567,100.00,,
0,,syscalls:sys_enter_poll,2001234567,100.00,,
<not supported>,,syscalls:sys_enter_futex,0,100.00,,
"""


def test_all_calls_come_first_and_what_was_not_counted_is_left_out() -> None:
    assert list(counts_of(PERF).items()) == [("all", 1000), ("read", 400)]
    assert counts_of("perf: no permission\n") == {}


def counting_session(root: Path) -> SessionFolder:
    calm_alone(make_session_project(root))
    file = root / "harness" / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace("[profiles.smoke]\n", "[profiles.smoke]\nsystem_calls = true\n"))
    return measure_tiny(root)


def test_a_trial_has_the_calls_of_its_service_or_why_there_are_none(tmp_path: Path) -> None:
    event = ("-e", "raw_syscalls:sys_enter")
    try:
        tried = subprocess.run(
            ("unshare", "-m", "perf", "stat", *event, "true"), capture_output=True, check=False
        )
        can_count = tried.returncode == 0
    except OSError:
        can_count = False
    folder = counting_session(tmp_path)
    for record in folder.records():
        assert record.outcome == Outcome.OK
        assert not (folder.folder / record.planned.trial_id / CALLS).exists()
        assert record.load is not None and record.load.n_requests == 10, "the other load counts"
        counted = record.extra["system_calls"]
        assert isinstance(counted, dict)
        if not can_count:
            assert set(counted) == {"unavailable"} and counted["unavailable"]
            continue
        calls: Any = counted["calls"]
        n_requests: Any = counted["n_requests"]
        assert n_requests > 10
        assert calls["all"] >= 2 * n_requests, "it reads and it writes"
        assert calls["all"] >= sum(n for name, n in calls.items() if name != "all") > n_requests
