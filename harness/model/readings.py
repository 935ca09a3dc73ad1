# SPDX-License-Identifier: Apache-2.0
"""What is read of clocks, processes, control groups and machines. Absent is ``None``, never zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from harness.model.base import Frozen

#: Of the measurement's length: more is a noisy machine.
STEAL_SHARE = 0.01
OTHER_CPU_SHARE = 0.10
#: CPUs that were slower by more than this are worth a word.
SLOWED_SHARE = 0.10


class ClockReading(Frozen):
    """Wall and monotonic time read together: joins logs written on either clock."""

    wall_epoch_s: float
    monotonic_s: float


class ResourceReading(Frozen):
    """Resources of one process (tree) at one moment. PSS costs 17 ms, so only at phase boundaries."""

    at: ClockReading
    rss_bytes: int | None
    pss_bytes: int | None
    cpu_s: float | None = Field(description="user + system CPU time since the process started")
    n_threads: int | None
    n_descriptors: int | None
    compile_s: float | None = Field(
        default=None, description="time its JIT compilers spent since it started; None: it is no JVM"
    )
    system_s: float | None = Field(
        default=None, description="the part of cpu_s that the kernel spent for it; None: it was not read"
    )
    wait_s: float | None = Field(
        default=None,
        description="for how long its threads could have run and had no CPU, all together; None: it was not read",
    )


class GroupReading(Frozen):
    """A control group and the service's process, read at one moment. They differ: a group is charged for
    file pages by whoever touched them first, and resident memory counts shared pages once per process."""

    version: Literal["v1", "v2"]
    memory_bytes: int | None = Field(description="charged to the group, file pages included")
    memory_max_bytes: int | None = Field(description="the highest so far, where the kernel keeps it")
    cpu_s: float | None
    n_throttled: int | None
    throttled_s: float | None
    rss_bytes: int | None = Field(description="of the process, as samples have it")
    process_cpu_s: float | None


class MachineWindow(Frozen):
    """The machine during the measurement: reasons to distrust it. ``None``: not to be had here."""

    psi_cpu_some_s: float | None
    psi_memory_some_s: float | None
    psi_io_some_s: float | None
    steal_s: float | None
    idle_s: float | None
    throttled_s: float | None
    n_throttled: int | None
    load_average_1m: float | None
    other_cpu_s: float | None = Field(description="CPU time used by no part of the trial")

    def is_noisy(self, window_s: float) -> bool:
        """Tell whether the hypervisor or other processes took so much of ``window_s`` that the trial is flagged."""
        steal_s, other_s = self.steal_s or 0.0, self.other_cpu_s or 0.0
        return window_s > 0 and (steal_s > STEAL_SHARE * window_s or other_s > OTHER_CPU_SHARE * window_s)


class CpuSpeed(Frozen):
    """How fast one CPU of the service's machine was while the load ran: CPU time of a step of a fixed calculation."""

    cpu: int
    n_readings: int
    step_ns_p05: float = Field(
        description="of all readings; near the CPU's full speed unless it never had it"
    )
    step_ns_p50: float
    step_ns_mean: float


def slowed_share(read: Sequence[CpuSpeed]) -> float | None:
    """Return by how much the slowest CPU was slower than in its fastest readings; ``None``: none could be read.

    CPUs that were slow all the time do not show it here.
    """
    return max((one.step_ns_mean / one.step_ns_p05 - 1 for one in read if one.step_ns_p05 > 0), default=None)


class HostClock(Frozen):
    """A far host's clocks held against those of the machine that the harness runs on.

    Offsets are far minus here. The true ones lie within ``uncertainty_s``, half the round trip of the
    quickest of the questions.
    """

    role: Literal["service", "load", "further load", "database"] = "service"
    host: str
    at: ClockReading = Field(description="when they were compared, here")
    wall_offset_s: float
    monotonic_offset_s: float
    uncertainty_s: float
    round_trip_s: float
    n_questions: int
