# SPDX-License-Identifier: Apache-2.0
"""A real JVM compiles when it does; its loads are offered again by what its own counters say, and by nothing else."""

from __future__ import annotations

from pathlib import Path

from harness.model import Outcome
from harness.tests.support.real_projects import NAME, load, measured, project_of

#: So little that hardly any load of a young JVM is below it.
SHARE, REPEATS = 0.0005, 2
WARM_UP = f"""
[profiles.smoke.warm_up]
generator = "wrk"
users = 2
n_windows = 2
tolerance = 0.9
compile_share = {SHARE}
at_most_s = 4
repeats = {REPEATS}
"""


def test_each_load_that_does_not_count_compiled_for_too_long_and_the_one_that_does_is_the_last(
    tmp_path: Path,
) -> None:
    told = 'face = "matched", craft = "idiomatic"'
    root = project_of(
        tmp_path, "strings", {"go-nethttp": told, "java-jdkhttp": told},
        mix="hello", loads={"busy": load("wrk", "users = 2, duration_s = 1")}, echo=False,
    )  # fmt: skip
    with (root / "harness" / "experiments" / f"{NAME}.toml").open("a") as definition:
        definition.write(WARM_UP)
    folder = measured(root, duplicates=False)
    assert folder.verify() == ()
    for record in folder.records():
        assert record.outcome == Outcome.OK and record.load is not None, record.reason
        is_jvm = record.planned.configuration.variant_name != "go-nethttp"
        assert record.warm_up is not None and record.warm_up.windows
        for window in record.warm_up.windows:
            assert window.n_requests > 0 and window.n_errors == 0
            assert window.cpu_s is not None and window.cpu_s > 0
            assert (window.compile_s is not None) == is_jvm
        at = {one.name: one.reading.compile_s for one in record.boundaries}
        before, after = at["before-load"], at["after-load"]
        if not is_jvm:
            assert (before, after, record.earlier_loads) == (None, None, ())
            continue
        assert before is not None and after is not None
        for earlier in record.earlier_loads:
            assert earlier.compile_s is not None and earlier.compile_s > SHARE * earlier.duration_s
            assert earlier.n_requests > 0
            for kept in ("wrk.json", "boundary-before-load.prom", "boundary-after-load.prom"):
                assert folder.has(record.planned.trial_id, f"{earlier.folder}/{kept}"), kept
        if len(record.earlier_loads) < REPEATS:
            assert after - before <= SHARE * record.load.duration_s
