# SPDX-License-Identifier: Apache-2.0
"""Training runs of services: an AOT cache of a JVM, a CPU profile by which ``go build`` optimises.

A cache is made once per artifact, JDK and flags, where it is used, and lies beside the artifact there. A profile is
of the same sources, toolchain and settings; the program that is profiled has one file more, which starts Go's own
profiler, and the program that is measured has not. ``go build`` takes a file ``default.pgo`` beside a main package by
itself (https://go.dev/doc/pgo).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import Field

from harness.agent.files import file_sha256
from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.agent.sampler import Watched
from harness.errors import HostError, RematchError
from harness.hosts.base import Command, Host, Process, run_words
from harness.hosts.measuring import MeasuringHost
from harness.model import CpuProfile, Frozen, Implementation, Request, Toolchain
from harness.model.endpoint import Endpoint

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


class AotCache(Frozen):
    """A finished cache."""

    file: Path
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


def unfinished(file: Path) -> Path:
    """Return the name of a cache until it is whole."""
    return file.with_suffix(".part.aot")


def train_cache(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...], file: Path
) -> AotCache:
    """Start the service with ``command`` (which writes the cache to ``unfinished(file)``), send it some hundred
    requests, stop it, and give the cache its name. Raises RematchError: it did not get ready, or left no cache."""
    begin = time.monotonic()
    run_words(host, "rm", "-f", str(unfinished(file)))
    process = host.spawn(command)
    try:
        if _answers(host, process, endpoint, requests[0], "the training start of an AOT cache"):
            near = host.reach(endpoint)
            raw = [raw_request(request, near) for request in requests]
            with Connection(near) as connection:
                for number in range(TRAINING_REQUESTS):
                    connection.exchange(raw[number % len(raw)])
    finally:
        process.stop(ASSEMBLED_WITHIN_S)
    training_s = time.monotonic() - begin
    size = run_words(host, "stat", "-c", "%s", str(unfinished(file))).stdout.strip()
    if not size.isdigit():
        text = ""
        if command.stderr is not None:
            with contextlib.suppress(HostError):
                text = host.read(command.folder / command.stderr).decode(errors="replace").strip()
        raise RematchError(
            f"the training start left no AOT cache ({text[:300] or 'nothing on stderr'}): {command.folder}"
        )
    run_words(host, "mv", str(unfinished(file)), str(file))
    cache = AotCache(file=file, training_s=training_s, cache_bytes=int(size))
    note, part = file.with_suffix(".json"), file.with_suffix(".json.part")
    with tempfile.TemporaryDirectory(prefix="rematch-aot-") as local:
        (Path(local) / note.name).write_text(cache.model_dump_json())
        host.put(Path(local) / note.name, part)
    run_words(host, "mv", str(part), str(note))
    return cache


def _source() -> str:
    """Return the file that the profiled program has more than the service."""
    return f"""\
// Only in the program of a training run: writes a CPU profile of it.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

func init() {{
	go func() {{
		time.Sleep({SETTLE_S} * time.Second)
		if problem := rematchProfile("{PROFILE}"); problem != nil {{
			fmt.Fprintln(os.Stderr, "no CPU profile:", problem)
		}}
	}}()
}}

func rematchProfile(name string) error {{
	file, problem := os.Create(name + ".part")
	if problem != nil {{
		return problem
	}}
	if problem := pprof.StartCPUProfile(file); problem != nil {{
		return problem
	}}
	time.Sleep({PROFILED_S} * time.Second)
	pprof.StopCPUProfile()
	if problem := file.Close(); problem != nil {{
		return problem
	}}
	return os.Rename(name+".part", name)
}}
"""


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
    process = host.spawn(command)
    try:
        if not _answers(host, process, endpoint, requests[0], what):
            raise RematchError(f"the service ended in {what}: {command.folder}")
        before_s = host.resources(_watched(process), pss=False).cpu_s or 0.0
        begin = time.monotonic()
        with _load(host.reach(endpoint), requests, what) as n_answered:
            while not run_words(host, "find", str(command.folder / PROFILE), "-size", "+0").stdout:
                if process.exited() is not None or time.monotonic() - begin > SETTLE_S + PROFILED_S + 30:
                    raise RematchError(f"{what} wrote no profile: {command.folder}")
                time.sleep(0.5)
        used_s = (host.resources(_watched(process), pss=False).cpu_s or 0.0) - before_s
    finally:
        process.stop(STOPPED_WITHIN_S)
    if used_s < LEAST_CPU_S:
        raise RematchError(f"{what} used {used_s:.1f} s of CPU time; at least {LEAST_CPU_S:g} s are needed")
    return used_s, sum(n_answered)


def keep_profile(source: Path, file: Path, *, cpu_s: float, n_requests: int) -> None:
    """Keep a profile and what is known of it under the name by which builds find it."""
    known = CpuProfile(
        cpu_s=cpu_s,
        n_requests=n_requests,
        profile_bytes=source.stat().st_size,
        profile_sha256=file_sha256(source),
    )
    part = file.with_suffix(".part")
    shutil.copyfile(source, part)
    part.rename(file)
    part.write_text(known.model_dump_json(indent=1) + "\n")
    part.rename(file.with_suffix(".json"))


@contextlib.contextmanager
def _load(endpoint: Endpoint, requests: tuple[Request, ...], what: str) -> Iterator[list[int]]:
    """Keep sending the requests in turn while the context lasts; the list has how many each user sent."""
    raw = [raw_request(request, endpoint) for request in requests]
    n_answered, over = [0] * USERS, threading.Event()

    def ask(user: int) -> None:
        with Connection(endpoint) as connection:
            while not over.is_set():
                connection.exchange(raw[n_answered[user] % len(raw)])
                n_answered[user] += 1

    with ThreadPoolExecutor(USERS, thread_name_prefix="training") as pool:
        asked = [pool.submit(ask, user) for user in range(USERS)]
        try:
            yield n_answered
        finally:
            over.set()
    try:
        for item in asked:
            item.result()
    except (ExchangeError, OSError) as problem:
        raise RematchError(f"no answer in {what}: {problem}") from problem


def _answers(host: MeasuringHost, process: Process, endpoint: Endpoint, request: Request, what: str) -> bool:
    """Wait until a service that was just started answers; return ``False`` when it has ended instead. Raises
    RematchError: it does neither; ``what`` names the training run."""
    raw = raw_request(request, endpoint)
    started = host.first_answer(
        endpoint, raw, _watched(process), launched=process.launched, deadline_s=READY_WITHIN_S
    )
    if not started.first.ready and not started.first.gone:
        raise RematchError(f"{what} was not ready within {READY_WITHIN_S:g} s")
    return started.first.ready


def _watched(process: Process) -> Watched:
    return Watched(process.pid, process.start_ticks, process.cpu_at_launch_s)


def raw_request(request: Request, endpoint: Endpoint) -> bytes:
    """Return a request as it goes over the wire."""
    body = None if request.body is None else request.body.encode()
    return request_bytes(request.method, request.path, request.headers, body, endpoint)
