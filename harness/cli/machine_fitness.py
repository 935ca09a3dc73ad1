# SPDX-License-Identifier: Apache-2.0
"""How quiet a machine is, and what makes it less fit than it could be: the same words for this one and a far one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.agent.machine_counters import MachineReading
    from harness.toolchains import Jdk

#: How long steal and pressure are watched.
WATCHED_S = 1.0
#: A hundred keep-alive users, the service's side of them, logs and libraries.
DESCRIPTORS_WANTED = 4096
_BUSY_SHARE = 0.1
#: Readings of the speed of each CPU: less than a hundredth of its time.
SPEEDS_PER_S = 50.0


def shares(
    before: MachineReading, after: MachineReading, took_s: float, n_cpus: int
) -> dict[str, float | None]:
    """Return what happened between two readings, as shares of the time."""

    def per_s(name: str, cores: int) -> float | None:
        then, now = getattr(before, name), getattr(after, name)
        return None if then is None or now is None else max(0.0, now - then) / took_s / cores

    return {
        "busy_share": per_s("total_cpu_s", n_cpus),
        "steal_share": per_s("steal_s", n_cpus),
        "cpu_pressure_share": per_s("psi_cpu_some_s", 1),
        "memory_pressure_share": per_s("psi_memory_some_s", 1),
        "io_pressure_share": per_s("psi_io_some_s", 1),
        "load_average_1m": after.load_average_1m,
    }


def watch(
    read: Callable[[], MachineReading], host: Any, cpus: Collection[int], n_cpus: int
) -> dict[str, float | None]:
    """Return the shares of a machine's CPU time over ``WATCHED_S``, and by how much its CPUs are slowed.

    Args:
        read: its counters. host: has its ``speed_meter``. cpus: those that are watched.
    """
    from harness.model.started import slowed_share  # --help needs no models

    before, began = read(), time.monotonic()
    meter = host.speed_meter(cpus, per_s=SPEEDS_PER_S * len(cpus))
    time.sleep(WATCHED_S)
    speeds = meter.stop()
    quiet = shares(before, read(), time.monotonic() - began, n_cpus)
    return quiet | {"slowed_share": slowed_share(speeds)}


def machine_words(machine: Mapping[str, Any]) -> str:
    """Return processors, memory and system of a machine in one line."""
    return (
        f"{machine['n_cpus']} CPUs ({machine['cpu_model']}), {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['distribution']}, kernel {machine['kernel']}, cgroup {machine['cgroup']}"
    )


def jdks_as_plain(jdks: Iterable[Jdk]) -> list[dict[str, str | None]]:
    """Return JDKs as they stand in JSON."""
    return [{"version": jdk.version, "vendor": jdk.vendor, "home": str(jdk.home)} for jdk in jdks]


def is_busy(quiet: Mapping[str, float | None]) -> bool:
    """Tell whether so much else runs that a measurement now would be one of that, too."""
    return (quiet["busy_share"] or 0) > _BUSY_SHARE


def quiet_in_words(quiet: Mapping[str, float | None]) -> str:
    """Return the shares in one line; a share is at most 100 %, whatever two clocks made of it."""
    notes = []
    for name, value in quiet.items():
        if name.endswith("_share"):
            share = "unknown" if value is None else f"{min(value, 1.0):.1%}"
            notes.append(f"{name.removesuffix('_share').replace('_', ' ')} {share}")
    return ", ".join(notes)


def remarks_on(n_cpus: int, small: bool, descriptors: int, quiet: dict[str, float | None]) -> list[str]:
    """Return what makes a machine less fit than it could be."""
    from harness.model.started import SLOWED_SHARE  # --help needs no models

    remarks: list[str] = []
    if small:
        remarks.append(
            f"{n_cpus} CPUs: service and load generator share them; good for smoke and quick, not for full"
        )
    if is_busy(quiet):
        remarks.append(
            f"{min(quiet['busy_share'] or 0, 1.0):.0%} of CPU time is in use; stop other processes before measuring"
        )
    if (quiet["steal_share"] or 0) > 0.01:
        remarks.append(
            f"{quiet['steal_share']:.1%} of the CPU time goes to other guests of this host (steal)"
        )
    if not is_busy(quiet) and (quiet.get("slowed_share") or 0) > SLOWED_SHARE:  # else it is what runs here
        remarks.append(
            f"its CPUs are {quiet['slowed_share']:.0%} slower than at their best, as where another guest of this host "
            "uses the same cores; steal does not show it, and trials at another speed than the others will be left out"
        )
    if descriptors < DESCRIPTORS_WANTED:
        remarks.append(f"only {descriptors} open files allowed: raise it with ulimit -n {DESCRIPTORS_WANTED}")
    return remarks
