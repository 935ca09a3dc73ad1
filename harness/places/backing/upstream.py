# SPDX-License-Identifier: Apache-2.0
"""The upstream API: an implementation folder ``upstream-api`` of the workload, launched like any other."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from harness.agent.http_exchange import request_bytes
from harness.agent.sampler import Subject
from harness.errors import InputError, TrialFailure
from harness.model import (
    BackingName,
    BackingRecord,
    BuildRecord,
    Implementation,
    InvariantReading,
    Outcome,
    Variant,
)
from harness.places.backing.base import BackingNeed
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.base import STDERR, Instance, Launcher, LaunchSpec

IMPLEMENTATION = "upstream-api"
FOLDER = "upstream"
READY_WITHIN_S = 30.0
#: What a record of it has as that of its instance.
OF_THE_INSTANCE = (
    "argv", "pid", "process_start_ticks", "port", "launched", "cpu_affinity", "exit_code", "stop_signal",
)  # fmt: skip


class UpstreamLease:
    """A running upstream API, as a trial has it. ``local``: the folder here that stands for its own on ``host``."""

    def __init__(self, instance: Instance, need: BackingNeed, host: MeasuringHost, local: Path) -> None:
        self._instance, self._need, self._host, self._local = instance, need, host, local
        self._ready_s, self._stopped = 0.0, False
        self.environment = {"UPSTREAM_URL": instance.endpoint.url}
        self.cpu_at_launch_s = instance.cpu_at_launch_s

    @property
    def record(self) -> BackingRecord:
        known = self._instance.record
        same = {name: getattr(known, name) for name in OF_THE_INSTANCE}
        version, own = known.artifact_sha256[:12], self._need.settings
        return BackingRecord(name="upstream", version=version, settings=own, ready_s=self._ready_s, **same)

    def ended(self) -> str | None:
        code = None if self._stopped else self._instance.exited()
        if code is None:
            return None
        how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
        return f"the upstream API ended by itself ({how}; output: {self._last_words()})"

    def invariants(self) -> tuple[InvariantReading, ...]:
        return ()  # it keeps nothing

    def stored(self, *, over: bool) -> dict[str, int]:
        return {}

    def stop(self) -> BackingRecord:
        if not self._stopped:
            self._stopped = True
            self._instance.stop()
            self._host.close_folder(self._local)
        return self.record

    def wait_until_healthy(self, path: str, began: float) -> None:
        """Ask it until it answers. Raises TrialFailure: it ended, answered wrongly, or not in time."""
        instance, record = self._instance, self._instance.record
        first = self._host.first_answer(
            instance.endpoint,
            request_bytes("GET", path, {}, None, instance.endpoint),
            Subject(record.pid, record.process_start_ticks, instance.cpu_at_launch_s),
            launched=record.launched,
            deadline_s=READY_WITHIN_S,
        ).first
        if first.answer is not None and first.answer.status == 200:
            self._ready_s = time.monotonic() - began
        elif (code := instance.exited()) is not None:
            words = f"exited with {code} before it was ready: {self._last_words()}"
            raise TrialFailure(Outcome.FAILED, f"the upstream API {words}")
        else:
            words = f"did not answer GET {path} rightly within {READY_WITHIN_S:g} s"
            raise TrialFailure(Outcome.FAILED, f"the upstream API {words}")

    def _last_words(self) -> str:
        lines = self._instance.tail(STDERR).strip().splitlines()
        return lines[-1][:300] if lines else "nothing"


class Upstream:
    """See ``BackingSource``. ``find`` returns the implementation of a workload's upstream API, if it has one; ``host``
    is where ``launcher`` launches."""

    name: BackingName = "upstream"

    def __init__(
        self, launcher: Launcher, find: Callable[[str], Implementation | None], host: MeasuringHost
    ) -> None:
        self._launcher, self._find, self._host = launcher, find, host
        self._builds: dict[str, tuple[Implementation, BuildRecord]] = {}

    def unavailable(self, need: BackingNeed) -> str | None:
        implementation = self._find(need.workload)
        if implementation is None:
            return f"services/{need.workload}/{IMPLEMENTATION} is missing, and the upstream API requires it"
        return self._launcher.unavailable(implementation, _variant(need))

    def prepare(self, need: BackingNeed) -> None:
        implementation = self._find(need.workload)
        if implementation is None:
            raise InputError("is not there", file=f"services/{need.workload}/{IMPLEMENTATION}")
        self._builds[need.workload] = implementation, self._launcher.build(implementation, _variant(need))

    def start(self, need: BackingNeed, folder: Path) -> UpstreamLease:
        """See ``BackingSource.start``."""
        if need.workload not in self._builds:
            self.prepare(need)
        local = folder / FOLDER
        local.mkdir(exist_ok=True)
        with contextlib.ExitStack() as undo:
            remote = self._host.open_folder(local)
            undo.callback(self._host.close_folder, local)
            began, (implementation, build) = time.monotonic(), self._builds[need.workload]
            spec = LaunchSpec(
                implementation=implementation, variant=_variant(need), build=build, folder=remote, cpus=need.cpus,
            )  # fmt: skip
            instance = self._launcher.launch(spec)
            undo.callback(instance.stop)
            lent = UpstreamLease(instance, need, self._host, local)
            lent.wait_until_healthy(implementation.readiness, began)
            undo.pop_all()
        return lent

    def close(self) -> tuple[int, ...]:
        return ()


def _variant(need: BackingNeed) -> Variant:
    return Variant(implementation=IMPLEMENTATION, settings=need.settings.upstream)
