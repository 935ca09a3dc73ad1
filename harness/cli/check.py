# SPDX-License-Identifier: Apache-2.0
"""``rematch check``: what this machine can do, and what it is fit for."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli import completion
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
from harness.errors import InputError
from harness.project import find_root

#: What shows and executes notebooks.
_NOTEBOOKS = ("jupyterlab", "papermill", "nbconvert")


class Purpose(StrEnum):
    """What a machine is checked for."""

    MEASURING = "measuring"
    READING = "reading"
    WORKSHOP = "workshop"


def check(
    host: Annotated[
        str,
        typer.Option(help="host to check: local, or a name of hosts.toml", autocompletion=completion.hosts),
    ] = "local",
    purpose: Annotated[
        Purpose, typer.Option("--for", help="what the machine is checked for")
    ] = Purpose.MEASURING,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List available and missing tools with install commands, and report how idle the machine is.

    Exit status 1: something that measuring, or what --for names, requires is missing.

    \b
    Examples:
        rematch check
        rematch check --for reading
        rematch check --json
        rematch check --host bighost
    """
    if purpose is not Purpose.MEASURING:
        _check_reading(purpose, alone=host == "local" and not as_json)
        return
    if host != "local":
        from harness.cli.check_remote import check_remote

        check_remote(host, as_json=as_json)
        return
    result = _look()
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print(result)
    if not result["fit_for"]["measuring"]:
        raise typer.Exit(1)


def _check_reading(purpose: Purpose, *, alone: bool) -> None:
    """Print what is ready where only records are read. ``alone``: neither another host nor JSON was asked for."""
    if not alone:
        raise InputError(
            "is about this machine, in words", place=f"--for {purpose}", allowed="no --host, no --json"
        )
    wanted = {name: {"the notebooks"} for name in _NOTEBOOKS} | _imported(find_root(), purpose)
    missing = {name: users for name, users in wanted.items() if find_spec(name) is None}
    for name, users in missing.items():
        say(f"Not ready: the Python package {name} is missing, required by {', '.join(sorted(users))}")
    if missing:
        print("install with: python3 -m setup --for lab")
        raise typer.Exit(1)
    say(_ready_for(purpose), hang="  ")


def _imported(root: Path, purpose: Purpose) -> dict[str, set[str]]:
    """Return package -> which notebooks and pages cannot do without it, as their sources say."""
    from harness.import_closure import closure, packages, source_texts
    from harness.pipeline.stage import analysis_notebooks

    def of_module(name: str) -> list[str]:
        return source_texts(root, closure(root, {name}))

    if purpose is Purpose.WORKSHOP:
        users = {"the workshop": of_module("harness.questions.workshop")}
    else:
        users = {
            notebook.name: [*notebook.code_cells, *source_texts(root, notebook.imported(root))]
            for notebook in analysis_notebooks(root)
        }
        users |= {
            "the paper": of_module("harness.pipeline"),
            "the results page": of_module("harness.site.build"),
        }
    results: dict[str, set[str]] = {}
    for user, texts in users.items():
        for name in packages(texts):
            results.setdefault(name, set()).add(user)
    return results


def _ready_for(purpose: Purpose) -> str:
    from harness.toolchains import Surroundings, find_all

    if purpose is Purpose.WORKSHOP:
        return (
            "Ready for the workshop: make workshop-check reads the sessions and prints the code to compare."
        )
    latex = next(tool for tool in find_all(Surroundings(project=find_root())) if tool.name == "latex")
    ready = "Ready for notebooks, reports, comparisons, traces and the results page."
    if latex.usable:
        return f"{ready} Ready to build the paper."
    return f"{ready} The paper can be built once LaTeX is installed: {latex.how_to_get}"


def _look() -> dict[str, Any]:
    from harness.provenance import read_machine
    from harness.sampling import tick_source_here
    from harness.toolchains import Surroundings, find_all, find_jdks, lacking_packages

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
    from harness.launchers.docker_engine import engine_here

    engine, reason = engine_here(root)
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
    from harness.agent.platforms import usable_cpus
    from harness.hosts.local import LocalHost
    from harness.sampling import readers_here

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
