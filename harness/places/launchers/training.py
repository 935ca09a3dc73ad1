# SPDX-License-Identifier: Apache-2.0
"""Training runs of services: an AOT cache of a JVM, a CPU profile by which ``go build`` optimises.

A cache is made once per artifact, JDK and flags, where it is used, and lies beside the artifact there; it counts once
its note (``.json``) is there. A profile is of the same sources, toolchain and settings; the program that is profiled
has one file more, which starts Go's own profiler, and the program that is measured has not. ``go build`` takes a file
``default.pgo`` beside a main package by itself (https://go.dev/doc/pgo).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from string import Template

from pydantic import Field

from harness.agent.files import file_sha256
from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.agent.sampler import Subject
from harness.errors import HostError, RematchError
from harness.model import CpuProfile, Endpoint, Frozen, Implementation, Request, Toolchain
from harness.places.hosts.base import Command, Host, Process, run_words
from harness.places.hosts.measuring import MeasuringHost

READY_WITHIN_S = 60.0
STOPPED_WITHIN_S = 10.0

#: JEP 514: the cache is made in one step since this release.
AOT_SINCE = 25
TRAINING_REQUESTS = 400
#: At exit the JVM starts another one that assembles the cache; that takes seconds.
ASSEMBLED_WITHIN_S = 120.0

#: Where the profiled program writes its profile, in its working directory.
PROFILE = "cpu.pprof"
#: Before the profile begins, and its length.
SETTLE_S, PROFILED_S = 3, 30
#: Connections that send the load of a profile.
USERS = 4
#: A profile has 100 samples for each second of CPU time: fewer than some hundred say little of what is hot.
LEAST_CPU_S = 2.0
_ADDED = "rematch_cpu_profile.go"
_TEMPLATE = Path(__file__).parent / "templates" / "cpu_profile.go.template"


class AotCache(Frozen):
    """A finished cache."""

    training_s: float = Field(description="from the training start until the cache was written")
    cache_bytes: int


def cache_file(folder: Path, java_version: str, flags: tuple[str, ...]) -> Path:
    """Return where the cache for these flags lies beside the artifact, on the host that uses it."""
    key = hashlib.sha256("\0".join([java_version, *flags]).encode()).hexdigest()[:12]
    return folder / f"aot-{key}.aot"


def find_cache(host: Host, file: Path) -> AotCache | None:
    """Return what is known of a cache on a host, or ``None`` when it was never made there."""
    try:
        return AotCache.model_validate_json(host.read(file.with_suffix(".json")))
    except (HostError, ValueError):
        return None


def train_cache(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...], file: Path
) -> AotCache:
    """Start the service with ``command`` (which writes the cache to ``file``), send it some hundred requests, stop
    it, and note the cache. Raises RematchError: it did not get ready, or left no cache."""
    begin, note = time.monotonic(), file.with_suffix(".json")
    run_words(host, "rm", "-f", str(file), str(note))
    what = "the training start of an AOT cache"
    at_work = _at_work(
        host, command, endpoint, requests, what, most=TRAINING_REQUESTS, grace_s=ASSEMBLED_WITHIN_S
    )
    with at_work as (_, _, asked):
        wait(asked)
    training_s = time.monotonic() - begin
    size = run_words(host, "stat", "-c", "%s", str(file)).stdout.strip()
    if not size.isdigit():
        raise RematchError(f"{what} left none ({_complaint(host, command)}): {command.folder}")
    cache = AotCache(training_s=training_s, cache_bytes=int(size))
    with tempfile.TemporaryDirectory(prefix="rematch-aot-") as local:
        (Path(local) / note.name).write_text(cache.model_dump_json())
        host.put(Path(local) / note.name, note)
    return cache


def _source() -> str:
    """Return the file that the profiled program has more than the service."""
    text = Template(_TEMPLATE.read_text("utf-8"))
    return text.substitute(profile=PROFILE, settle_s=SETTLE_S, profiled_s=PROFILED_S)


def profiled(implementation: Implementation) -> Implementation:
    """Return the program of the training run, of one that is compiled with a profile."""
    named = implementation.toolchain or Toolchain()
    without = named.model_copy(update={"pgo": None, "profiled": True})
    return implementation.model_copy(update={"toolchain": without})


def identity(implementation: Implementation) -> list[str]:
    """Return what tells such a build from others of the same sources; empty for those without a profile."""
    named = implementation.toolchain or Toolchain()
    if named.profiled:
        return ["profiled", _source()]
    return [] if named.pgo is None else ["pgo", _source(), *named.pgo]


def profile_in(folder: Path, implementation: Implementation) -> Path:
    """Return the file of a profile of these settings in the folder of the profiled program."""
    named = implementation.toolchain or Toolchain()
    return folder / f"profile-{hashlib.sha256('|'.join(named.pgo or ()).encode()).hexdigest()[:12]}.pgo"


def add_to(
    sources: Path, argv: tuple[str, ...], implementation: Implementation, profile: Path
) -> CpuProfile | None:
    """Add to a copy of the sources what such a build needs; return the profile that it is compiled with. ``argv``:
    the build's command, whose last word names the main package. Raises RematchError: there is no such profile yet."""
    named = implementation.toolchain or Toolchain()
    package = sources / argv[-1] if argv[-1:] and argv[-1].startswith(".") else sources
    if named.profiled:
        (package / _ADDED).write_text(_source())
    if named.pgo is None:
        return None
    try:
        known = CpuProfile.model_validate_json(profile.with_suffix(".json").read_bytes())
        shutil.copyfile(profile, package / "default.pgo")
    except (OSError, ValueError) as problem:
        raise RematchError(f"{implementation.name}: it has no CPU profile to be compiled with") from problem
    return known


