# SPDX-License-Identifier: Apache-2.0
"""AOT caches of JVM services: one training start per artifact, JDK and flags, then kept beside the artifact."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import time
from pathlib import Path

from pydantic import Field

from harness.agent.http_exchange import Connection, request_bytes
from harness.agent.sampler import Watched
from harness.errors import HostError, RematchError
from harness.hosts.base import Command, Host, Process
from harness.hosts.measuring import MeasuringHost
from harness.model import Frozen, Request
from harness.model.endpoint import Endpoint

#: JEP 514: the cache is made in one step since this release.
AOT_SINCE = 25
TRAINING_REQUESTS = 400

#: At exit the JVM starts another one that assembles the cache; that takes seconds.
ASSEMBLED_WITHIN_S = 120.0
FILES_WITHIN_S = 60.0


class AotCache(Frozen):
    """A finished cache."""

    file: Path
    training_s: float = Field(description="from the training start until the cache was written")
    cache_bytes: int


def cache_file(folder: Path, java_version: str, flags: tuple[str, ...]) -> Path:
    """Where the cache for these flags lies beside the artifact, on the host that uses it."""
    key = hashlib.sha256("\0".join([java_version, *flags]).encode()).hexdigest()[:12]
    return folder / f"aot-{key}.aot"


def find_cache(host: Host, file: Path) -> AotCache | None:
    """Return what is known of a cache on a host, or ``None`` when it was never made there."""
    try:
        return AotCache.model_validate_json(host.read(file.with_suffix(".json")))
    except (HostError, ValueError):
        return None


def train(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...], file: Path
) -> AotCache:
    """Start the service with ``command`` (which writes the cache to ``unfinished(file)``), send it some hundred
    requests, stop it, and keep the cache under its final name. Raises RematchError: it did not get ready, or left no
    cache."""
    begin = time.monotonic()
    _say(host, "rm", "-f", str(unfinished(file)))
    process = host.spawn(command)
    try:
        _send(host, process, endpoint, requests)
    finally:
        process.stop(ASSEMBLED_WITHIN_S)
    training_s = time.monotonic() - begin
    size = _say(host, "stat", "-c", "%s", str(unfinished(file))).strip()
    if not size.isdigit():
        text = ""
        if command.stderr is not None:
            with contextlib.suppress(HostError):
                text = host.read(command.folder / command.stderr).decode(errors="replace").strip()
        raise RematchError(
            f"the training start left no AOT cache ({text[:300] or 'nothing on stderr'}): {command.folder}"
        )
    _say(host, "mv", str(unfinished(file)), str(file))
    cache = AotCache(file=file, training_s=training_s, cache_bytes=int(size))
    note, part = file.with_suffix(".json"), file.with_suffix(".json.part")
    with tempfile.TemporaryDirectory(prefix="rematch-aot-") as local:
        (Path(local) / note.name).write_text(cache.model_dump_json())
        host.put(Path(local) / note.name, part)
    _say(host, "mv", str(part), str(note))
    return cache


def unfinished(file: Path) -> Path:
    return file.with_suffix(".part.aot")


def _say(host: Host, *words: str) -> str:
    """Have a small program of the host's own work on its files; return what it printed."""
    return host.run(Command(argv=words, folder=Path("/")), FILES_WITHIN_S).stdout


def _send(host: MeasuringHost, process: Process, endpoint: Endpoint, requests: tuple[Request, ...]) -> None:
    """Send the requests once it answers; of one that ended, the missing cache and stderr tell."""
    if not answers(host, process, endpoint, requests[0], "the training start of an AOT cache"):
        return
    near = host.reach(endpoint)
    raw = [raw_request(request, near) for request in requests]
    with Connection(near) as connection:
        for number in range(TRAINING_REQUESTS):
            connection.exchange(raw[number % len(raw)])


READY_WITHIN_S = 60.0


def answers(host: MeasuringHost, process: Process, endpoint: Endpoint, request: Request, what: str) -> bool:
    """Wait until a service that was just started answers; return ``False`` when it has ended instead. Raises
    RematchError: it does neither; ``what`` names the training run."""
    first = host.first_answer(
        endpoint,
        raw_request(request, endpoint),
        watched(process),
        launched=process.launched,
        deadline_s=READY_WITHIN_S,
    ).first
    if not first.ready and not first.gone:
        raise RematchError(f"{what} was not ready within {READY_WITHIN_S:g} s")
    return first.ready


def watched(process: Process) -> Watched:
    return Watched(process.pid, process.start_ticks, process.cpu_at_launch_s)


def raw_request(request: Request, endpoint: Endpoint) -> bytes:
    """Return a request as it goes over the wire."""
    body = None if request.body is None else request.body.encode()
    return request_bytes(request.method, request.path, request.headers, body, endpoint)
