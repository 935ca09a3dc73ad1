# SPDX-License-Identifier: Apache-2.0
"""Processes as instances: command lines, what one tells of its end, and limits of CPU time and memory.

Limits are enforced by a control group where one may be made, and said aloud where none may.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.agent.cgroup import group_folders
from harness.agent.process_tree import read_tree
from harness.agent.processes import read_stat
from harness.errors import HostError, TrialFailure
from harness.measure.runner.outcome import trial_flags
from harness.measure.runner.start_up import wait_first_response
from harness.measure.runner.warm_up import warm_up
from harness.model import InstanceRecord, Outcome, RuntimeSettings, Variant
from harness.places.launchers import cgroup
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.available import needs, patient
from harness.tests.support.instances import Project, eventually
from harness.tests.support.sessions import REPOSITORY

try:
    PARENTS, WHY_NOT = cgroup.find_parents(), None
except HostError as problem:
    PARENTS, WHY_NOT = {}, str(problem)
#: Groups are the kernel's; where we may make none (no root, a container) there is nothing to run.
needs_groups = needs(WHY_NOT)
SMALL = RuntimeSettings(cpus=1, memory_limit="64m")


def test_the_record_holds_command_and_environment_as_started(project: Project) -> None:
    instance = project.launch_variant(
        Variant(implementation="misbehaving", settings={"face": "matched"}, lean=True),
        environment={"SEED": "1"},
        cpus=(min(os.sched_getaffinity(0)),),
    )
    wait_first_response(instance, HELLO, patient(20))
    record = instance.record
    running = Path(f"/proc/{record.pid}/cmdline").read_bytes().split(b"\0")[:-1]
    assert [word.decode() for word in running] == list(record.argv)
    assert record.argv[-2:] == ("--face=matched", "--lean")
    assert record.environment == {"SEED": "1"}
    assert record.cpu_affinity == tuple(os.sched_getaffinity(record.pid))
    assert record.cpu_limit == 1


def test_an_instance_of_a_build_that_is_gone_cannot_be_launched(project: Project) -> None:
    build = project.launcher.build(project.implementation, Variant(implementation="misbehaving"))
    other = build.model_copy(update={"source_sha256": "0" * 64})
    with pytest.raises(TrialFailure, match="gone from the cache") as caught:
        project.launch_variant(Variant(implementation="misbehaving"), build=other)
    assert caught.value.outcome == Outcome.FAILED


def groups_of(record: InstanceRecord) -> set[Path]:
    return {folder for name, folder in group_folders(record.pid).items() if name in ("cpu", "memory", "")}


@needs_groups
def test_a_service_with_a_memory_limit_runs_in_a_group_of_its_own_that_goes_with_it(project: Project) -> None:
    ours = group_folders(os.getpid())
    instance = project.launch_variant(Variant(implementation="misbehaving", runtime=SMALL))
    wait_first_response(instance, HELLO, patient(20))
    limits = instance.record.limits
    assert limits is not None
    assert (limits.why_not, limits.cpu_quota, limits.memory_limit_bytes) == (None, 1.0, 64 * 2**20)
    groups = groups_of(instance.record)
    assert groups and groups.isdisjoint(ours.values())
    stopped = instance.stop().limits
    assert stopped is not None and stopped.at_stop is not None
    assert stopped.out_of_memory is False
    assert stopped.at_stop.n_throttled is not None
    assert (stopped.at_stop.memory_bytes or 0) > 2**20
    assert (stopped.at_stop.rss_bytes or 0) > 2**20
    assert not any(folder.exists() for folder in groups)
    assert instance.stop().limits == stopped


@needs_groups
def test_a_reading_has_for_how_long_its_group_was_denied_cpu() -> None:
    """A loop that may use a twentieth of a CPU is stopped for most of each period."""
    group = cgroup.make_group(PARENTS, cpus=0.05, memory_bytes=64 * 2**20)
    with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as loop:
        try:
            for door in group.doors:
                door.write_text(str(loop.pid))
            stat = read_stat(loop.pid)
            assert stat is not None
            ticks = stat.start_ticks
            assert eventually(lambda: (read_tree(loop.pid, ticks).throttled_s or 0) > 0.1)
        finally:
            loop.kill()
    group.remove()


@needs_groups
def test_a_service_over_its_memory_limit_ran_out_of_memory(project: Project) -> None:
    variant = Variant(implementation="misbehaving", runtime=SMALL, settings={"grow_bytes": 30_000_000})
    instance = project.launch_variant(variant)
    wait_first_response(instance, HELLO, patient(20))
    with pytest.raises(TrialFailure):
        warm_up(instance.endpoint, (HELLO,), 20)
    instance.stop()
    said = instance.out_of_memory()
    assert said == "killed by the kernel: the memory limit of its control group was reached"


@needs_groups
def test_children_that_left_their_process_group_end_with_the_control_group(project: Project) -> None:
    instance = project.launch_variant(Variant(implementation="misbehaving", runtime=SMALL))
    wait_first_response(instance, HELLO, patient(20))
    (folder, *_) = groups_of(instance.record)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stray:
        for door in groups_of(instance.record):
            (door / "cgroup.procs").write_text(str(stray.pid))
        instance.stop()
        assert stray.wait(patient(10)) == -9
    assert not folder.exists()


@needs_groups
def test_what_a_killed_harness_left_is_swept_and_what_a_living_one_has_is_not() -> None:
    alive = cgroup.make_group(PARENTS, cpus=None, memory_bytes=2**26)
    try:
        code = (
            "import os, harness.places.launchers.cgroup as g\n"
            "group = g.make_group(g.find_parents(), cpus=1, memory_bytes=2**26)\n"
            "print(*group.folders.values(), flush=True)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        words = [sys.executable, "-c", code]
        died = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        left = {Path(word) for word in died.stdout.split()}
        assert left and all(folder.is_dir() for folder in left), died.stderr
        assert left <= set(cgroup.sweep_groups())
        assert not any(folder.exists() for folder in left)
        assert all(folder.is_dir() for folder in alive.folders.values())
    finally:
        alive.remove()


def made_up(root: Path, *, version: str, handed_down: str = "cpu memory", groups: str = "a/b") -> Path:
    """A system of that version below ``root``, our process in the group ``groups``."""
    (root / "proc/self").mkdir(parents=True)
    (root / f"proc/{os.getpid()}").mkdir()
    own = root / f"proc/{os.getpid()}/cgroup"
    if version == "v2":
        own.write_text(f"0::/{groups}\n")
        mounts = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        folders = [root / "sys/fs/cgroup" / groups]
    else:
        own.write_text(f"2:memory:/{groups}\n1:cpu:/{groups}\n")
        line = "1 2 0:3 / /sys/fs/cgroup/{0} rw - cgroup cgroup rw,{0}\n"
        mounts = "".join(map(line.format, ("cpu", "memory")))
        folders = [root / "sys/fs/cgroup" / name / groups for name in ("cpu", "memory")]
    (root / "proc/self/mountinfo").write_text(mounts)
    for folder in folders:
        folder.mkdir(parents=True)
        for place in (folder, *folder.parents):
            if place == root / "sys/fs":
                break
            (place / "cgroup.procs").write_text("")
            (place / "cgroup.subtree_control").write_text(handed_down if place != folder else "")
    return root


@pytest.mark.parametrize(
    ("version", "limits"),
    [
        ("v2", {"cpu.max": "25000 100000", "memory.max": "1048576"}),
        ("v1", {"cpu.cfs_quota_us": "25000", "memory.limit_in_bytes": "1048576"}),
    ],
)
def test_a_group_is_beside_ours_or_below(tmp_path: Path, version: str, limits: dict[str, str]) -> None:
    root = made_up(tmp_path, version=version)
    parents = cgroup.find_parents(root)
    group = cgroup.make_group(parents, cpus=0.25, memory_bytes=2**20)
    assert {folder.parent for folder in group.folders.values()} == set(parents.values())
    assert version == "v1" or parents == {"": root / "sys/fs/cgroup/a"}
    assert all((door.parent / "cgroup.procs") == door for door in group.doors)
    files = {path.name: path.read_text() for folder in group.folders.values() for path in folder.iterdir()}
    assert files.items() >= limits.items()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"version": "v2", "handed_down": "pids"}, "no group for CPU and memory may be made beside"),
        ({"version": "none"}, "no control groups are mounted here"),
    ],
)
def test_without_a_group_it_is_pinned_and_says_why(tmp_path: Path, made: dict[str, str], why: str) -> None:
    root = tmp_path if made["version"] == "none" else made_up(tmp_path, **made)
    around = cgroup.enclose(SMALL, None, root)
    assert around.record is not None
    assert around.doors == ()
    assert around.cpus == tuple(sorted(os.sched_getaffinity(0)))[:1]
    assert around.record.enforced_by is None
    assert why in (around.record.why_not or "")
    remark = cgroup.remark_on_limits(SMALL, root) or ""
    assert why in remark
    assert "pinned to 1 CPU(s)" in remark


def test_limits_that_nobody_enforced_are_flagged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_root: Path) -> dict[str, Path]:
        raise HostError("not allowed")

    monkeypatch.setattr("harness.places.launchers.cgroup.find_parents", refused)
    instance = project.launch_variant(Variant(implementation="misbehaving", runtime=SMALL))
    wait_first_response(instance, HELLO, patient(20))
    assert len(os.sched_getaffinity(instance.record.pid)) == 1
    record = instance.stop()
    assert record.limits is not None
    assert record.limits.why_not == "not allowed"
    flags = trial_flags(
        load=None, generator=None, instance=record, machine=None, longest_gap_s=None, phases=(), shared=True,
    )  # fmt: skip
    assert flags == ("limits_not_enforced",)


def test_without_a_memory_limit_nothing_stands_around_a_process() -> None:
    assert cgroup.enclose(RuntimeSettings(cpus=1), (0,)).record is None
    assert cgroup.remark_on_limits(RuntimeSettings(cpus=1)) is None
    assert [cgroup.bytes_of(text) for text in ("64m", "1g", "2K")] == [2**26, 2**30, 2**11]
