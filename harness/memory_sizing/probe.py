# SPDX-License-Identifier: Apache-2.0
"""One fresh instance, asked for a while and stopped: whether it did its work, and what it held at the end; and what is
asked for the memory of an experiment's variants."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agent.http_exchange import Connection
from harness.conformance import check
from harness.errors import TrialFailure
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.launchers.base import Instance, LaunchSpec
from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow, readiness_request
from harness.model import (
    BuildRecord,
    Configuration,
    Experiment,
    Implementation,
    Load,
    OpenLoad,
    Outcome,
    Request,
    Variant,
)
from harness.model.endpoint import Endpoint
from harness.runner import Limits, placement_of
from harness.runner.context import TrialContext, watch
from harness.runner.outcome import crash
from harness.runner.snapshots import save_metrics
from harness.runner.start_up import ServiceSpec, bring_up_service, stop_service
from harness.runner.trial import bounded
from harness.runner.warm_up import User, warm_up
from harness.workloads import Case, face_of

#: So long may pass between the end of a connection and that of its process; how far a cold instance may fall behind.
DYING_S, MOST_LATE_COLD_S = 0.5, 2.0
READY_S, BURSTS, AT_ONCE_PER_S, MOST_USERS = 5.0, 3, 1e6, 32


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an instance is asked, at a rate.

    ``cold_requests`` come first, then ``at_once`` at the same moment, ``BURSTS`` times, as after any stall.
    ``as_trial``: before all that the contract's cases, its own metrics, and ``warm_up_requests`` one after another.
    ``keeps_to_bytes``: the limit that a Go runtime must keep to.
    """

    requests: tuple[Request, ...]
    rate_per_s: float
    n_requests: int
    most_late_s: float
    cold_requests: int = 0
    at_once: int = 0
    warm_up_requests: int = 0
    as_trial: tuple[Case, ...] = ()
    keeps_to_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProbeSpec:
    """One instance to be tried, on the CPUs of a trial's; ``folder`` is thrown away."""

    name: str
    implementation: Implementation
    variant: Variant
    build: BuildRecord
    asked: Asked
    folder: Path


def held_bytes(spec: ProbeSpec, context: TrialContext) -> int:
    """Start an instance, ask it, and return what it holds, resident, when it has answered.

    Raises:
        TrialFailure: it did not do its work; the reason tells why, its memory's end first.
    """
    shutil.rmtree(spec.folder, ignore_errors=True)
    spec.folder.mkdir(parents=True)
    started: list[Instance] = []
    try:
        return _asked(spec, context, context.host.open_folder(spec.folder), started)
    except TrialFailure as failure:
        reasons = [why for instance in started if (why := instance.out_of_memory()) is not None]
        if not reasons:
            raise
        raise TrialFailure(Outcome.OUT_OF_MEMORY, f"{reasons[-1]} ({failure.reason})") from failure
    finally:
        for instance in started:
            stop_service(instance, context)
        context.host.close_folder(spec.folder)
        shutil.rmtree(spec.folder, ignore_errors=True)


def _asked(spec: ProbeSpec, context: TrialContext, folder: Path, started: list[Instance]) -> int:
    asked, variant, service = spec.asked, spec.variant, spec.implementation
    launch = LaunchSpec(
        implementation=service, variant=variant, build=spec.build, folder=folder,
        cpus=placement_of(variant.runtime, context).service,
    )  # fmt: skip
    first = readiness_request(asked.requests)
    instance, _ = bring_up_service(
        ServiceSpec(launch=launch, role=spec.name, first=first, ready_s=READY_S),
        context,
        begun=started.append,
        stop=lambda launched: stop_service(launched, context),
    )
    endpoint = context.host.reach(instance.endpoint)
    try:
        if asked.as_trial:
            face, settings = face_of(variant.settings), variant.settings
            check(endpoint, asked.as_trial, face, service.language, service.name, settings=settings)
            save_metrics(endpoint, spec.folder / "metrics.prom")
        if asked.warm_up_requests:
            warm_up(endpoint, asked.requests, asked.warm_up_requests)
        _ask(endpoint, asked)
        if asked.keeps_to_bytes is not None:
            _refuse_over_limit(endpoint, spec.folder / "limit.prom", asked.keeps_to_bytes)
        held = context.host.resources(watch(instance)).rss_bytes
    except TrialFailure as failure:
        ended = failure.outcome == Outcome.FAILED and _ends(instance)
        code = instance.exited()
        stop_service(instance, context)  # what it says of its memory's end is asked for when it has ended
        if ended:
            raise crash(code, "while it was tried", folder, context.host) from failure
        raise
    if held is None or instance.exited() is not None:
        raise crash(instance.exited(), "while it was tried", folder, context.host)
    return held


