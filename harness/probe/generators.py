# SPDX-License-Identifier: Apache-2.0
"""Short loads by the leanest load tool of this machine, else by threads of this program."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from harness.agent.http_exchange import request_bytes
from harness.agent.platforms import usable_cpus
from harness.errors import InputError, RematchError, UnsupportedLoad
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.tools import adapter_of
from harness.model import ClosedLoad, Frozen, LoadProfile, OpenLoad
from harness.model.load_tools import LOAD_TOOLS
from harness.model.request import Expectation, Request
from harness.probe import own_client
from harness.probe.target import Target
from harness.toolchains import Surroundings, find_tool

#: The name of the threads of this program.
OWN = "threads of rematch"
#: From here on the generator's own CPU time is what limits the load.
BUSY = 0.85
#: A higher rate is more than threads of Python can send on time.
OWN_MOST_PER_S = 1500.0
_PERCENTILES = (0.5, 0.99)


class Point(Frozen):
    """One load. ``offered_per_s``: None in a closed loop; ``users``: None in an open one."""

    users: int | None = None
    offered_per_s: float | None = None
    answered_per_s: float
    error_share: float
    p50_s: float | None
    p99_s: float | None
    tool: str
    generator_cores: float = Field(description="CPUs that the load generator used on average")
    generator_bound: bool = Field(description="it used nearly all that it can: the service may do more")


class Generators:
    """The tools of this machine. ``tools``: names to choose from; None: all that are here."""

    def __init__(self, target: Target, root: Path, status: int, tools: Iterable[str] | None = None) -> None:
        self._target = target
        wanted = None if tools is None else set(tools)
        around = Surroundings(project=root)
        programs: dict[str, Path | None] = {}
        for tool in LOAD_TOOLS:
            if tool.runs_as == "program" and (wanted is None or tool.name in wanted):
                result = find_tool(tool.name, around)
                if result.usable:
                    programs[tool.name] = result.path
        self._cpus = len(usable_cpus())
        installed = Installed(programs=programs, n_cpus=self._cpus)
        lean_first = sorted(
            (tool for tool in LOAD_TOOLS if tool.name in programs), key=lambda one: not one.saturates
        )
        # what leaves out the beginning of a load has nothing to say of one of some seconds
        self._adapters = [
            adapter_of(tool.name, installed) for tool in lean_first if not tool.latencies_after_s
        ]
        self._request = Request(
            mix="try",
            name="try",
            method=target.method,
            path=target.path,
            headers=dict(target.headers),
            body=target.body,
            expect=Expectation(status=status),
        )

    def closed(self, users: int, duration_s: int) -> Point:
        """Offer a load of users who wait.

        Raises:
            RematchError: the tool failed.
        """
        profile = ClosedLoad(users=users, duration_s=float(duration_s))
        adapter = self._for(profile)
        if adapter is not None:
            return self._by_tool(adapter, profile, users=users)
        return self._by_threads(
            lambda request: own_client.closed(
                self._target.endpoint, request, users=users, duration_s=duration_s
            ),
            users=users,
        )

    def open_loop(self, rate_per_s: float, duration_s: int) -> Point:
        """Offer a rate, whether or not earlier requests were answered.

        Raises:
            RematchError: the tool failed.
        """
        whole = float(max(1, round(rate_per_s)))
        profile = OpenLoad(rate_per_s=whole, duration_s=float(duration_s), arrivals="constant")
        adapter = self._for(profile) if whole > OWN_MOST_PER_S or self._lean(profile) else None
        if adapter is not None:
            return self._by_tool(adapter, profile, offered_per_s=whole)
        return self._by_threads(
            lambda request: own_client.open_loop(
                self._target.endpoint, request, rate_per_s=whole, duration_s=duration_s
            ),
            offered_per_s=whole,
        )

    def _lean(self, profile: LoadProfile) -> bool:
        """The tool that would be taken costs less than threads of Python."""
        adapter = self._for(profile)
        return adapter is not None and any(
            tool.name == adapter.name and tool.saturates for tool in LOAD_TOOLS
        )

    def _for(self, profile: LoadProfile) -> LoadGenerator | None:
        return next(
            (adapter for adapter in self._adapters if adapter.supports(profile, (self._request,)) is None),
            None,
        )

    def _by_threads(self, send: Callable[[bytes], own_client.Sent], **asked: Any) -> Point:
        target = self._target
        body = None if target.body is None else target.body.encode()
        sent = send(request_bytes(target.method, target.path, target.headers, body, target.endpoint))
        n = len(sent.latency_s)
        n_all = max(n + sent.n_failed, sent.n_due or 0)
        lasted_s = max(sent.lasted_s, 1e-3)
        p50_s, p99_s = _percentiles(sent.latencies)
        return Point(
            **asked,
            answered_per_s=n / lasted_s,
            error_share=sent.n_failed / n_all if n_all else 1.0,
            p50_s=p50_s,
            p99_s=p99_s,
            tool=OWN,
            generator_cores=sent.cpu_s / lasted_s,
            generator_bound=sent.cpu_s / lasted_s >= BUSY,  # Python runs one thread at a time
        )

    def _by_tool(self, adapter: LoadGenerator, profile: LoadProfile, **asked: Any) -> Point:
        with tempfile.TemporaryDirectory(prefix="rematch-try-") as name:
            folder = Path(name)
            spec = LoadSpec(
                profile=profile, requests=(self._request,), endpoint=self._target.endpoint, folder=folder
            )
            try:
                command = adapter.command(spec)
            except UnsupportedLoad as problem:  # it said that it could
                raise RematchError(f"{adapter.name}: {problem}") from problem
            cpu_s, took_s = _run(command, folder)
            result = adapter.read(folder)
            p50_s, p99_s = (
                _of_files(folder / output for output in command.outputs)
                if result.has_requests
                else (result.latency_quantiles_s.get("p50"), result.latency_quantiles_s.get("p99"))
            )
        lasted_s = result.duration_s or took_s
        n_good = result.n_requests - result.n_errors
        cores = cpu_s / max(took_s, 1e-3)
        return Point(
            **asked,
            answered_per_s=n_good / max(lasted_s, 1e-3),
            error_share=result.n_errors / result.n_requests if result.n_requests else 1.0,
            p50_s=p50_s,
            p99_s=p99_s,
            tool=adapter.name,
            generator_cores=cores,
            generator_bound=cores >= BUSY * max(1, self._cpus // 2),
        )


def _run(command: LoadCommand, folder: Path) -> tuple[float, float]:
    """Run a command and what comes after it; return the CPU time of all of it, and the wall time of the first.

    Raises:
        RematchError: it failed, or did not end.
    """
    for name, text in command.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    before = _children_cpu_s()
    began = time.monotonic()
    took_s = 0.0
    for argv in (command.argv, *command.after):
        with (folder / command.stdout).open("ab") as out, (folder / command.stderr).open("ab") as err:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **command.environment},
                start_new_session=True,
            )
            try:
                process.wait(timeout=3 * command.expected_s + 20)
            except subprocess.TimeoutExpired:
                raise RematchError(f"{Path(argv[0]).name} did not end") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        took_s = took_s or time.monotonic() - began
    return _children_cpu_s() - before, took_s


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_files(paths: Iterable[Path]) -> tuple[float | None, float | None]:
    """Percentiles of the single requests that a tool has written."""
    for path in paths:
        if not path.is_file():
            continue
        try:
            table = read_any(path)
        except InputError:
            continue  # another of its files
        if isinstance(table, RequestTable):
            return _percentiles(table.latency_s[table.ok])
    return None, None


def _percentiles(latency_s: np.ndarray) -> tuple[float | None, float | None]:
    if not len(latency_s):
        return None, None
    p50_s, p99_s = np.quantile(latency_s, _PERCENTILES)
    return float(p50_s), float(p99_s)
