# SPDX-License-Identifier: Apache-2.0
"""This machine's tools and how idle it is; and the words for any machine, also a far one."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from harness.agent.machine_counters import MachineReading
from harness.agent.machine_counters import read_machine as read_counters
from harness.agent.platforms import usable_cpus
from harness.cli.lines import say
from harness.cli.options import fields_of
from harness.hosts.local import LocalHost
from harness.launchers.container import engine_on
from harness.model.started import SLOWED_SHARE, slowed_share
from harness.project import find_root
from harness.provenance import read_machine
from harness.toolchains import Jdk, Surroundings, find_all, find_jdks, lacking_packages

#: How long steal and pressure are watched.
WATCHED_S = 1.0
#: A hundred keep-alive users, the service's side of them, logs and libraries.
DESCRIPTORS_WANTED = 4096
_BUSY_SHARE = 0.1
#: Readings of the speed of each CPU: less than a hundredth of its time.
_SPEEDS_PER_S = 50.0
Shares = Mapping[str, float | None]


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
    before, began = read(), time.monotonic()
    meter = host.speed_meter(cpus, per_s=_SPEEDS_PER_S * len(cpus))
    time.sleep(WATCHED_S)
    speeds = meter.stop()
    return shares(before, read(), time.monotonic() - began, n_cpus) | {"slowed_share": slowed_share(speeds)}


def machine_words(machine: Mapping[str, Any]) -> str:
    """Return processors, memory and system of a machine in one line."""
    return (
        f"{machine['n_cpus']} CPUs ({machine['cpu_model']}), {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['distribution']}, kernel {machine['kernel']}, cgroup {machine['cgroup']}, "
        f"{machine['descriptor_limit']} open files"
    )


def jdks_as_plain(jdks: Iterable[Jdk]) -> list[dict[str, str | None]]:
    """Return JDKs as they stand in JSON."""
    return [{"version": jdk.version, "vendor": jdk.vendor, "home": str(jdk.home)} for jdk in jdks]


def is_busy(quiet: Shares) -> bool:
    """Tell whether so much else runs that a measurement now would be one of that, too."""
    return (quiet["busy_share"] or 0) > _BUSY_SHARE


def quiet_in_words(quiet: Shares) -> str:
    """Return the shares in one line; a share is at most 100 %, whatever two clocks made of it."""
    notes = []
    for name, value in quiet.items():
        if name.endswith("_share"):
            share = "unknown" if value is None else f"{min(value, 1.0):.1%}"
            notes.append(f"{name.removesuffix('_share').replace('_', ' ')} {share}")
    return ", ".join(notes)


def remarks_on(n_cpus: int, small: bool, descriptors: int, quiet: Shares) -> list[str]:
    """Return what makes a machine less fit than it could be."""
    remarks: list[str] = []
    if small:
        remarks.append(
            f"{n_cpus} CPUs: service and load generator share them; good for smoke and quick, not for full"
        )
    if is_busy(quiet):
        remarks.append(f"{_busy(quiet)} of CPU time is in use; stop other processes before measuring")
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


def _busy(quiet: Shares) -> str:
    return f"{min(quiet['busy_share'] or 0, 1.0):.0%}"


def busy_warning(effect: str = "expect wide intervals and no verdict") -> str | None:
    """Return a warning where other programs use much of this machine now, else ``None``."""
    quiet = _watch(os.cpu_count() or 1)
    if not is_busy(quiet):
        return None
    return (
        f"warning: other programs use {_busy(quiet)} of the CPU time (load average "
        f"{quiet['load_average_1m'] or 0.0:.1f}). Loads run beside them: wait until they have ended, or {effect}"
    )


def _watch(n_cpus: int) -> dict[str, float | None]:
    return watch(read_counters, LocalHost(), usable_cpus(), n_cpus)


def check_here(*, as_json: bool) -> bool:
    """Print what this machine can do; return whether it has what measuring takes."""
    result = _look()
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print(result)
    return bool(result["fit_for"]["measuring"])


def _look() -> dict[str, Any]:
    around = Surroundings(project=find_root())
    tools = find_all(around)
    engine, no_engine = engine_on(LocalHost(), around.project)
    machine = read_machine()
    quiet = _watch(machine.n_cpus)
    lacking = [tool.name for tool in tools if tool.required and not tool.usable]
    return {
        "machine": machine.model_dump(),
        "packages_missing": lacking_packages(),
        "containers": {"engine": engine, "reason": no_engine},
        "quiet": quiet,
        "jdks": jdks_as_plain(find_jdks(around)),
        "tools": [
            fields_of(tool, "name", "state", "version", "why", "required")
            | {"how_to_get": None if tool.usable else tool.how_to_get}
            for tool in tools
        ],
        "fit_for": {
            "measuring": not lacking and machine.descriptor_limit >= DESCRIPTORS_WANTED // 4,
            "full": not lacking and not machine.small,
            "lacking": lacking,
            "remarks": remarks_on(machine.n_cpus, machine.small, machine.descriptor_limit, quiet),
        },
    }


def _print(result: dict[str, Any]) -> None:
    machine, containers = result["machine"], result["containers"]
    say(verdict(result), hang="  ")
    for remark in result["fit_for"]["remarks"]:
        say(f"- {remark}", hang="  ")
    print()
    jdks = ", ".join(f"{jdk['version']} ({jdk['vendor'] or 'unknown vendor'})" for jdk in result["jdks"])
    ready = [
        " ".join(filter(None, (tool["name"], _version(tool))))
        for tool in result["tools"]
        if tool["state"] == "ok"
    ]
    for line in (
        f"machine: {machine_words(machine)}, virtualisation {machine['virtualisation'] or 'none seen'}",
        f"over {WATCHED_S:.0f} s: {quiet_in_words(result['quiet'])}",
        f"JDKs, the preferred one first: {jdks or 'none'}",
        f"ready: {', '.join(ready) or 'no tool'}",
        f"containers: {containers['engine'] or 'unavailable: ' + containers['reason']}",
    ):
        say(line, hang="  ")
    _print_missing([tool for tool in result["tools"] if tool["state"] != "ok"])
    if result["packages_missing"]:
        print("\nPython packages of measuring, not installed:")
        for name, why in result["packages_missing"].items():
            say(f"{name}: {why}", indent="  ", hang="    ")
        say("install with: make setup", indent="    ")


def verdict(result: dict[str, Any]) -> str:
    """Return what this machine is ready for, in one sentence or two."""
    fit, machine = result["fit_for"], result["machine"]
    if fit["lacking"]:
        return (
            f"Not ready: {', '.join(fit['lacking'])} must be installed first. "
            "Reports, comparisons and notebooks need none of it."
        )
    if not fit["measuring"]:
        return f"Not ready: only {machine['descriptor_limit']} open files are allowed."
    ready = (
        "smoke, quick and full."
        if fit["full"]
        else "smoke and quick, not for full: it needs a larger machine."
    )
    if is_busy(result["quiet"]):
        return f"Not now: {_busy(result['quiet'])} of the CPU time is in use. Otherwise ready for {ready}"
    return f"Ready for {ready}"


def _version(tool: dict[str, Any]) -> str:
    """The first word of the version: what a vendor adds to it is in the JSON."""
    words = (tool["version"] or "").replace("latexmk ", "").split()
    return words[0] if words else ""


def _print_missing(missing: list[dict[str, Any]]) -> None:
    for required, head in ((True, "required, not usable:"), (False, "optional, not usable:")):
        tools = [tool for tool in missing if tool["required"] is required]
        if tools:
            print(f"\n{head}")
        for tool in tools:
            say(f"{tool['name']} ({tool['state']}): {tool['why']}", indent="  ", hang="    ")
            say(f"install with: {tool['how_to_get'] or 'unknown'}", indent="    ", hang="      ")