def _ask(endpoint: Endpoint, asked: Asked) -> None:
    """Send everything that it is asked at a rate, or at once."""
    rate = asked.rate_per_s
    parts = [(asked.cold_requests, rate, MOST_USERS, MOST_LATE_COLD_S)]
    parts += BURSTS * [(asked.at_once, AT_ONCE_PER_S, asked.at_once, MOST_LATE_COLD_S)]
    parts += [(asked.n_requests, rate, MOST_USERS, asked.most_late_s)]
    for n, rate_per_s, users, late_s in parts:
        if n:
            ask_at_rate(
                endpoint, asked.requests, rate_per_s=rate_per_s, n_requests=n, most_late_s=late_s, users=users
            )


def _ends(instance: Instance) -> bool:
    """Whether it ends by itself: who no longer answers may need a moment for that."""
    until = time.monotonic() + DYING_S
    while instance.exited() is None and time.monotonic() < until:
        time.sleep(0.02)
    return instance.exited() is not None


def ask_at_rate(
    endpoint: Endpoint, requests: tuple[Request, ...], *, rate_per_s: float, n_requests: int, most_late_s: float,
    users: int = MOST_USERS, timeout_s: float = 5.0,
) -> None:  # fmt: skip
    """Send ``n_requests`` requests of the mix, evenly spaced, and check every answer.

    Raises:
        TrialFailure: nonconforming (a wrong answer), failed (no answer), or overloaded (a request could be
            sent only ``most_late_s`` after it was due); the first of them ends it all.
    """
    users = min(users, n_requests)
    ends = threading.Event()
    begin_s = time.monotonic()

    def ask(user: int) -> None:
        connection = Connection(endpoint, timeout_s)
        numbers = iter(range(user, n_requests, users))

        def go_on() -> bool:
            connection.close()
            due_s = begin_s + next(numbers) / rate_per_s
            late_s = time.monotonic() - due_s
            if late_s > most_late_s:
                why = f"fell {late_s:.1f} s behind {rate_per_s:g} requests a second"
                raise TrialFailure(Outcome.OVERLOADED, why)
            return not ends.wait(max(0.0, -late_s))

        try:
            with connection:
                share = n_requests // users + (user < n_requests % users)
                User(connection, endpoint, f" of user {user + 1}", go_on, "request").send(requests, share)
        except BaseException:
            ends.set()
            raise

    with ThreadPoolExecutor(users, thread_name_prefix="asking") as pool:
        asked = [pool.submit(ask, user) for user in range(users)]
    for item in asked:
        item.result()
    late_s = time.monotonic() - begin_s - n_requests / rate_per_s
    if late_s > most_late_s:
        raise TrialFailure(Outcome.OVERLOADED, f"its last answer came {late_s:.1f} s late")


#: ``GOMEMLIMIT`` is soft: a limit is enough only where what the runtime holds, by its own account, is no more than the
#: limit when the program has answered; a runtime that paces itself may be so far above it at one moment.
OVER_SHARE = 0.05
_OBTAINED, _RETURNED = "go_memstats_sys_bytes", "go_memstats_heap_released_bytes"


def over_limit(metrics: str | None, limit_bytes: int) -> str | None:
    """Return why a Go program does not keep to its limit, by its own metrics, or ``None``."""
    values = {} if metrics is None else parse_runtime_metrics(metrics).gauges
    if _OBTAINED not in values or _RETURNED not in values:
        return "its metrics do not tell what its runtime holds"
    held = int(values[_OBTAINED] - values[_RETURNED])
    if held <= (1 + OVER_SHARE) * limit_bytes:
        return None
    return f"its runtime holds {held / 2**20:.1f} MiB, more than its limit of {limit_bytes / 2**20:.1f} MiB"


def _refuse_over_limit(endpoint: Endpoint, file: Path, limit_bytes: int) -> None:
    reason = over_limit(file.read_text("utf-8") if save_metrics(endpoint, file) else None, limit_bytes)
    if reason is not None:
        raise TrialFailure(Outcome.OUT_OF_MEMORY, reason)


#: Seconds: a search asks for so long, memory is read after so long at the most, and the load's own generator asks for
#: so long beyond the time in which loads settle.
COLD_S, SEARCH_S, HOLD_S, TRIED_S = 0.8, 1.5, 8.0, 3.0
#: Requests of a search at least, and as many at one moment as the load has connections or users, up to the second.
FEWEST_REQUESTS, MOST_AT_ONCE = 200, 100
#: Faster than this nobody can ask from within this process; the rate in place of users, who have none.
MOST_PER_S, USERS_PER_S = 500.0, 200.0
#: A program that can do little more than half of the rate comes later than this in ``SEARCH_S``; a pause does not.
MOST_LATE_S = 0.75


