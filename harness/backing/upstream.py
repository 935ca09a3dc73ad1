# SPDX-License-Identifier: Apache-2.0
"""The upstream API: an implementation folder ``upstream-api`` of the workload, launched like any other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.backing.base import BackingNeed
from harness.errors import InputError, TrialFailure
from harness.exchange import Connection, ExchangeError, request_bytes
from harness.launchers.base import Instance, Launcher, LaunchOrder
from harness.loadgen.base import Endpoint
from harness.model import (
    BackingName,
    BackingRecord,
    BuildRecord,
    Implementation,
    InvariantReading,
    Outcome,
    Variant,
)

IMPLEMENTATION = "upstream-api"
FOLDER = "upstream"
READY_WITHIN_S = 30.0
ATTEMPTS_WHEN_PORT_TAKEN = 3


class LentUpstream:
    """A running upstream API, as a trial has it."""

    def __init__(self, instance: Instance, need: BackingNeed, ready_s: float, folder: Path) -> None:
        self._instance, self._need, self._ready_s, self._folder = instance, need, ready_s, folder
        self._stopped = False

    @property
    def record(self) -> BackingRecord:
        known = self._instance.record
        return BackingRecord(
            name="upstream",
            version=known.artifact_sha256[:12],
            settings=self._need.settings,
            argv=known.argv,
            pid=known.pid,
            process_start_ticks=known.process_start_ticks,
            port=known.port,
            launched=known.launched,
            cpu_affinity=known.cpu_affinity,
            ready_s=self._ready_s,
            exit_code=known.exit_code,
            stop_signal=known.stop_signal,
        )

    @property
    def environment(self) -> Mapping[str, str]:
        return {"UPSTREAM_URL": f"http://{self._instance.endpoint.host}:{self._instance.endpoint.port}"}

    @property
    def cpu_at_launch_s(self) -> float:
        return self._instance.cpu_at_launch_s

    def ended(self) -> str | None:
        code = None if self._stopped else self._instance.exited()
        if code is None:
            return None
        how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
        return f"the upstream API ended by itself ({how}; it said: {_last_words(self._folder)})"

    def invariants(self) -> tuple[InvariantReading, ...]:
        return ()  # it keeps nothing

    def stop(self) -> BackingRecord:
        self._stopped = True
        self._instance.stop()
        return self.record


class Upstream:
    """See ``BackingSource``. ``find`` returns the implementation of a workload's upstream API, if it has one."""

    name: BackingName = "upstream"

    def __init__(self, launcher: Launcher, find: Callable[[str], Implementation | None]) -> None:
        self._launcher, self._find = launcher, find
        self._builds: dict[str, BuildRecord] = {}

    def unavailable(self, need: BackingNeed) -> str | None:
        implementation = self._find(need.workload)
        if implementation is None:
            return f"services/{need.workload}/{IMPLEMENTATION} is not there, and the upstream API is wanted"
        return self._launcher.unavailable(implementation, _variant(need))

    def prepare(self, need: BackingNeed) -> None:
        self._builds[need.workload] = self._launcher.build(self._implementation(need), _variant(need))

    def start(self, need: BackingNeed, folder: Path) -> LentUpstream:
        """See ``BackingSource.start``."""
        if need.workload not in self._builds:
            self.prepare(need)
        below = folder / FOLDER
        below.mkdir(exist_ok=True)
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS_WHEN_PORT_TAKEN + 1):
            instance = self._launcher.launch(
                LaunchOrder(
                    implementation=self._implementation(need),
                    variant=_variant(need),
                    build=self._builds[need.workload],
                    folder=below,
                    cpus=need.cpus,
                )
            )
            try:
                _wait_until_healthy(instance, self._implementation(need).readiness, below)
                return LentUpstream(instance, need, time.monotonic() - began, below)
            except BaseException as problem:
                instance.stop()
                again = isinstance(problem, TrialFailure) and instance.port_taken()
                if not again or attempt == ATTEMPTS_WHEN_PORT_TAKEN:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> tuple[int, ...]:
        return ()

    def _implementation(self, need: BackingNeed) -> Implementation:
        implementation = self._find(need.workload)
        if implementation is None:
            raise InputError("is not there", file=f"services/{need.workload}/{IMPLEMENTATION}")
        return implementation


def _variant(need: BackingNeed) -> Variant:
    return Variant(implementation=IMPLEMENTATION, settings=need.settings.upstream)


def _wait_until_healthy(instance: Instance, path: str, folder: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not _healthy(instance.endpoint, path):
        code = instance.exited()
        if code is not None:
            raise TrialFailure(
                Outcome.FAILED,
                f"the upstream API exited with {code} before it was ready: {_last_words(folder)}",
            )
        if time.monotonic() > deadline:
            raise TrialFailure(
                Outcome.FAILED, f"the upstream API did not answer GET {path} within {READY_WITHIN_S:g} s"
            )
        time.sleep(0.002)


def _healthy(endpoint: Endpoint, path: str) -> bool:
    try:
        with Connection(endpoint, 5.0) as connection:
            return connection.exchange(request_bytes("GET", path, {}, None, endpoint)).status == 200
    except (ExchangeError, OSError):
        return False


def _last_words(folder: Path) -> str:
    try:
        lines = (folder / "service.stderr.txt").read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "nothing"
