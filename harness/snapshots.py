# SPDX-License-Identifier: Apache-2.0
"""What an instance says of itself at the edge of a phase, kept raw: ``/metrics``, and a JVM's native memory."""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.errors import HostError
from harness.exchange import Connection, ExchangeError, request_bytes
from harness.hosts import Command, Host
from harness.launchers.base import Instance
from harness.model import Frozen

_METRICS_WITHIN_S = 5.0
_JCMD_WITHIN_S = 20.0


class Snapshots(Frozen):
    """Names of the files that were written; ``None``: it could not be had."""

    runtime_metrics: str | None
    nmt: str | None


def take_snapshots(instance: Instance, host: Host, folder: Path, name: str, *, nmt: bool) -> Snapshots:
    """Write ``boundary-<name>.prom`` and, if asked, ``boundary-<name>.nmt.txt`` below ``folder``."""
    metrics = _metrics(instance)
    metrics_file = f"boundary-{name}.prom"
    if metrics is not None:
        (folder / metrics_file).write_bytes(metrics)
    native = _native_memory(instance, host, folder) if nmt else None
    nmt_file = f"boundary-{name}.nmt.txt"
    if native is not None:
        (folder / nmt_file).write_text(native, "utf-8")
    return Snapshots(
        runtime_metrics=metrics_file if metrics is not None else None,
        nmt=nmt_file if native is not None else None,
    )


def _metrics(instance: Instance) -> bytes | None:
    request = request_bytes("GET", "/metrics", {}, None, instance.endpoint)
    with (
        contextlib.suppress(ExchangeError, OSError),
        Connection(instance.endpoint, _METRICS_WITHIN_S) as there,
    ):
        answer = there.exchange(request)
        return answer.body if answer.status == 200 else None
    return None


def _native_memory(instance: Instance, host: Host, folder: Path) -> str | None:
    jcmd = Path(instance.record.argv[0]).with_name("jcmd")
    argv = (str(jcmd), str(instance.record.pid), "VM.native_memory", "summary")
    try:
        done = host.run(Command(argv=argv, folder=folder), _JCMD_WITHIN_S)
    except HostError:
        return None
    return done.stdout if done.exit_code == 0 else None
