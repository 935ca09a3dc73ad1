# SPDX-License-Identifier: Apache-2.0
"""This machine's tools and how idle it is; and the words for any machine, also a far one."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from harness.agent.platforms import usable_cpus
from harness.cli.options import fields_of, say
from harness.model.started import SLOWED_SHARE, slowed_share
from harness.places.hosts.local import LocalHost
from harness.places.launchers.container import engine_on
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
#: Share of the time -> the counter of a machine that it is of; that of pressure counts for all CPUs together.
_COUNTERS = {
    "busy_share": "total_cpu_s",
    "steal_share": "steal_s",
    "cpu_pressure_share": "psi_cpu_some_s",
    "memory_pressure_share": "psi_memory_some_s",
    "io_pressure_share": "psi_io_some_s",
}
Shares = Mapping[str, float | None]


def watch(host: Any, cpus: Collection[int], n_cpus: int) -> dict[str, float | None]:
    """Return the shares of a host's CPU time over ``WATCHED_S``, and by how much its ``cpus`` are slowed."""
    before, began = host.machine(), time.monotonic()
    meter = host.speed_meter(cpus, per_s=_SPEEDS_PER_S * len(cpus))
    time.sleep(WATCHED_S)
    slowed = slowed_share(meter.stop())
    after, took_s = host.machine(), time.monotonic() - began
    quiet: dict[str, float | None] = {}
    for share, counter in _COUNTERS.items():
        ends = getattr(before, counter), getattr(after, counter)
        cores = 1 if counter.startswith("psi") else n_cpus
        quiet[share] = None if None in ends else max(0.0, ends[1] - ends[0]) / took_s / cores
    return quiet | {"load_average_1m": after.load_average_1m, "slowed_share": slowed}


def busy_warning(effect: str = "expect wide intervals and no verdict") -> str | None:
    """Return a warning where other programs use much of this machine now, else ``None``."""
    quiet = watch(LocalHost(), usable_cpus(), os.cpu_count() or 1)
    return (busy := _busy(quiet)) and (
        f"warning: other programs use {busy} of the CPU time (load average {quiet['load_average_1m'] or 0.0:.1f}). "
        f"Loads run beside them: wait until they have ended, or {effect}"
    )


def _busy(quiet: Shares) -> str | None:
    """The share of CPU time in use, where it is so much that a measurement now would be one of that, too."""
    share = quiet["busy_share"] or 0
    return f"{min(share, 1.0):.0%}" if share > _BUSY_SHARE else None


def remarks_on(n_cpus: int, small: bool, descriptors: int, quiet: Shares) -> list[str]:
    """Return what makes a machine less fit than it could be."""
    slowed, busy = quiet.get("slowed_share") or 0, _busy(quiet)
    remarks = (
        (
            small,
            f"{n_cpus} CPUs: service and load generator share them; good for smoke and quick, not for full",
        ),
        (busy, f"{busy} of CPU time is in use; stop other processes before measuring"),
        (
            (quiet["steal_share"] or 0) > 0.01,
            f"{quiet['steal_share'] or 0:.1%} of the CPU time goes to other guests of this host (steal)",
        ),
        (
            busy is None and slowed > SLOWED_SHARE,  # else it is what runs here
            f"its CPUs are {slowed:.0%} slower than at their best, as where another guest of this host uses the same "
            "cores; steal does not show it, and trials at another speed than the others will be left out",
        ),
        (
            descriptors < DESCRIPTORS_WANTED,
            f"only {descriptors} open files allowed: raise it with ulimit -n {DESCRIPTORS_WANTED}",
        ),
    )
    return [text for holds, text in remarks if holds]


def jdks_as_plain(jdks: Iterable[Jdk]) -> list[dict[str, str | None]]:
    """Return JDKs as they stand in JSON."""
    return [{"version": jdk.version, "vendor": jdk.vendor, "home": str(jdk.home)} for jdk in jdks]


def print_checked(
    headline: str, remarks: Sequence[str], name: str, result: Mapping[str, Any], *facts: str
) -> None:
    """Print what a machine is fit for, what makes it less fit, and facts; a share is at most 100 %, whatever two clocks
    made of it."""
    say(headline, hang="  ")
    for remark in remarks:
        say(f"- {remark}", hang="  ")
    print()
    machine = result["machine"]
    say(
        f"{name}: {machine['n_cpus']} CPUs ({machine['cpu_model']}), {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['distribution']}, kernel {machine['kernel']}, cgroup {machine['cgroup']}, "
        f"{machine['descriptor_limit']} open files, virtualisation {machine['virtualisation'] or 'none seen'}",
        hang="  ",
    )
    for fact in (f"over {WATCHED_S:.0f} s: {quiet_in_words(result['quiet'])}", *facts):
        say(fact, hang="  ")


def quiet_in_words(quiet: Shares) -> str:
    """Return the shares in one line."""
    shares = {name: value for name, value in quiet.items() if name.endswith("_share")}
    return ", ".join(
        f"{name.removesuffix('_share').replace('_', ' ')} {'unknown' if value is None else f'{min(value, 1.0):.1%}'}"
        for name, value in shares.items()
    )


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
    quiet = watch(LocalHost(), usable_cpus(), machine.n_cpus)
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
    containers = result["containers"]
    jdks = ", ".join(f"{jdk['version']} ({jdk['vendor'] or 'unknown vendor'})" for jdk in result["jdks"])
    # what a vendor adds to the first word of a version is in the JSON
    versions = {
        tool["name"]: (tool["version"] or "").replace("latexmk ", "").split()[:1]
        for tool in result["tools"]
        if tool["state"] == "ok"
    }
    ready = ", ".join(" ".join((name, *version)) for name, version in versions.items())
    print_checked(
        _verdict(result), result["fit_for"]["remarks"], "machine", result,
        f"JDKs, the preferred one first: {jdks or 'none'}",
        f"ready: {ready or 'no tool'}",
        f"containers: {containers['engine'] or 'unavailable: ' + containers['reason']}",
    )  # fmt: skip
    print_missing([tool for tool in result["tools"] if tool["state"] != "ok"])
    if result["packages_missing"]:
        print("\nPython packages of measuring, not installed:")
        for name, why in result["packages_missing"].items():
            say(f"{name}: {why}", indent="  ", hang="    ")
        say("install with: make setup", indent="    ")


def _verdict(result: dict[str, Any]) -> str:
    """What this machine is ready for, in one sentence or two."""
    fit, quiet = result["fit_for"], result["quiet"]
    if fit["lacking"]:
        return (
            f"Not ready: {', '.join(fit['lacking'])} must be installed first. "
            "Reports, comparisons and notebooks need none of it."
        )
    if not fit["measuring"]:
        return f"Not ready: only {result['machine']['descriptor_limit']} open files are allowed."
    larger = "smoke and quick, not for full: it needs a larger machine."
    ready = "smoke, quick and full." if fit["full"] else larger
    if busy := _busy(quiet):
        return f"Not now: {busy} of the CPU time is in use. Otherwise ready for {ready}"
    return f"Ready for {ready}"


def print_missing(missing: Sequence[Mapping[str, Any]]) -> None:
    """Print tools that cannot be used, the required ones first, with what for and how each is installed."""
    for required, head in ((True, "required, not usable:"), (False, "optional, not usable:")):
        tools = [tool for tool in missing if tool["required"] is required]
        if tools:
            print(f"\n{head}")
        for tool in tools:
            say(f"{tool['name']} ({tool['state']}): {tool['why']}", indent="  ", hang="    ")
            say(f"install with: {tool['how_to_get'] or 'unknown'}", indent="    ", hang="      ")
