# SPDX-License-Identifier: Apache-2.0
"""The edges of phases: resources with PSS, the service's own metrics, and the JVM's native memory, kept raw.

System calls are counted in a load of their own: counting makes each call slower, so no other metric may see it. perf
mounts the kernel's tracing files by itself; a mount namespace of its own keeps the machine as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.agent.sampler import Watched
from harness.errors import HostError, TrialFailure
from harness.formats.jfr_json import CONTENTION
from harness.formats.runtime_metrics import answered
from harness.hosts.base import Command, Host
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.arguments import RECORDING
from harness.launchers.base import Instance
from harness.loadgen.base import LoadSpec
from harness.model import Boundary, ClosedLoad
from harness.model.endpoint import Endpoint
from harness.model.trial import pod_metrics_file
from harness.runner.context import Notes
from harness.runner.load_process import put_files

BoundaryName = Literal["first-response", "before-load", "after-load", "idle"]
METRICS_PATH = "/metrics"
UNASKED: frozenset[BoundaryName] = frozenset({"first-response"})
JCMD_WITHIN_S = 20.0


def take_boundary(
    name: BoundaryName,
    watched: Watched,
    endpoint: Endpoint,
    folder: Path,
    *,
    host: MeasuringHost | None = None,
    remote: Path | None = None,
    jcmd: Path | None = None,
    pods: Mapping[str, Endpoint] | None = None,
) -> Boundary:
    """Read the instance at the edge of a phase; files are ``boundary-<name>.prom`` and ``.nmt.txt``.

    Resources come first: what else is asked changes them. A JVM wakes its management beans at the
    first ``GET /metrics``, which costs CPU and memory, so nothing is asked at the first response,
    where start-up is still to be compared. Native memory is asked for when ``jcmd`` (of the
    service's own JDK) is given. ``host``: where the instance runs, ``remote`` its folder on it, default:
    here. ``pods``: where each of several processes listens alone; each keeps its metrics in
    ``boundary-<name>.<pod>.prom`` and says how many requests it answered. What could not be had is ``None``.
    """
    host = host or LocalHost()
    reading = host.resources(watched)
    metrics = folder / f"boundary-{name}.prom"
    nmt = folder / f"boundary-{name}.nmt.txt"
    got_metrics = name not in UNASKED and save_metrics(endpoint, metrics)
    got_nmt = jcmd is not None and save_native_memory(host, jcmd, watched.pid, nmt, remote=remote)
    return Boundary(
        name=name,
        reading=reading,
        runtime_metrics_file=metrics.name if got_metrics else None,
        nmt_file=nmt.name if got_nmt else None,
        answered_by_pod=None if name in UNASKED else _answered(pods, folder, name),
    )


def _answered(pods: Mapping[str, Endpoint] | None, folder: Path, name: BoundaryName) -> dict[str, int] | None:
    """What each pod says that it answered; ``None``: there are none, or one of them does not say."""
    counts: dict[str, int] = {}
    for pod, endpoint in (pods or {}).items():
        file = folder / pod_metrics_file(name, pod)
        n_answered = answered(file.read_text(errors="replace")) if save_metrics(endpoint, file) else None
        if n_answered is None:
            return None
        counts[pod] = n_answered
    return counts or None


def save_metrics(endpoint: Endpoint, file: Path, timeout_s: float = 5.0) -> bool:
    """Write the answer to ``GET /metrics`` as it came; return whether there was one."""
    try:
        with Connection(endpoint, timeout_s) as connection:
            answer = connection.exchange(request_bytes("GET", METRICS_PATH, {}, None, endpoint))
    except (ExchangeError, OSError):  # the trial's load tells whether the service is gone
        return False
    if answer.status != 200:
        return False
    file.write_bytes(answer.body)
    return True


def save_native_memory(host: Host, jcmd: Path, pid: int, file: Path, *, remote: Path | None = None) -> bool:
    """Write ``jcmd PID VM.native_memory summary``; return whether the JVM gave one (it needs the NMT setting)."""
    argv = (str(jcmd), str(pid), "VM.native_memory", "summary")
    return _saved(host, argv, remote or file.parent, JCMD_WITHIN_S, file, "Total: reserved=")


PRINTED = "recording.json"
EVENTS = "jdk.Compilation,jdk.Deoptimization"
PRINT_WITHIN_S = 60.0


def keep_recording(host: Host, jfr: Path, remote: Path, folder: Path) -> bool:
    """Write what ``jfr print --json`` says of the recording in ``remote`` to ``folder``; return whether there was one.

    The JVM writes it when it ends, so ask after that; one that was killed left none.
    """
    words = ("print", "--json", "--stack-depth", "1", "--events", EVENTS, str(remote / RECORDING))
    return _saved(host, (str(jfr), *words), remote, PRINT_WITHIN_S, folder / PRINTED, '"recording"')


def keep_contention(host: Host, jfr: Path, remote: Path, folder: Path) -> bool:
    """Write what ``jfr view`` says of waits for monitors in the recording in ``remote``; return whether it did.

    As of :func:`keep_recording`; a JDK before 21 has no such view.
    """
    words = ("view", "--width", "200", "--cell-height", "1", "contention-by-class", str(remote / RECORDING))
    return _saved(host, (str(jfr), *words), remote, PRINT_WITHIN_S, folder / CONTENTION)


def _saved(
    host: Host, argv: tuple[str, ...], remote: Path, within_s: float, file: Path, sign: str = ""
) -> bool:
    """Write what a program of the JDK prints; where it is missing, hangs, fails or lacks the sign, nothing."""
    try:
        completed = host.run(Command(argv=argv, folder=remote), within_s)
    except HostError:
        return False
    if completed.exit_code or not completed.stdout or sign not in completed.stdout:
        return False
    file.write_text(completed.stdout, "utf-8")
    return True


#: Of the trial's folder, gone afterwards.
FOLDER = "system-calls"
COUNTS = "counts.csv"
LOAD_S = 2
#: Beyond its own time, for the tools to start and stop on a busy machine.
EXTRA_S = 30.0
#: Every call, whatever its name.
ALL = "raw_syscalls:sys_enter"
#: Calls with a count of their own; the rest is what they leave of all.
NAMES = (
    "read", "write", "readv", "writev", "recvfrom", "sendto", "epoll_wait", "epoll_pwait", "epoll_ctl", "poll", "futex",
    "nanosleep", "clock_nanosleep", "sched_yield", "madvise",
)  # fmt: skip
_NAMED = "syscalls:sys_enter_"


def count_system_calls(instance: Instance, notes: Notes) -> dict[str, JsonValue]:
    """Load the instance once more and return ``n_requests`` and ``calls``, name -> count with ``all`` first.

    Where this machine cannot count, ``unavailable`` has the reason in place of both.
    """
    try:
        return _counted(instance, notes)
    except (TrialFailure, HostError) as problem:
        return {"unavailable": problem.reason if isinstance(problem, TrialFailure) else str(problem)}
    finally:
        shutil.rmtree(notes.spec.folder / FOLDER, ignore_errors=True)


def _counted(instance: Instance, notes: Notes) -> dict[str, JsonValue]:
    spec, context = notes.spec, notes.context
    load, generator = spec.planned.configuration.load, spec.generator
    if load is None or generator is None or not isinstance(load.profile, ClosedLoad):
        raise TrialFailure("failed", "only a closed loop is offered again to count calls")
    if not (context.host.is_local and context.load_host.is_local):
        raise TrialFailure("failed", "calls are counted on the machine of this program only")
    programs = [shutil.which(name) for name in ("unshare", "perf")]
    if None in programs:
        raise TrialFailure("failed", "no perf and unshare on this machine (Debian: linux-perf, util-linux)")
    folder = spec.folder / FOLDER
    folder.mkdir()
    profile = ClosedLoad(users=load.profile.users, duration_s=LOAD_S)
    asked = LoadSpec(
        profile=profile, requests=spec.requests, endpoint=instance.endpoint, folder=folder, seed=spec.seed
    )
    command = put_files(context, generator.command(asked), folder, folder)
    unshare, perf = map(str, programs)
    events = ",".join((ALL, *(_NAMED + name for name in NAMES)))
    counting = ("stat", "-x", ",", "-o", str(folder / COUNTS), "-e", events, "-p", str(instance.record.pid))
    argv = (unshare, "--mount", perf, *counting, "--", *command.argv)
    order = Command(argv=argv, folder=folder, environment=command.environment, cpus=notes.generator_cpus)
    done = context.load_host.run(order, timeout_s=LOAD_S + EXTRA_S)
    file = folder / COUNTS
    calls = counts_of(file.read_text("utf-8", "replace")) if file.is_file() else {}
    if done.exit_code or "all" not in calls:
        first = next(iter((done.stderr or done.stdout).strip().splitlines()), "without a reason")
        raise TrialFailure("failed", f"perf counted nothing: {first[:200]}")
    return {"n_requests": generator.read(folder).n_requests, "calls": dict(calls)}


def counts_of(text: str) -> dict[str, int]:
    """Return name -> count of what ``perf stat -x ,`` wrote, ``all`` first; what was not counted is left out."""
    fields = [line.split(",") for line in text.splitlines()]
    counts = {row[2]: int(row[0]) for row in fields if len(row) > 2 and row[0].isdigit()}
    return ({"all": counts[ALL]} if ALL in counts else {}) | {
        event.removeprefix(_NAMED): n for event, n in counts.items() if event.startswith(_NAMED) and n
    }