@dataclass(frozen=True, kw_only=True)
class FitSpec:
    """Variants (``names``) under ``load``, which ``generator`` offers; ``settle_s``: how long loads settle."""

    experiment: Experiment
    names: tuple[str, ...]
    implementations: Mapping[str, Implementation]
    build: Callable[[Implementation, Variant], BuildRecord]
    configuration: Configuration
    load: Load
    generator: LoadGenerator
    settle_s: float
    requests: tuple[Request, ...]
    cases: tuple[Case, ...]
    contract: Path
    folder: Path
    seed: int
    limits: Limits
    say: Callable[[str], None]

    @property
    def tried(self) -> Load:
        """The load, short: under which a heap has to hold."""
        return tried(self.load, self.settle_s, len(self.requests) if is_flow(self.requests) else 1)

    @property
    def rate_per_s(self) -> float:
        """Of the requests from within the harness."""
        profile = self.load.profile
        return min(profile.rate_per_s, MOST_PER_S) if isinstance(profile, OpenLoad) else USERS_PER_S

    @property
    def hold_s(self) -> float:
        """For how long a program is asked before its memory is read."""
        return min(self.load.profile.whole_s or HOLD_S, HOLD_S)

    @property
    def searched(self) -> Asked:
        """What a program is asked while its least heap is searched."""
        profile = self.load.profile
        at_once = min(profile.connections if isinstance(profile, OpenLoad) else profile.users, MOST_AT_ONCE)
        return self._asks(SEARCH_S, cold_requests=round(self.rate_per_s * COLD_S), at_once=at_once)

    @property
    def held_under(self) -> Asked:
        """What a program is asked before its memory is read."""
        n = self.configuration.warm_up_requests
        return self._asks(self.hold_s, as_trial=self.cases, warm_up_requests=n, most_late_s=HOLD_S)

    def _asks(self, lasts_s: float, **more: Any) -> Asked:
        facts: dict[str, Any] = {"requests": self.requests, "rate_per_s": self.rate_per_s}
        facts["most_late_s"] = MOST_LATE_S
        facts["n_requests"] = max(FEWEST_REQUESTS, round(self.rate_per_s * lasts_s))
        return Asked(**(facts | more))


def tried(load: Load, settle_s: float, n_steps: int = 1) -> Load:
    """Return the same load for as long as loads settle and ``TRIED_S`` more; ``n_steps``: of a flow."""
    return load.model_copy(update={"profile": bounded(load.profile, n_steps, settle_s + TRIED_S)})


#: About what each takes, for planning only: a search from within, and one program whose memory is read.
SEARCH_TAKES_S, START_TAKES_S = 20.0, 4.0
#: So many trials under the load's own generator end a search: two must hold, and some fail before, sooner.
TRIALS_EACH = 3


def asked_of(experiment: Experiment, names: tuple[str, ...]) -> dict[str, str]:
    """Return variant -> what of its memory must be measured, of these variants and those that they name."""
    with_others = [
        each for name in names for each in (name, experiment.variants[name].runtime.memory_of) if each
    ]
    wanted = {name: experiment.variants[name].runtime.memory_asked for name in with_others}
    return {name: what for name, what in wanted.items() if what is not None}


def alike(experiment: Experiment, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the variants whose heap or limit is a multiple, together where they differ in nothing but that."""
    results: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in names:
        variant = experiment.variants[name]
        if variant.runtime.memory_multiple is not None:
            runtime = variant.runtime.model_copy(update={"heap_max": None, "gomemlimit": None})
            bare = variant.model_copy(update={"runtime": runtime, "label": None})
            key = variant.implementation, bare.model_dump_json()
            results[key] = (*results.get(key, ()), name)
    return list(results.values())


def fit_s(experiment: Experiment, names: tuple[str, ...], trial_s: float) -> float:
    """Return about how long it takes, in seconds. ``trial_s``: one trial under the load's own generator."""
    asked = tuple(asked_of(experiment, names))
    matched = [other for name in asked if (other := experiment.variants[name].runtime.memory_of) is not None]
    searches_s = len(alike(experiment, asked)) * (SEARCH_TAKES_S + TRIALS_EACH * trial_s)
    return searches_s + (len(set(matched)) + 2 * len(matched)) * (HOLD_S + START_TAKES_S)
