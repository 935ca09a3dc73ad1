# SPDX-License-Identifier: Apache-2.0
"""``rematch check --host NAME``: whether a far machine can run services, offer load, hold a database."""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import typer

from harness.cli.check_here import DESCRIPTORS_WANTED, jdks_as_plain, print_checked, remarks_on, watch
from harness.errors import HostError, InputError, MissingTool
from harness.measure.session.remote_hosts import words_there
from harness.model.load_tools import BY_NAME, run_as
from harness.places.backing.postgres import find_remote_home
from harness.places.hosts.ssh.host import LOOPBACK, SshHost, find_remote_jdks
from harness.places.hosts.ssh.settings import HostSettings, load_settings
from harness.places.launchers.container import engine_on
from harness.project import find_root
from harness.toolchains import JAVA_MINIMUM, JAVA_REFERENCE, Jdk

#: Load generators that a far machine can run; those that want a JDK come last.
GENERATORS = run_as("program", "python", "java")
#: Artifacts, a runtime or two, and one trial's files.
ROOM_WANTED_BYTES = 1 << 30
T = TypeVar("T")


def check_remote(name: str, *, as_json: bool) -> None:
    """Connect, look, disconnect; nothing is left there but the agent's one file."""
    settings = load_settings(find_root(), name)
    with contextlib.closing(SshHost(name, settings, alone=False)) as host:
        result = _look(host, settings)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print(name, result)
    if not result["fit_for"]["services"]:
        raise typer.Exit(1)


def no_java(jdks: Sequence[Jdk]) -> str | None:
    """Return why no JDK there runs the services, or ``None``."""
    if any(jdk.major >= JAVA_MINIMUM for jdk in jdks):
        return None
    get = f"apt-get install -y openjdk-{JAVA_REFERENCE}-jdk-headless, or any of at least {JAVA_MINIMUM}"
    newest = max(jdks, key=lambda jdk: jdk.major, default=None)
    present = "no JDK" if newest is None else f"its newest JDK is {newest.version}"
    return f"{present} and Java services need {JAVA_MINIMUM}: they cannot run there; {get}"


def _tried(action: Callable[[], T]) -> tuple[T | None, str | None]:
    """What an action there gives, and why it cannot be done."""
    try:
        return action(), None
    except (MissingTool, InputError, HostError) as problem:
        return None, str(problem)


def _look(host: SshHost, settings: HostSettings) -> dict[str, Any]:
    machine, clock = host.machine_facts, host.clock()
    quiet = watch(host, host.cpus, machine.n_cpus)
    jdks = find_remote_jdks(host, None)
    engine, no_engine = engine_on(host, find_root())
    without_java, unforwarded = no_java(jdks), host.why_no_forwarding()
    home, problem = _tried(lambda: find_remote_home(host))
    database, no_database = home and home.version, problem and f"no database there: {problem}"
    _, unheard = _tried(lambda: host.free_port(settings.service_address))
    generators: dict[str, str | None] = {}
    for tool in GENERATORS:  # nothing is sent for the answer
        wanted: dict[str, Path | None] = {tool: Path(tool)} if BY_NAME[tool].runs_as == "program" else {}
        _, generators[tool] = _tried(partial(words_there, host, tool, wanted, None))
    same_kind = host.architecture == platform.machine()
    room = host.free_bytes >= ROOM_WANTED_BYTES // 8 and machine.descriptor_limit >= DESCRIPTORS_WANTED // 4
    services = room and unheard is None and unforwarded is None
    load = room and None in generators.values()
    off_s = abs(clock.wall_offset_s) - clock.uncertainty_s
    remarks: tuple[str | bool | None, ...] = (
        *remarks_on(machine.n_cpus, machine.small, machine.descriptor_limit, quiet),
        unheard
        and f"service_address {settings.service_address} is none of its addresses: nothing can listen there; "
        f"`ip -brief address` on {host.name} tells which it has",
        unforwarded,
        without_java,
        no_database,
        None not in generators.values()
        and "no load from there: no load tool, Python with Locust or JDK for JMeter",
        no_engine and f"no containers there: {no_engine}",
        settings.service_address in LOOPBACK
        and "service_address is its loopback: services and load, or services and database, are not on two machines "
        "until it is set in hosts.toml",
        not same_kind
        and f"it is {host.architecture} and this machine {platform.machine()}: Go programs, trimmed runtimes and "
        "native images that are built here do not run there",
        host.free_bytes < ROOM_WANTED_BYTES
        and f"{host.free_bytes / 2**30:.1f} GiB are left in {host.agent.base}: set another folder",
        off_s > 0.005
        and f"clock offset {clock.wall_offset_s * 1e3:.1f} ms; synchronise both machines with NTP",
    )
    return {
        "machine": machine.model_dump(),
        "python": host.agent.facts["python"],
        "free_bytes": host.free_bytes,
        "clock": clock.model_dump(),
        "quiet": quiet,
        "jdks": jdks_as_plain(jdks),
        "architecture": host.architecture,
        "service_address": settings.service_address,
        "containers": {"engine": engine, "reason": no_engine},
        "database": {"version": database, "reason": no_database},
        "generators": generators,
        "fit_for": {
            "services": services,
            "java": services and without_java is None,
            "load": load,
            "database": room and unheard is None and database is not None,
            "containers": services and engine is not None and same_kind,
            "full": services and load and not machine.small and without_java is None,
            "remarks": [remark for remark in remarks if remark],
        },
    }


def _print(name: str, result: dict[str, Any]) -> None:
    clock, generators = result["clock"], result["generators"]
    fit = [role for role, holds in result["fit_for"].items() if holds is True]
    able = [tool for tool, reason in generators.items() if reason is None]
    print_checked(
        f"fit for: {', '.join(fit) or 'nothing'}", result["fit_for"]["remarks"], name, result,
        f"Python {result['python']}; {result['free_bytes'] / 2**30:.1f} GiB free; clock "
        f"{clock['wall_offset_s'] * 1e3:+.2f} ms from ours, to {clock['uncertainty_s'] * 1e3:.2f} ms",
        f"JDKs: {', '.join(jdk['version'] for jdk in result['jdks']) or 'none'}",
        f"containers: {result['containers']['engine'] or 'none'}",
        f"PostgreSQL: {result['database']['version'] or 'none'}",
        f"load generators that can run there: {', '.join(able) or 'none'}",
    )  # fmt: skip
