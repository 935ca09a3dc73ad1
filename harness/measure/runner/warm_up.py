# SPDX-License-Identifier: Apache-2.0
"""From ready to warm: requests of the load's own mix, checked, by one user or by several at once, or windows of load.

One user never has two requests in a service at the same time: pools stay at one connection, request threads are not
made. What users at once will meet is warmed by users at once.

Each window is one run of a load tool for a whole number of seconds. CPU and compile time of a window are those since
the one before it ended. After each window the service is asked for its own metrics, as a scraper would.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.agent.http_exchange import Answer, Connection, ExchangeError
from harness.conformance import judge
from harness.errors import TrialFailure
from harness.loadgen.base import LoadCommand
from harness.loadgen.correlation import Scalar, filled
from harness.loadgen.flow import in_order, is_flow
from harness.measure.runner.context import Notes, open_folder, watch
from harness.measure.runner.duet_arm import DuetArm
from harness.measure.runner.load_phase import command_of
from harness.measure.runner.outcome import refuse_crashed
from harness.measure.runner.snapshots import save_metrics
from harness.model import ClosedLoad, Endpoint, Outcome, Request, WarmUpRecord, WarmUpSpec, WarmUpWindow
from harness.model.started import difference
from harness.model.warm_up import WarmClass, unsettled
from harness.places.hosts.base import Command
from harness.places.launchers.base import Instance
from harness.places.launchers.training import raw_request


def warm_up(
    endpoint: Endpoint, requests: tuple[Request, ...], n: int, *, users: int = 1, fresh: bool = False
) -> None:
    """Send ``n`` requests over a keep-alive connection for each user; check every answer.

    ``fresh``: each request has a connection of its own, as where a new process sends it.

    Users divide the requests among them as evenly as can be, and each waits for its own answers only. A plain
    mix is sent in turn by weight. A flow is gone through in order by each user, with what its answers gave,
    again and again; a user's last pass ends where its requests do.

    Raises:
        TrialFailure: nonconforming (a wrong answer) or failed (no answer), naming the request's number; the
            first of them ends all users.
    """
    stop = threading.Event()
    flow = is_flow(requests)
    turns = in_order(requests) if flow else [request for request in requests for _ in range(request.weight)]

    def ask(user: int) -> None:
        whose = f" of user {user + 1}" if users > 1 else ""
        values, right = dict[str, Scalar](), dict[str, bytes]()
        raw_of = {} if flow else {request.name: raw_request(request, endpoint) for request in requests}
        try:
            with Connection(endpoint, TIMEOUT_S) as connection:
                for number in range(n // users + (user < n % users)):
                    if stop.is_set():
                        return
                    request = turns[number % len(turns)]
                    name = f"warm-up request {number + 1}{whose} ({request.name})"
                    if request is turns[0]:
                        values = {}
                    raw = raw_request(filled(request, values), endpoint) if flow else raw_of[request.name]
                    answer = _exchanged(connection, raw, name)
                    if fresh:
                        connection.close()
                    as_before = right.get(request.name) == answer.body and not flow
                    if as_before and answer.status == request.expect.status:
                        continue  # the very bytes that were right before: no need to parse them again
                    fault, taken = judge(answer, request.expect, request.capture, values)
                    if fault is not None:
                        raise TrialFailure(Outcome.NONCONFORMING, f"{name}: {fault}")
                    values |= taken
                    right[request.name] = answer.body
        except BaseException:
            stop.set()
            raise

    if users == 1:
        ask(0)
        return
    with ThreadPoolExecutor(users, thread_name_prefix="warm-up") as pool:
        asked = [pool.submit(ask, user) for user in range(min(users, n))]
    for item in asked:
        item.result()


def _exchanged(connection: Connection, raw: bytes, name: str) -> Answer:
    try:
        return connection.exchange(raw)
    except (ExchangeError, OSError) as problem:
        raise TrialFailure(Outcome.FAILED, f"no answer to {name}: {problem}") from problem


#: Of the trial's folder; its files are those of the last window, and the service's own metrics after it.
FOLDER, METRICS = "warm-up", "metrics.prom"
#: Beyond its own time, for a tool to start and stop on a busy machine.
EXTRA_S = 30.0
#: Of an answer to one of the requests that are sent from here.
TIMEOUT_S = 10.0


def warm_up_in_windows(instance: Instance, asked: WarmUpSpec, notes: Notes) -> None:
    """Load the instance in windows until it is settled; ``notes.warm_up`` tells of every window, however it ends.

    Raises:
        TrialFailure: the service ended, or answered wrongly; the tool failed.
        MissingTool: the tool is not there.
    """
    context, spec = notes.context, notes.spec
    generator, host = spec.warm_up_generator, context.load_host
    if generator is None:
        raise TrialFailure(Outcome.FAILED, "a warm-up in windows was planned without a load generator")
    local = spec.folder / FOLDER
    local.mkdir()
    remote = open_folder(host, local, notes)
    windows: list[WarmUpWindow] = []
    end: WarmClass = "ended"
    try:
        profile = ClosedLoad(users=asked.users, duration_s=asked.window_s)
        command = command_of(generator, profile, instance, notes, local, remote)
        before, began_s = context.host.resources(watch(instance), pss=False), time.monotonic()
        last = settled = False
        while not last:
            start_s = time.monotonic() - began_s
            _run_window(command, asked.window_s, local, remote, instance, notes)
            # As the edges of the load do: a path first taken there would make a warm JVM compile again for seconds.
            save_metrics(context.host.reach(instance.endpoint), local / METRICS)
            after, summary = context.host.resources(watch(instance), pss=False), generator.read(local)
            windows.append(
                WarmUpWindow(
                    start_s=start_s, duration_s=summary.duration_s, n_requests=summary.n_requests,
                    n_errors=summary.n_errors, cpu_s=_used(before.cpu_s, after.cpu_s),
                    compile_s=_used(before.compile_s, after.compile_s),
                )
            )  # fmt: skip
            before = after
            if not summary.n_requests or summary.n_errors == summary.n_requests:
                why = f"no right answer in window {len(windows)} of the warm-up"
                raise TrialFailure(Outcome.FAILED, why)
            settled = not unsettled(windows, asked)
            over = time.monotonic() - began_s + asked.window_s > asked.at_most_s
            last = _is_last(settled, over, context.duet)
        end = "settled" if settled else "not settled"
    finally:
        host.close_folder(local)
        notes.warm_up = WarmUpRecord(
            spec=asked,
            windows=tuple(windows),
            end=end,
            unsettled=unsettled(windows, asked),
            n_requests_before=notes.start_up.polls if notes.start_up else None,
        )


def _is_last(settled: bool, over: bool, duet: DuetArm | None) -> bool:
    """Whether a window was the last one. Two arms of a duet go on together until both are settled."""
    if duet is None:
        return settled or over
    both_settled = duet.both_ready(settled)
    return not duet.both_ready(not over) or both_settled


def _run_window(
    command: LoadCommand, window_s: float, local: Path, remote: Path, instance: Instance, notes: Notes
) -> None:
    host = notes.context.load_host
    outputs = [name for name in command.outputs if name not in command.files]
    for name in outputs:
        (local / name).unlink(missing_ok=True)
    order = Command(
        argv=command.argv, folder=remote, environment=command.environment, cpus=notes.placement.generator
    )
    done = host.run(order, timeout_s=window_s + EXTRA_S)
    refuse_crashed(instance, "in its warm-up", notes)
    if done.exit_code:
        output = (done.stderr or done.stdout).strip()[-300:]
        name = notes.spec.warm_up_generator.name if notes.spec.warm_up_generator else command.argv[0]
        raise TrialFailure(Outcome.FAILED, f"{name} ended with {done.exit_code} in the warm-up: {output}")
    for name in outputs if not host.is_local else ():
        host.get(remote / name, local / name)


def _used(before: float | None, after: float | None) -> float | None:
    used = difference(before, after)
    return None if used is None else max(0.0, used)
