# SPDX-License-Identifier: Apache-2.0
"""Facts of a machine, as records have them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import resource
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.agent import cgroup
from harness.agent.platforms import usable_cpus

#: Below this, service, generator and the harness itself cannot each have cores of their own.
CORES_FOR_ALL = 4

#: Name -> file, below the root.
SETTINGS = {
    "sched_autogroup": "proc/sys/kernel/sched_autogroup_enabled",
    "transparent_hugepage": "sys/kernel/mm/transparent_hugepage/enabled",
    "numa_balancing": "proc/sys/kernel/numa_balancing",
    "scaling_governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "smt": "sys/devices/system/cpu/smt/active",
}


def machine_facts() -> dict[str, Any]:
    """Return this machine as ``model.Machine`` has it, as plain data."""
    n_cpus = len(usable_cpus())
    older = "v1" if Path("/sys/fs/cgroup/memory").exists() else "none"
    return {
        "hostname_hash": hostname_hash(),
        "cpu_model": _field(Path("/proc/cpuinfo"), "model name") or platform.machine() or "unknown",
        "n_cpus": n_cpus,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "distribution": _field(Path("/etc/os-release"), "PRETTY_NAME") or platform.system(),
        "cgroup": "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else older,
        "virtualisation": _virtualisation(),
        "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "small": n_cpus < CORES_FOR_ALL,
        "settings": kernel_settings(),
    }


def kernel_settings(root: Path = Path("/")) -> dict[str, str]:
    """Return the settings of the kernel that change what a request costs, by name. ``sched_autogroup`` 1: CPU time is
    shared between sessions of processes."""
    results = {}
    for name, file in SETTINGS.items():
        text = text_of(root / file)
        if text is not None:
            chosen = re.search(r"\[(\S+)\]", text)  # in brackets, where all choices are listed
            results[name] = chosen.group(1) if chosen else text
    return results


def physical_cores(cpus: Iterable[int], system: Path = Path("/sys/devices/system/cpu")) -> list[list[int]]:
    """Return which CPUs share a physical core, one list a core; one of which that is not known stands alone."""
    results = set()
    for cpu in cpus:
        text = text_of(system / f"cpu{cpu}" / "topology" / "thread_siblings_list")
        results.add(tuple(cpu_list(text)) if text else (cpu,))
    return sorted(list(core) for core in results)


def cpu_list(text: str) -> list[int]:
    """``0-2,5`` -> ``[0, 1, 2, 5]``."""
    cpus: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def hostname_hash() -> str:
    """Return a text that tells two machines apart without naming them."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def text_of(path: Path) -> str | None:
    """Return the text of a small file of the kernel; ``None``: there is none."""
    return cgroup.text_of(path).strip() or None


def _field(path: Path, name: str) -> str | None:
    pattern = rf"^{re.escape(name)}\s*[:=]\s*(.+)$"
    match = re.search(pattern, text_of(path) or "", flags=re.MULTILINE)
    return match.group(1).strip().strip('"') if match else None


def _virtualisation() -> str | None:
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "container"
    if "hypervisor" in (_field(Path("/proc/cpuinfo"), "flags") or "").split():
        return text_of(Path("/sys/class/dmi/id/sys_vendor")) or "virtual machine"
    return None
