# SPDX-License-Identifier: Apache-2.0
"""What this machine can do and how idle it is, in words and for programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from harness.agent.platforms import usable_cpus
from harness.cli.lines import say
from harness.cli.machine_fitness import (
    DESCRIPTORS_WANTED,
    WATCHED_S,
    is_busy,
    jdks_as_plain,
    machine_words,
    quiet_in_words,
    remarks_on,
    watch,
)
from harness.hosts.local import LocalHost
from harness.launchers.docker_engine import engine_on
from harness.project import find_root
from harness.provenance import read_machine
from harness.sampling import readers_here, tick_source_here
from harness.toolchains import Surroundings, find_all, find_jdks, lacking_packages


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
    containers = _containers(around.project)
    glancer, why_not_native = tick_source_here()
    machine = read_machine()
    quiet = _watch(machine.n_cpus)
    lacking = [tool.name for tool in tools if tool.required and not tool.usable]
    return {
        "machine": machine.model_dump(),
        "packages_missing": lacking_packages(),
        "containers": containers,
        "sampling": {"ticks_by": glancer.name, "reason": why_not_native},
        "quiet": quiet,
        "jdks": jdks_as_plain(find_jdks(around)),
        "tools": [
            {
                "name": tool.name,
                "state": tool.state,
                "version": tool.version,
                "why": tool.why,
                "required": tool.required,
                "how_to_get": None if tool.usable else tool.how_to_get,
            }
            for tool in tools
        ],
        "fit_for": {
            "measuring": not lacking and machine.descriptor_limit >= DESCRIPTORS_WANTED // 4,
            "full": not lacking and not machine.small,
            "lacking": lacking,
            "remarks": remarks_on(machine.n_cpus, machine.small, machine.descriptor_limit, quiet),
        },
    }


def _containers(root: Path) -> dict[str, str | None]:
    """The daemon that answers, or why none does."""
    engine, reason = engine_on(LocalHost(), root)
    return {"engine": engine, "reason": reason}


def busy_warning(effect: str = "expect wide intervals and no verdict") -> str | None:
    """Return a warning where other programs use much of this machine now; ``None``: they do not."""
    quiet = _watch(os.cpu_count() or 1)
    if not is_busy(quiet):
        return None
    share, load = min(quiet["busy_share"] or 0, 1.0), quiet["load_average_1m"] or 0.0
    return (
        f"warning: other programs use {share:.0%} of the CPU time (load average {load:.1f}). Loads run beside "
        f"them: wait until they have ended, or {effect}"
    )


def _watch(n_cpus: int) -> dict[str, float | None]:
    return watch(readers_here().machine().read, LocalHost(), usable_cpus(), n_cpus)


def _ticks_in_words(sampling: dict[str, str | None]) -> str:
    if sampling["reason"] is None:
        return "native"
    if sampling["ticks_by"] == "portable":
        return f"psutil; {sampling['reason']}"
    return f"Python (higher CPU cost); native loop unavailable: {sampling['reason']}"


def _print(result: dict[str, Any]) -> None:
    machine, fit = result["machine"], result["fit_for"]
    say(verdict(result), hang="  ")
    for remark in fit["remarks"]:
        say(f"- {remark}", hang="  ")
    print()
    say(
        f"machine: {machine_words(machine)}, "
        f"virtualisation {machine['virtualisation'] or 'none seen'}, {machine['descriptor_limit']} open files",
        hang="  ",
    )
    say(f"over {WATCHED_S:.0f} s: {quiet_in_words(result['quiet'])}", hang="  ")
    jdks = ", ".join(f"{jdk['version']} ({jdk['vendor'] or 'unknown vendor'})" for jdk in result["jdks"])
    say(f"JDKs, the preferred one first: {jdks or 'none'}", hang="  ")
    ready = [tool for tool in result["tools"] if tool["state"] == "ok"]
    text = ", ".join(" ".join(filter(None, (tool["name"], _version(tool)))) for tool in ready)
    say(f"ready: {text or 'no tool'}", hang="  ")
    containers = result["containers"]
    say(f"containers: {containers['engine'] or 'unavailable: ' + containers['reason']}", hang="  ")
    say(f"sampling loop: {_ticks_in_words(result['sampling'])}", hang="  ")
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
        return f"Not ready: {', '.join(fit['lacking'])} must be installed first."
    if not fit["measuring"]:
        return f"Not ready: only {machine['descriptor_limit']} open files are allowed."
    ready = (
        "Ready for smoke, quick and full."
        if fit["full"]
        else "Ready for smoke and quick, not for full: it needs a larger machine."
    )
    busy = result["quiet"]["busy_share"]
    if is_busy(result["quiet"]):
        return f"Not now: {min(busy, 1.0):.0%} of the CPU time is in use. {ready.replace('Ready', 'Otherwise ready')}"
    return ready


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
