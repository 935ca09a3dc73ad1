# SPDX-License-Identifier: Apache-2.0
"""Profile-guided optimisation of Go services: ``go build`` reads a CPU profile of the program under load.

The profile is of a training run here, of the same sources, toolchain and settings. The program that is profiled has one
file more, which starts Go's own profiler; the program that is measured has not. ``go build`` takes a file
``default.pgo`` beside a main package by itself (https://go.dev/doc/pgo).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.agent.files import file_sha256
from harness.agent.http_exchange import Connection, ExchangeError
from harness.errors import RematchError
from harness.hosts.base import Command, Process
from harness.hosts.measuring import MeasuringHost
from harness.launchers.aot import answers, raw_request, watched
from harness.model import CpuProfile, Implementation, Request, Toolchain
from harness.model.endpoint import Endpoint

#: Where the profiled program writes its profile, in its working directory.
PROFILE = "cpu.pprof"
#: Before the profile begins, and its length.
SETTLE_S, PROFILED_S = 3, 30
#: Who sends the load of the training run, each over a connection of their own.
USERS = 4
#: A profile has 100 samples for each second of CPU time: fewer than some hundred say little of what is hot.
LEAST_CPU_S = 2.0
STOPPED_WITHIN_S = 10.0
WHAT = "the training run of a profile"

_ADDED = "rematch_cpu_profile.go"


def _source() -> str:
    """The file that the profiled program has more than the service."""
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


def file_in(folder: Path, implementation: Implementation) -> Path:
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


def train(
    host: MeasuringHost, command: Command, endpoint: Endpoint, requests: tuple[Request, ...]
) -> tuple[float, int]:
    """Run the profiled program under load until its profile is written; return its CPU time in seconds while it was
    loaded, and how many requests it answered. The profile is ``PROFILE`` in the command's folder. Raises
    RematchError: it did not get ready, ended, or wrote no profile of enough CPU time."""
    process = host.spawn(command)
    try:
        if not answers(host, process, endpoint, requests[0], WHAT):
            raise RematchError(f"the service ended in {WHAT}: {command.folder}")
        before_s = _cpu_s(host, process)
        begin = time.monotonic()
        with _load(host.reach(endpoint), requests) as n_answered:
            while not _made(host, command.folder / PROFILE):
                if process.exited() is not None or time.monotonic() - begin > SETTLE_S + PROFILED_S + 30:
                    raise RematchError(f"{WHAT} wrote no profile: {command.folder}")
                time.sleep(0.5)
        used_s = _cpu_s(host, process) - before_s
    finally:
        process.stop(STOPPED_WITHIN_S)
    if used_s < LEAST_CPU_S:
        raise RematchError(f"{WHAT} used {used_s:.1f} s of CPU time; at least {LEAST_CPU_S:g} s are needed")
    return used_s, sum(n_answered)


def keep(source: Path, file: Path, *, cpu_s: float, n_requests: int) -> None:
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


def _cpu_s(host: MeasuringHost, process: Process) -> float:
    read = host.resources(watched(process), pss=False)
    return read.cpu_s or 0.0


def _made(host: MeasuringHost, file: Path) -> bool:
    asked = host.run(Command(argv=("test", "-s", str(file)), folder=Path("/")), STOPPED_WITHIN_S)
    return asked.exit_code == 0


@contextlib.contextmanager
def _load(endpoint: Endpoint, requests: tuple[Request, ...]) -> Iterator[list[int]]:
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
        raise RematchError(f"no answer in {WHAT}: {problem}") from problem
