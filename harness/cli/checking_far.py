# SPDX-License-Identifier: Apache-2.0
"""``rematch check --host NAME``: whether a far machine can run services and offer load."""

from __future__ import annotations

import json
import platform
import time
from typing import Any

import typer

from harness.cli.checking import DESCRIPTORS_WANTED, WATCHED_S, remarks_on, shares
from harness.project import find_root

PROGRAMS = ("go", "wrk", "wrk2", "k6", "oha", "vegeta", "locust", "docker", "taskset")
#: Artifacts, a runtime or two, and one trial's files.
ROOM_WANTED_BYTES = 1 << 30


def check_far(name: str, *, as_json: bool) -> None:
    """Connect, look, disconnect; nothing is left there but the agent's one file.

    Raises:
        HostError, InputError: it cannot be reached or used, with what to do.
    """
    found = _look(name)
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _print(name, found)
    if not found["fit_for"]["services"]:
        raise typer.Exit(1)


def _look(name: str) -> dict[str, Any]:
    from harness.launchers.docker_engine import engine_on
    from harness.remote import SshHost, load_settings
    from harness.remote.jdks import find_far_jdks

    host = SshHost(name, load_settings(find_root(), name), alone=False)
    try:
        machine, clock = host.machine_facts, host.clock()
        before, began = host.machine(), time.monotonic()
        time.sleep(WATCHED_S)
        quiet = shares(before, host.machine(), time.monotonic() - began, machine.n_cpus)
        remarks = remarks_on(machine.n_cpus, machine.small, machine.descriptor_limit, quiet)
        jdks = find_far_jdks(host, None)
        if not jdks:
            remarks.append(
                "no JDK: Java services cannot run there; apt-get install -y openjdk-25-jdk-headless, or any"
            )
        engine, no_engine = engine_on(host, find_root())
        if no_engine is not None:
            remarks.append(f"no containers there: {no_engine}")
        if host.architecture != platform.machine():
            remarks.append(
                f"it is {host.architecture} and this machine {platform.machine()}: Go programs, trimmed runtimes and "
                "native images that are built here do not run there"
            )
        if host.free_bytes < ROOM_WANTED_BYTES:
            remarks.append(
                f"{host.free_bytes / 2**30:.1f} GiB are left in {host.agent.base}: set another folder"
            )
        if abs(clock.wall_offset_s) - clock.uncertainty_s > 0.005:
            remarks.append(
                f"its clock is {clock.wall_offset_s * 1e3:.1f} ms away from ours: let NTP see to both"
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
            "containers": {"engine": engine, "reason": no_engine},
            "fit_for": {
                "services": host.free_bytes >= ROOM_WANTED_BYTES // 8
                and machine.descriptor_limit >= DESCRIPTORS_WANTED // 4,
                "java": bool(jdks),
                "containers": engine is not None and host.architecture == platform.machine(),
                "full": not machine.small and bool(jdks),
                "remarks": remarks,
            },
        }
    finally:
        host.close()


def _print(name: str, found: dict[str, Any]) -> None:
    machine, clock = found["machine"], found["clock"]
    print(
        f"{name}: {machine['n_cpus']} CPUs ({machine['cpu_model']}), {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['distribution']}, kernel {machine['kernel']}, cgroup {machine['cgroup']}, "
        f"{machine['descriptor_limit']} open files"
    )
    print(
        f"Python {found['python']}; {found['free_bytes'] / 2**30:.1f} GiB free; clock "
        f"{clock['wall_offset_s'] * 1e3:+.2f} ms from ours, to {clock['uncertainty_s'] * 1e3:.2f} ms"
    )
    known = [f"{what.removesuffix('_share')} {value:.1%}" for what, value in found["quiet"].items()
             if what.endswith("_share") and value is not None]  # fmt: skip
    print(f"over {WATCHED_S:.0f} s: {', '.join(known)}")
    print(f"JDKs: {', '.join(jdk['version'] for jdk in found['jdks']) or 'none'}")
    print(f"containers: {found['containers']['engine'] or 'none'}")
    there = [program for program, path in found["programs"].items() if path is not None]
    print(f"programs: {', '.join(there) or 'none'}")
    for remark in found["fit_for"]["remarks"]:
        print(f"- {remark}")
    fit = [role for role in ("services", "java", "containers", "full") if found["fit_for"][role]]
    print(f"fit for: {', '.join(fit) or 'nothing'}")