def train_profile(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...]
) -> tuple[float, int]:
    """Run the profiled program under load until its profile is written; return its CPU time in seconds while it was
    loaded, and how many requests it answered. The profile is ``PROFILE`` in the command's folder. Raises
    RematchError: it did not get ready, ended, or wrote no profile of enough CPU time."""
    what = "the training run of a profile"
    at_work = _at_work(host, command, endpoint, requests, what, users=USERS, grace_s=STOPPED_WITHIN_S)
    with at_work as (process, n_answered, _):
        before_s = host.resources(_watched(process), pss=False).cpu_s or 0.0
        begin = time.monotonic()
        while not run_words(host, "find", str(command.folder / PROFILE), "-size", "+0").stdout:
            if process.exited() is not None or time.monotonic() - begin > SETTLE_S + PROFILED_S + 30:
                raise RematchError(f"{what} wrote no profile ({_complaint(host, command)}): {command.folder}")
            time.sleep(0.5)
        used_s = (host.resources(_watched(process), pss=False).cpu_s or 0.0) - before_s
    if used_s < LEAST_CPU_S:
        raise RematchError(f"{what} used {used_s:.1f} s of CPU time; at least {LEAST_CPU_S:g} s are needed")
    return used_s, sum(n_answered)


def keep_profile(source: Path, file: Path, *, cpu_s: float, n_requests: int) -> None:
    """Keep a profile under the name by which builds find it, and then what is known of it."""
    known = CpuProfile(
        cpu_s=cpu_s,
        n_requests=n_requests,
        profile_bytes=source.stat().st_size,
        profile_sha256=file_sha256(source),
    )
    shutil.copyfile(source, file)
    part = file.with_suffix(".part")
    part.write_text(known.model_dump_json(indent=1) + "\n")
    part.rename(file.with_suffix(".json"))


@contextlib.contextmanager
def _at_work(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...], what: str,
    *, users: int = 1, most: int = sys.maxsize, grace_s: float,
) -> Iterator[tuple[Process, list[int], list[Future[None]]]]:  # fmt: skip
    """Run a service, each of whose users sends it up to so many requests in turn while the context lasts; yield its
    process, how many each user had answered, and their work. Raises RematchError: it did not get ready, ended, or
    gave no answer."""
    process = host.spawn(command)
    try:
        raw = raw_request(requests[0], endpoint)
        watched, launched = _watched(process), process.launched
        first = host.first_answer(endpoint, raw, watched, launched=launched, deadline_s=READY_WITHIN_S).first
        if not first.ready:
            why = "ended" if first.gone else f"was not ready within {READY_WITHIN_S:g} s"
            raise RematchError(f"the service {why} in {what} ({_complaint(host, command)}): {command.folder}")
        near = host.reach(endpoint)
        every = [raw_request(request, near) for request in requests]
        n_answered, over = [0] * users, threading.Event()

        def ask(user: int) -> None:
            with Connection(near) as connection:
                while n_answered[user] < most and not over.is_set():
                    connection.exchange(every[n_answered[user] % len(every)])
                    n_answered[user] += 1

        with ThreadPoolExecutor(users, thread_name_prefix="training") as pool:
            asked = [pool.submit(ask, user) for user in range(users)]
            try:
                yield process, n_answered, asked
            finally:
                over.set()
        for item in asked:
            item.result()
    except (ExchangeError, OSError) as problem:
        raise RematchError(f"no answer in {what}: {problem}") from problem
    finally:
        process.stop(grace_s)


def _complaint(host: MeasuringHost, command: Command) -> str:
    """Return what the service wrote to stderr, or that it wrote nothing."""
    text = b""
    with contextlib.suppress(HostError):
        text = host.read(command.folder / (command.stderr or ""))
    return " ".join(text.decode(errors="replace").split())[:300] or "nothing on stderr"


def _watched(process: Process) -> Subject:
    return Subject(process.pid, process.start_ticks, process.cpu_at_launch_s)


def raw_request(request: Request, endpoint: Endpoint) -> bytes:
    """Return a request as it goes over the wire."""
    body = None if request.body is None else request.body.encode()
    return request_bytes(request.method, request.path, request.headers, body, endpoint)
