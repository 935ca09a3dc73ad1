# SPDX-License-Identifier: Apache-2.0
"""The edges of phases: resources with PSS, the service's own metrics, and the JVM's native memory, kept raw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.agent.sampler import Watched
from harness.errors import HostError
from harness.formats.counters import answered
from harness.formats.jfr_json import CONTENTION
from harness.hosts.base import Command, Host
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.arguments import RECORDING
from harness.model import Boundary
from harness.model.endpoint import Endpoint
from harness.model.trial import pod_metrics_file

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
    there: Path | None = None,
    jcmd: Path | None = None,
    pods: Mapping[str, Endpoint] | None = None,
) -> Boundary:
    """Read the instance at the edge of a phase; files are ``boundary-<name>.prom`` and ``.nmt.txt``.

    Resources come first: what else is asked changes them. A JVM wakes its management beans at the
    first ``GET /metrics``, which costs CPU and memory, so nothing is asked at the first response,
    where start-up is still to be compared. Native memory is asked for when ``jcmd`` (of the
    service's own JDK) is given. ``host``: where the instance runs, ``there`` its folder on it, default:
    here. ``pods``: where each of several processes listens alone; each keeps its metrics in
    ``boundary-<name>.<pod>.prom`` and says how many requests it answered. What could not be had is ``None``.
    """
    host = host or LocalHost()
    reading = host.resources(watched)
    metrics = folder / f"boundary-{name}.prom"
    nmt = folder / f"boundary-{name}.nmt.txt"
    got_metrics = name not in UNASKED and save_metrics(endpoint, metrics)
    got_nmt = jcmd is not None and save_native_memory(host, jcmd, watched.pid, nmt, there=there)
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


def save_native_memory(host: Host, jcmd: Path, pid: int, file: Path, *, there: Path | None = None) -> bool:
    """Write ``jcmd PID VM.native_memory summary``; return whether the JVM gave one (it needs the NMT setting)."""
    command = Command(argv=(str(jcmd), str(pid), "VM.native_memory", "summary"), folder=there or file.parent)
    try:
        completed = host.run(command, JCMD_WITHIN_S)
    except HostError:  # gone or hanging: the load tells
        return False
    if completed.exit_code != 0 or "Total: reserved=" not in completed.stdout:
        return False
    file.write_text(completed.stdout)
    return True


PRINTED = "recording.json"
EVENTS = "jdk.Compilation,jdk.Deoptimization"
PRINT_WITHIN_S = 60.0


def keep_recording(host: Host, jfr: Path, there: Path, folder: Path) -> bool:
    """Write what ``jfr print --json`` says of the recording in ``there`` to ``folder``; return whether there was one.

    The JVM writes it when it ends, so ask after that; one that was killed left none.
    """
    words = ("print", "--json", "--stack-depth", "1", "--events", EVENTS, str(there / RECORDING))
    try:
        completed = host.run(Command(argv=(str(jfr), *words), folder=there), PRINT_WITHIN_S)
    except HostError:  # no such program there: the analysis says that nothing was recorded
        return False
    if completed.exit_code != 0 or not completed.stdout.lstrip().startswith("{"):
        return False
    (folder / PRINTED).write_text(completed.stdout, "utf-8")
    return True


def keep_contention(host: Host, jfr: Path, there: Path, folder: Path) -> bool:
    """Write what ``jfr view`` says of waits for monitors in the recording in ``there``; return whether it did.

    As of :func:`keep_recording`; a JDK before 21 has no such view.
    """
    words = ("view", "--width", "200", "--cell-height", "1", "contention-by-class", str(there / RECORDING))
    try:
        completed = host.run(Command(argv=(str(jfr), *words), folder=there), PRINT_WITHIN_S)
    except HostError:
        return False
    if completed.exit_code != 0:
        return False
    (folder / CONTENTION).write_text(completed.stdout, "utf-8")
    return True
