# SPDX-License-Identifier: Apache-2.0
"""The edges of phases: resources with PSS, the service's own metrics, and the JVM's native memory, kept raw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.errors import HostError
from harness.formats.jfr_json import CONTENTION
from harness.formats.runtime_metrics import answered
from harness.measure.runner.context import Notes, watch
from harness.measure.runner.outcome import refuse_crashed
from harness.model import Boundary, Endpoint
from harness.model.trial import pod_metrics_file
from harness.places.hosts.base import Command, Host
from harness.places.launchers.arguments import RECORDING
from harness.places.launchers.base import Instance

BoundaryName = Literal["first-response", "before-load", "after-load", "idle"]
METRICS_PATH = "/metrics"
JCMD_WITHIN_S = 20.0


def take_boundary(name: BoundaryName, instance: Instance, notes: Notes) -> None:
    """Note a reading of the instance at the edge of a phase; files are ``boundary-<name>.prom`` and ``.nmt.txt``.

    Resources come first: what else is asked changes them. A JVM wakes its management beans at the
    first ``GET /metrics``, which costs CPU and memory, so nothing is asked at the first response,
    where start-up is still to be compared. Of several pods each keeps its metrics in ``boundary-<name>.<pod>.prom``
    and says how many requests it answered. What could not be had is ``None``.

    Raises:
        TrialFailure: the service has ended.
    """
    refuse_crashed(instance, f"before boundary {name}", notes)
    spec, host = notes.spec, notes.context.host
    reading, record = host.resources(watch(instance)), instance.record
    metrics, nmt = (spec.folder / f"boundary-{name}.{ending}" for ending in ("prom", "nmt.txt"))
    asked = name != "first-response"
    has_metrics = asked and save_metrics(host.reach(instance.endpoint), metrics)
    has_nmt = False
    if spec.implementation.runtime == "jvm" and spec.planned.configuration.variant.runtime.nmt:
        argv = (str(Path(record.argv[0]).with_name("jcmd")), str(record.pid), "VM.native_memory", "summary")
        has_nmt = _saved(host, argv, notes.service_folder, JCMD_WITHIN_S, nmt, "Total: reserved=")
    pods = (instance.pod_endpoints() or {}) if asked else {}
    notes.boundaries.append(
        Boundary(
            name=name,
            reading=reading,
            runtime_metrics_file=metrics.name if has_metrics else None,
            nmt_file=nmt.name if has_nmt else None,
            answered_by_pod=_answered(pods, spec.folder, name),
        )
    )


def _answered(pods: Mapping[str, Endpoint], folder: Path, name: BoundaryName) -> dict[str, int] | None:
    """What each pod says that it answered; ``None``: there are none, or one of them does not say."""
    counts: dict[str, int] = {}
    for pod, endpoint in pods.items():
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
