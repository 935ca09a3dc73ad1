# SPDX-License-Identifier: Apache-2.0
"""``rematch check --host NAME``: whether a far machine can run services, offer load, hold a database."""

from __future__ import annotations

import json
import platform
import time
from typing import Any

import typer

from harness.cli import remote_roles
from harness.cli.lines import say
from harness.cli.machine_fitness import (
    DESCRIPTORS_WANTED,
    SPEEDS_PER_S,
    WATCHED_S,
    is_busy,
    quiet_in_words,
    remarks_on,
    shares,
)
from harness.hosts.ssh.host import LOOPBACK, SshHost, find_remote_jdks
from harness.hosts.ssh.settings import HostSettings, load_settings
from harness.launchers.docker_engine import engine_on
from harness.model import HostClock
from harness.model.load_tools import run_as
from harness.model.readings import slowed_share
from harness.project import find_root

PROGRAMS = ("go", *run_as("program"), "locust", "docker", "taskset")
#: Artifacts, a runtime or two, and one trial's files.
ROOM_WANTED_BYTES = 1 << 30


def check_remote(name: str, *, as_json: bool) -> None:
    """Connect, look, disconnect; nothing is left there but the agent's one file.

    Raises:
        HostError, InputError: it cannot be reached or used, with what to do.
        typer.Exit: with 1, when services cannot run there as it is described.
    """
    result = _look(name)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print(name, result)
    if not result["fit_for"]["services"]:
        raise typer.Exit(1)


def _look(name: str) -> dict[str, Any]:
    settings = load_settings(find_root(), name)
    host = SshHost(name, settings, alone=False)
    try:
        return _look_at(host, settings)
    finally:
        host.close()


def _look_at(host: SshHost, settings: HostSettings) -> dict[str, Any]:
    machine, clock = host.machine_facts, host.clock()
    before, began = host.machine(), time.monotonic()
    meter = host.speed_meter(host.cpus, per_s=SPEEDS_PER_S * len(host.cpus))
    time.sleep(WATCHED_S)
    read = meter.stop()
    quiet = shares(before, host.machine(), time.monotonic() - began, machine.n_cpus)
    quiet["slowed_share"] = slowed_share(read)
    jdks = find_remote_jdks(host, None)
    engine, no_engine = engine_on(host, find_root())
    java, listening, forwarding = (
        remote_roles.java(jdks),
        remote_roles.listening(host, settings),
        remote_roles.forwarding(host),
    )
    database, generators = remote_roles.database(host), remote_roles.generators(host)
    same_kind = host.architecture == platform.machine()
    room = host.free_bytes >= ROOM_WANTED_BYTES // 8 and machine.descriptor_limit >= DESCRIPTORS_WANTED // 4
    services = room and listening.fit and forwarding.fit
    load = room and any(generator.fit for generator in generators.values())
    remarks = remarks_on(machine.n_cpus, machine.small, machine.descriptor_limit, quiet)
    remarks += [item.reason for item in (listening, forwarding, java, database) if item.reason is not None]
    if not any(generator.fit for generator in generators.values()):
        remarks.append(
            "no load can come from there: no load generator, no Python with Locust, no JDK for JMeter"
        )
    if no_engine is not None:
        remarks.append(f"no containers there: {no_engine}")
    remarks += _remarks_on_place(
        host, clock, same_kind=same_kind, apart=settings.service_address not in LOOPBACK
    )
    return {
        "machine": machine.model_dump(),
        "python": host.agent.python_version,
        "free_bytes": host.free_bytes,
        "free_port": host.free_port("127.0.0.1"),
        "clock": clock.model_dump(),
        "quiet": quiet,
        "jdks": [{"version": jdk.version, "vendor": jdk.vendor, "home": str(jdk.home)} for jdk in jdks],
        "programs": host.which(*PROGRAMS),
        "architecture": host.architecture,
        "service_address": settings.service_address,
        "containers": {"engine": engine, "reason": no_engine},
        "database": {"version": database.found, "reason": database.reason},
        "generators": {name: one.reason for name, one in generators.items()},
        "fit_for": {
            "services": services,
            "java": services and java.fit,
            "load": load,
            "database": room and listening.fit and database.fit,
            "containers": services and engine is not None and same_kind,
            "full": services and load and not machine.small and java.fit,
            "remarks": remarks,
        },
    }


def _remarks_on_place(host: SshHost, clock: HostClock, *, same_kind: bool, apart: bool) -> list[str]:
    remarks: list[str] = []
    if not apart:
        remarks.append(
            "service_address is its loopback: services and load, or services and database, are not on two machines "
            "until it is set in hosts.toml"
        )
    if not same_kind:
        remarks.append(
            f"it is {host.architecture} and this machine {platform.machine()}: Go programs, trimmed runtimes and "
            "native images that are built here do not run there"
        )
    if host.free_bytes < ROOM_WANTED_BYTES:
        remarks.append(f"{host.free_bytes / 2**30:.1f} GiB are left in {host.agent.base}: set another folder")
    if abs(clock.wall_offset_s) - clock.uncertainty_s > 0.005:
        remarks.append(f"clock offset {clock.wall_offset_s * 1e3:.1f} ms; synchronise both machines with NTP")
    return remarks


def _print(name: str, found: dict[str, Any]) -> None:
    machine, clock = found["machine"], found["clock"]
    fit = [role for role, holds in found["fit_for"].items() if holds is True]
    if is_busy(found["quiet"]):
        print(f"not now: {min(found['quiet']['busy_share'], 1.0):.0%} of its CPU time is in use")
    say(f"fit for: {', '.join(fit) or 'nothing'}", hang="  ")
    for remark in found["fit_for"]["remarks"]:
        say(f"- {remark}", hang="  ")
    there = [program for program, path in found["programs"].items() if path is not None]
    able = [one for one, reason in found["generators"].items() if reason is None]
    print()
    for line in (
        f"{name}: {machine['n_cpus']} CPUs ({machine['cpu_model']}), {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['distribution']}, kernel {machine['kernel']}, cgroup {machine['cgroup']}, "
        f"{machine['descriptor_limit']} open files",
        f"Python {found['python']}; {found['free_bytes'] / 2**30:.1f} GiB free; clock "
        f"{clock['wall_offset_s'] * 1e3:+.2f} ms from ours, to {clock['uncertainty_s'] * 1e3:.2f} ms",
        f"over {WATCHED_S:.0f} s: {quiet_in_words(found['quiet'])}",
        f"JDKs: {', '.join(jdk['version'] for jdk in found['jdks']) or 'none'}",
        f"containers: {found['containers']['engine'] or 'none'}",
        f"PostgreSQL: {found['database']['version'] or 'none'}",
        f"programs: {', '.join(there) or 'none'}",
        f"load generators that can run there: {', '.join(able) or 'none'}",
    ):
        say(line, hang="  ")
