# SPDX-License-Identifier: Apache-2.0
"""One fresh instance, asked for a while and stopped: whether it did its work, and what it held at the end.

It gets the CPUs that a trial's instance would; its folder is thrown away.
"""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.agent.http_exchange import Connection
from harness.conformance import check
from harness.errors import TrialFailure
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.launchers.base import Instance, LaunchSpec
from harness.loadgen.flow import readiness_request
from harness.model import BuildRecord, Implementation, Outcome, Request, Variant
from harness.model.endpoint import Endpoint
from harness.runner import placement_of
from harness.runner.context import TrialContext, watch
from harness.runner.outcome import crash
from harness.runner.snapshots import save_metrics
from harness.runner.start_up import ServiceSpec, bring_up_service, stop_service
from harness.runner.warm_up import User, warm_up
from harness.workloads import Case, face_of

#: So long may pass between the end of a connection and that of its process.
DYING_S = 0.5
BURSTS, AT_ONCE_PER_S = 3, 1e6
#: How far a cold instance may fall behind before it is given up.
MOST_LATE_COLD_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an instance is asked, at a rate.

    ``cold_requests`` come first, when it may still be slow for other reasons than its memory. Then ``at_once`` come
    at the same moment, ``BURSTS`` times: after any stall of service or generator the requests of an open load do, and
    who has no room for them does not live under it. ``as_trial``: before all that it goes through what a trial has
    before its load, which is memory too: the contract's cases, its own metrics, and ``warm_up_requests`` one after
    another. ``keeps_to_bytes``: the limit that a Go runtime must keep to; see ``go_limit``.
    """

    requests: tuple[Request, ...]
    rate_per_s: float
    n_requests: int
    most_late_s: float
    cold_requests: int = 0
    at_once: int = 0
    warm_up_requests: int = 0
    as_trial: tuple[Case, ...] = ()
    ready_s: float = 5.0
    keeps_to_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProbeSpec:
    """One instance to be tried."""

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


def _asked(spec: ProbeSpec, context: TrialContext, there: Path, started: list[Instance]) -> int:
    asked = spec.asked
    instance, _ = bring_up_service(
        ServiceSpec(
            launch=LaunchSpec(
                implementation=spec.implementation,
                variant=spec.variant,
                build=spec.build,
                folder=there,
                cpus=placement_of(spec.variant.runtime, context).service,
            ),
            role=spec.name,
            first=readiness_request(asked.requests),
            ready_s=asked.ready_s,
        ),
        context,
        begun=started.append,
        stop=lambda launched: stop_service(launched, context),
    )
    endpoint = context.host.reach(instance.endpoint)
    try:
        if asked.as_trial:
            settings, service = spec.variant.settings, spec.implementation
            check(
                endpoint, asked.as_trial, face_of(settings), service.language, service.name, settings=settings
            )
            save_metrics(endpoint, spec.folder / "metrics.prom")
        if asked.warm_up_requests:
            warm_up(endpoint, asked.requests, asked.warm_up_requests)
        _ask(endpoint, asked)
        if asked.keeps_to_bytes is not None:
            refuse_over_limit(endpoint, spec.folder, asked.keeps_to_bytes)
        held = context.host.resources(watch(instance)).rss_bytes
    except TrialFailure as failure:
        ended = failure.outcome == Outcome.FAILED and _ends(instance)
        code = instance.exited()
        stop_service(instance, context)  # what it says of its memory's end is asked for when it has ended
        if ended:
            raise crash(code, "while it was tried", there, context.host) from failure
        raise
    if held is None or instance.exited() is not None:
        raise crash(instance.exited(), "while it was tried", there, context.host)
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
                endpoint,
                asked.requests,
                rate_per_s=rate_per_s,
                n_requests=n,
                most_late_s=late_s,
                users=users,
            )


def _ends(instance: Instance) -> bool:
    """Whether it ends by itself: who no longer answers may need a moment for that."""
    until = time.monotonic() + DYING_S
    while instance.exited() is None and time.monotonic() < until:
        time.sleep(0.02)
    return instance.exited() is not None


#: More of them would be in each other's way.
MOST_USERS = 32


def ask_at_rate(
    endpoint: Endpoint,
    requests: tuple[Request, ...],
    *,
    rate_per_s: float,
    n_requests: int,
    most_late_s: float,
    users: int = MOST_USERS,
    timeout_s: float = 5.0,
) -> float:
    """Send ``n_requests`` requests of the mix, evenly spaced; check every answer; return how late the latest was sent.

    Raises:
        TrialFailure: nonconforming (a wrong answer), failed (no answer), or overloaded (a request could be
            sent only ``most_late_s`` after it was due); the first of them ends it all.
    """
    users = min(users, n_requests)
    ends = threading.Event()
    latest_s = [0.0] * users
    begin_s = time.monotonic()

    def ask(user: int) -> None:
        connection = Connection(endpoint, timeout_s)
        numbers = iter(range(user, n_requests, users))

        def go_on() -> bool:
            connection.close()
            due_s = begin_s + next(numbers) / rate_per_s
            late_s = time.monotonic() - due_s
            latest_s[user] = max(latest_s[user], late_s)
            if late_s > most_late_s:
                raise TrialFailure(
                    Outcome.OVERLOADED, f"fell {late_s:.1f} s behind {rate_per_s:g} requests a second"
                )
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
    return max(latest_s)


# ``GOMEMLIMIT`` is soft: a program that needs more takes more, and collects all the time. So a limit is enough only
# where what the runtime holds, by its own account, is no more than the limit when the program has answered.

#: A runtime that paces itself may be so far above its limit at one moment.
OVER_SHARE = 0.05
_OBTAINED, _RETURNED = "go_memstats_sys_bytes", "go_memstats_heap_released_bytes"


def managed_bytes(metrics: str) -> int | None:
    """Return what the limit bounds, from a Go program's own metrics: memory of the runtime that it has not returned;
    ``None``: they do not tell."""
    told = parse_runtime_metrics(metrics).gauges
    if _OBTAINED not in told or _RETURNED not in told:
        return None
    return int(told[_OBTAINED] - told[_RETURNED])


def over_limit(metrics: str | None, limit_bytes: int) -> str | None:
    """Return why a program does not keep to its limit, or ``None``."""
    held = None if metrics is None else managed_bytes(metrics)
    if held is None:
        return "its metrics do not tell what its runtime holds"
    if held <= (1 + OVER_SHARE) * limit_bytes:
        return None
    return f"its runtime holds {held / 2**20:.1f} MiB, more than its limit of {limit_bytes / 2**20:.1f} MiB"


def refuse_over_limit(endpoint: Endpoint, folder: Path, limit_bytes: int) -> None:
    """Ask a running program for its metrics.

    Raises:
        TrialFailure: out of memory: it holds more than its limit.
    """
    file = folder / "limit.prom"
    told = file.read_text("utf-8") if save_metrics(endpoint, file) else None
    reason = over_limit(told, limit_bytes)
    if reason is not None:
        raise TrialFailure(Outcome.OUT_OF_MEMORY, reason)
