# SPDX-License-Identifier: Apache-2.0
"""The machine's counters from made-up trees of /proc and /sys: both versions of control groups, and absences."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.agent.machine_counters import MachineReader, MachineReading, read_machine
from harness.agent.machine_info import SETTINGS, kernel_settings
from harness.places.sampling import machine_window

V1_MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V2_MOUNTS = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_STAT = "nr_periods 40\nnr_throttled 7\nthrottled_time 1500000000\n"
V2_STAT = "usage_usec 9000\nuser_usec 1\nnr_periods 40\nnr_throttled 3\nthrottled_usec 250000\n"


def lay_out(root: Path, **files: str) -> Path:
    """Write files; in their names two underscores are a slash."""
    for name, text in files.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def group(root: Path, path: str, text: str) -> None:
    folder = root / "sys/fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.stat").write_text(text)


def throttled(root: Path) -> tuple[int | None, float | None]:
    reading = read_machine(root)
    return reading.n_throttled, reading.throttled_s


def test_version_1_counts_nanoseconds(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        proc__self__cgroup="4:memory:/m\n1:cpu,cpuacct:/job/a\n0::/\n",
        proc__self__mountinfo=V1_MOUNTS,
    )
    group(tmp_path, "cpu,cpuacct/job/a", V1_STAT)
    (tmp_path / "sys/fs/cgroup/unified").mkdir()
    assert throttled(tmp_path) == (7, 1.5)


def test_a_limit_above_our_own_group_counts_too(tmp_path: Path) -> None:
    lay_out(tmp_path, proc__self__cgroup="0::/pod/box\n", proc__self__mountinfo=V2_MOUNTS)
    group(tmp_path, "pod/box", "usage_usec 1\nnr_throttled 0\nthrottled_usec 0\n")
    group(tmp_path, "pod", V2_STAT)
    group(tmp_path, "", "usage_usec 1\n")
    assert throttled(tmp_path) == (3, 0.25)


def test_in_a_container_the_path_of_the_host_is_not_there(tmp_path: Path) -> None:
    mounts = V2_MOUNTS.replace(" / /sys", " /docker/abc /sys")
    lay_out(tmp_path, proc__self__cgroup="0::/docker/abc\n", proc__self__mountinfo=mounts)
    group(tmp_path, "", V2_STAT)
    assert throttled(tmp_path) == (3, 0.25)


@pytest.mark.parametrize("groups", ["", "0::/\n", "1:cpu:/a\n"])
def test_no_counting_group_is_none_and_not_zero(tmp_path: Path, groups: str) -> None:
    lay_out(tmp_path, proc__self__cgroup=groups, proc__self__mountinfo=V2_MOUNTS)
    group(tmp_path, "", "usage_usec 1\n")
    assert throttled(tmp_path) == (None, None)


def test_counters_of_the_machine_are_read_in_seconds(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        proc__stat="cpu  100 10 200 5000 50 3 7 42 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 1\n",
        proc__loadavg="0.75 0.5 0.25 1/100 4242\n",
        proc__pressure__cpu="some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000\nfull avg10=0.00 total=1\n",
        proc__pressure__memory="some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    )
    reading = read_machine(tmp_path)
    assert reading.total_cpu_s == pytest.approx(3.2)
    assert (reading.idle_s, reading.steal_s) == (50.5, 0.42)
    assert (reading.psi_cpu_some_s, reading.psi_memory_some_s, reading.psi_io_some_s) == (2.5, 0.0, None)
    assert reading.load_average_1m == 0.75


def test_the_machine_tells_that_something_was_begun(tmp_path: Path) -> None:
    lay_out(tmp_path, proc__stat="cpu  1 2 3 4 5 6 7 8 9 0\nintr 1\nprocesses 17\nprocs_running 1\n")
    made_up, here, nothing = MachineReader(tmp_path), MachineReader(), MachineReader(tmp_path / "nothing")
    made_up.read(), here.read(), nothing.read()
    assert (made_up.n_begun, nothing.n_begun) == (17, None)
    before = here.n_begun
    subprocess.run([sys.executable, "-c", ""], check=True)
    here.read()
    assert before is not None and here.n_begun is not None and here.n_begun > before


def reading_of(total_cpu_s: float | None, psi: float | None = None) -> MachineReading:
    return MachineReading(0.0, psi, None, None, 1.0, None, total_cpu_s, 2.0, 4, 0.5)


def test_the_window_is_the_difference_and_other_cpu_is_what_is_left() -> None:
    window = machine_window(reading_of(10.0, 1.0), reading_of(16.0, 1.5), 3.0, 2.0)
    assert (window.psi_cpu_some_s, window.steal_s, window.n_throttled) == (0.5, 0.0, 0)
    assert window.other_cpu_s == pytest.approx(1.0)
    assert window.load_average_1m == 2.0
    assert machine_window(reading_of(1.0, None), reading_of(2.0, 1.0), None, 0.5).psi_cpu_some_s is None
    assert machine_window(reading_of(None), reading_of(2.0), 0.5, 0.5).other_cpu_s is None
    assert machine_window(reading_of(1.0), reading_of(2.0), 0.6, 0.41).other_cpu_s == 0.0, "coarse counters"


def test_settings_are_told_as_the_kernel_has_them_and_left_out_where_it_has_none(tmp_path: Path) -> None:
    said = {"sched_autogroup": "0\n", "transparent_hugepage": "always [madvise] never\n"}
    for name, text in said.items():
        file = tmp_path / SETTINGS[name]
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert kernel_settings(tmp_path) == {"sched_autogroup": "0", "transparent_hugepage": "madvise"}
    assert kernel_settings(tmp_path / "nothing") == {}
