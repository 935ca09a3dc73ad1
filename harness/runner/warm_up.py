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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.agent.http_exchange import Answer, Connection, ExchangeError
from harness.conformance import judge
from harness.errors import TrialFailure
from harness.hosts.base import Command
from harness.launchers.base import Instance
from harness.launchers.training import raw_request
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.correlation import Scalar, Values, filled
from harness.loadgen.flow import in_order, is_flow
from harness.model import (
    ClosedLoad,
    Outcome,
    Request,
    ResourceReading,
    WarmUpRecord,
    WarmUpSpec,
    WarmUpWindow,
)
from harness.model.endpoint import Endpoint
from harness.model.warm_up import WarmClass, unsettled
from harness.runner.context import Notes, open_folder, watch
from harness.runner.load_process import put_files
from harness.runner.outcome import crash
from harness.runner.snapshots import save_metrics

#: Asked before every request: whether to go on.
GoOn = Callable[[], bool]


def warm_up(
    endpoint: Endpoint,
    requests: tuple[Request, ...],
    n: int,
    *,
    users: int = 1,
    fresh: bool = False,
    timeout_s: float = 10.0,
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

    def ask(user: int) -> None:
        share = n // users + (user < n % users)
        whose = f" of user {user + 1}" if users > 1 else ""
        try:
            with Connection(endpoint, timeout_s) as connection:
                user_here = User(connection, endpoint, whose, lambda: not stop.is_set(), fresh=fresh)
                user_here.send(requests, share)
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


class User:
    """Who sends requests one after another over a connection of their own."""

    def __init__(
        self,
        connection: Connection,
        endpoint: Endpoint,
        whose: str,
        go_on: GoOn,
        what: str = "warm-up request",
        *,
        fresh: bool = False,
    ) -> None:
        self._connection, self._endpoint, self._whose, self._go_on = connection, endpoint, whose, go_on
        self._what, self._fresh = what, fresh

    def send(self, requests: tuple[Request, ...], n: int) -> None:
        flow, values, right = is_flow(requests), dict[str, Scalar](), dict[str, bytes]()
        turns = (
            in_order(requests) if flow else [request for request in requests for _ in range(request.weight)]
        )
        raw_of = {} if flow else {request.name: raw_request(request, self._endpoint) for request in requests}
        for number in range(n):
            if not self._go_on():
                return
            request = turns[number % len(turns)]
            if request is turns[0]:
                values = {}
            raw = raw_request(filled(request, values), self._endpoint) if flow else raw_of[request.name]
            answer = self._exchanged(raw, number, request)
            if answer.status == request.expect.status and right.get(request.name) == answer.body and not flow:
                continue  # the very bytes that were found right before: no need to parse them again
            values |= self._judged(answer, number, request, values)
            right[request.name] = answer.body

    def _exchanged(self, raw: bytes, number: int, request: Request) -> Answer:
        try:
            return self._connection.exchange(raw)
        except (ExchangeError, OSError) as problem:
            raise TrialFailure(
                Outcome.FAILED, f"no answer to {self._name(number, request)}: {problem}"
            ) from problem
        finally:
            if self._fresh:
                self._connection.close()

    def _judged(self, answer: Answer, number: int, request: Request, values: Values) -> dict[str, Scalar]:
        fault, taken = judge(answer, request.expect, request.capture, values)
        if fault is not None:
            raise TrialFailure(Outcome.NONCONFORMING, f"{self._name(number, request)}: {fault}")
        return taken

    def _name(self, number: int, request: Request) -> str:
        return f"{self._what} {number + 1}{self._whose} ({request.name})"


#: Of the trial's folder; its files are those of the last window.
FOLDER = "warm-up"
#: The service's own metrics after the last window.
METRICS = "metrics.prom"
#: Beyond its own time, for a tool to start and stop on a busy machine.
EXTRA_S = 30.0


def warm_up_in_windows(instance: Instance, asked: WarmUpSpec, notes: Notes) -> None:
    """Load the instance in windows until it is settled; ``notes.warm_up`` tells of every window, however it ends.

    Raises:
        TrialFailure: the service ended, or answered wrongly; the tool failed.
        MissingTool: the tool is not there.
    """
    generator, host = notes.spec.warm_up_generator, notes.context.load_host
    if generator is None:
        raise TrialFailure(Outcome.FAILED, "a warm-up in windows was planned without a load generator")
    local = notes.spec.folder / FOLDER
    local.mkdir()
    remote = open_folder(host, local, notes)
    windows = _Windows(
        instance=instance, asked=asked, notes=notes, generator=generator, local=local, remote=remote
    )  # fmt: skip
    end: WarmClass = "ended"
    try:
        end = windows.go()
    finally:
        host.close_folder(local)
        notes.warm_up = WarmUpRecord(
            spec=asked,
            windows=tuple(windows.seen),
            end=end,
            unsettled=unsettled(windows.seen, asked),
            n_requests_before=notes.start_up.polls if notes.start_up else None,
        )


@dataclass(kw_only=True)
class _Windows:
    """The windows of one warm-up, one after another."""

    instance: Instance
    asked: WarmUpSpec
    notes: Notes
    generator: LoadGenerator
    local: Path
    remote: Path
    seen: list[WarmUpWindow] = field(default_factory=list)

    def go(self) -> WarmClass:
        command = self._command()
        before = self._reading()
        began_s = time.monotonic()
        while True:
            start_s = time.monotonic() - began_s
            self._run(command)
            # As the edges of the load do: a path first taken there would make a warm JVM compile again for seconds.
            save_metrics(self.notes.context.host.reach(self.instance.endpoint), self.local / METRICS)
            after = self._reading()
            load = self.generator.read(self.local)
            self.seen.append(
                WarmUpWindow(
                    start_s=start_s, duration_s=load.duration_s, n_requests=load.n_requests, n_errors=load.n_errors,
                    cpu_s=_difference(before.cpu_s, after.cpu_s),
                    compile_s=_difference(before.compile_s, after.compile_s),
                )
            )  # fmt: skip
            before = after
            if not load.n_requests or load.n_errors == load.n_requests:
                why = f"no right answer in window {len(self.seen)} of the warm-up"
                raise TrialFailure(Outcome.FAILED, why)
            settled = not unsettled(self.seen, self.asked)
            over = time.monotonic() - began_s + self.asked.window_s > self.asked.at_most_s
            if self._ends(settled, over):
                return "settled" if settled else "not settled"

    def _ends(self, settled: bool, over: bool) -> bool:
        """Whether this was the last window. Two arms of a duet go on together until both are settled."""
        duet = self.notes.context.duet
        if duet is None:
            return settled or over
        both_settled = duet.both_ready(settled)
        return not duet.both_ready(not over) or both_settled

    def _command(self) -> LoadCommand:
        """Its files lie in the folder afterwards, on the load's host."""
        asked = LoadSpec(
            profile=ClosedLoad(users=self.asked.users, duration_s=self.asked.window_s),
            requests=self.notes.spec.requests,
            endpoint=self.instance.endpoint,
            folder=self.remote,
            seed=self.notes.spec.seed,
        )
        return put_files(self.notes.context, self.generator.command(asked), self.local, self.remote)

    def _run(self, command: LoadCommand) -> None:
        host = self.notes.context.load_host
        outputs = [name for name in command.outputs if name not in command.files]
        for name in outputs:
            (self.local / name).unlink(missing_ok=True)
        cpus = self.notes.generator_cpus
        order = Command(argv=command.argv, folder=self.remote, environment=command.environment, cpus=cpus)
        done = host.run(order, timeout_s=self.asked.window_s + EXTRA_S)
        if (service_exit := self.instance.exited()) is not None:
            raise crash(service_exit, "in its warm-up", self.notes.service_folder, self.notes.context.host)
        if done.exit_code:
            output = (done.stderr or done.stdout).strip()[-300:]
            why = f"{self.generator.name} ended with {done.exit_code} in the warm-up: {output}"
            raise TrialFailure(Outcome.FAILED, why)
        for name in outputs if not host.is_local else ():
            host.get(self.remote / name, self.local / name)

    def _reading(self) -> ResourceReading:
        return self.notes.context.host.resources(watch(self.instance), pss=False)


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)
