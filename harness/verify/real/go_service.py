# SPDX-License-Identifier: Apache-2.0
"""The project's Go services as parts of a verification: build one, start it, read its CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.agent.http_exchange import gone_check, poll_first_answer, request_bytes
from harness.agent.ports import free_port
from harness.agent.process_tree import read_tree
from harness.errors import RematchError
from harness.model import Endpoint
from harness.places.hosts.base import Command, Process
from harness.places.hosts.local import LocalHost
from harness.project import find_root
from harness.toolchains import Surroundings, build_environment, find_go

_READY_WITHIN_S = 30.0


def build_go_service(source: str, target: Path, around: Surroundings) -> Path:
    """Build ``services/<source>`` into a file, with the flags of its own build; return the file.

    Raises RematchError: it does not build.
    """
    go = find_go(around).require()
    command = (str(go), "build", "-trimpath", "-tags", "netgo,osusergo", "-o", str(target), ".")
    folder = find_root() / "services" / source
    build = Command(argv=command, folder=folder, environment=build_environment(around))
    done = LocalHost().run(build, timeout_s=300.0)
    if done.exit_code != 0:
        raise RematchError(
            f"services/{source}: go build ended with {done.exit_code}: {done.stderr.strip()[:300]}"
        )
    return target


@contextmanager
def running_service(
    program: Path, path: str, *options: str, cpus: tuple[int, ...] | None = None, **environment: str
) -> Iterator[tuple[Process, int]]:
    """Run a service on a port of this machine; yield it and the port once ``path`` is answered.

    Raises RematchError: it ends, or does not answer within half a minute.
    """
    port = free_port()
    command = Command(
        argv=(str(program), "--host", "127.0.0.1", "--port", str(port), *options),
        folder=program.parent,
        environment=environment,
        cpus=cpus,
    )
    process = LocalHost().spawn(command)
    try:
        endpoint = Endpoint(host="127.0.0.1", port=port)
        first = poll_first_answer(
            endpoint,
            request_bytes("GET", path, {}, None, endpoint),
            launched_monotonic_s=process.launched_monotonic_s,
            deadline_s=_READY_WITHIN_S,
            gone=gone_check(process.pid, process.start_ticks),
        )
        if not first.ready:
            raise RematchError(f"{program.name} does not answer on port {port}")
        yield process, port
    finally:
        process.stop(grace_s=2.0)


def tree_cpu_s(pid: int, start_ticks: int, cpu_at_launch_s: float, *, short_lived: bool = False) -> float:
    """Return the CPU time of a process and its descendants, those that ended among them. Raises RematchError: it
    ended."""
    read = read_tree(pid, start_ticks, cpu_at_launch_s=cpu_at_launch_s, short_lived=short_lived, pss=False)
    if read.cpu_s is None:
        raise RematchError(f"process {pid} ended while its CPU time was read")
    return read.cpu_s


def cpu_s(process: Process) -> float:
    """Return the CPU time that a process and its children used so far; raises as ``tree_cpu_s``."""
    return tree_cpu_s(process.pid, process.start_ticks, process.cpu_at_launch_s)
