# SPDX-License-Identifier: Apache-2.0
"""The lines of a request log, counted: those that a file holds, and those that a reader took out of a pipe.

A service whose sink is ``pipe`` writes to its standard output, which is a named pipe then, with a process of ours at
its other end (``agent/line_reader.py``), on the generator's CPUs. How many lines there should be the service says
itself: its own counter of requests, read when no request is under way any more and before it is stopped.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from functools import partial
from pathlib import Path

from harness.errors import HostError, TrialFailure
from harness.measure.runner.context import Notes, watch_process
from harness.measure.runner.snapshots import save_metrics
from harness.model import ClosedLoad, LoadProfile, Outcome, RequestLogRecord, StoredReading
from harness.places.hosts.base import Command, Process
from harness.places.hosts.measuring import Sampling
from harness.places.launchers.base import STDOUT, Instance

PROGRAM = Path(__file__).resolve().parents[2] / "agent" / "line_reader.py"
#: In the trial's folder.
COUNTED, LAST, METRICS = "log-lines.json", "log-last.txt", "requests-at-stop.prom"
#: Role in the samples.
ROLE = "log-reader"
_READY_WITHIN_S, _STOP_WITHIN_S, _POLL_S = 10.0, 20.0, 0.02
_CHUNK_BYTES = 1 << 20
_REQUESTS = re.compile(r"^http_requests_total(?:\{[^}]*\})? (\S+)", re.MULTILINE)


class RequestLog:
    """The request log of one process, from before its launch until after its end."""

    def __init__(self, notes: Notes) -> None:
        settings = notes.spec.planned.configuration.variant.settings
        self._sink = settings.get("log_sink") if settings.get("logging") == "on" else None
        self._notes, self._context, self._folder = notes, notes.context, notes.service_folder
        self._reader: Process | None = None
        self._requests: int | None = None

    def open(self, sampler: Sampling, cleanup: contextlib.ExitStack) -> None:
        """Start a reader at the pipe, where there is to be one; ``cleanup`` ends it and writes down what it read.

        Raises:
            TrialFailure: it does not start.
        """
        if self._sink in ("file", "pipe"):
            cleanup.callback(self._close)
        if self._sink != "pipe":
            return
        context, program = self._context, self._folder / PROGRAM.name
        python = sys.executable if context.host.is_local else "python3"
        argv = (python, "-I", "-S", str(program), STDOUT, COUNTED, LAST)
        try:
            context.host.put(PROGRAM, program)
            command = Command(argv=argv, folder=self._folder, cpus=self._notes.placement.generator)
            self._reader = running = context.host.spawn(command)
        except HostError as problem:
            raise TrialFailure(Outcome.FAILED, f"the reader of the request log: {problem}") from problem
        context.note(context.host, pid=running.pid, role="reader of the request log")
        self._notes.log_reader = watch_process(running)
        sampler.add(ROLE, self._notes.log_reader)
        deadline = time.monotonic() + _READY_WITHIN_S
        while self._counted() is None:
            code = running.exited()
            if code is not None or time.monotonic() > deadline:
                why = "it does not begin" if code is None else f"it ended with {code}"
                raise TrialFailure(Outcome.FAILED, f"the reader of the request log: {why}")
            time.sleep(_POLL_S)

    def launched(self) -> None:
        """Take the pipe's name away, which the service has opened by now: whoever opened it again would wait."""
        if self._reader is not None:
            self._run("rm", "-f", STDOUT)

    def ask(self, instance: Instance) -> None:
        """Ask the service how many requests it has counted; to be called before it is stopped."""
        if self._sink not in ("file", "pipe") or instance.exited() is not None:
            return
        file = self._notes.spec.folder / METRICS
        if save_metrics(self._context.host.reach(instance.endpoint), file):
            self._requests = requests_counted(file.read_text("utf-8", "replace"))

    def _close(self) -> None:
        """End the reader, and take the pipe out of the folder: nobody can copy or hash it."""
        lines: dict[str, int] = {}
        early = False
        if self._reader is not None:
            early = self._reader.exited() is not None
            with contextlib.suppress(HostError):
                self._reader.stop(_STOP_WITHIN_S)
            self._context.forget(self._context.host, self._reader.pid)
            lines = self._counted() or {}
            self._run("rm", "-f", STDOUT, COUNTED, PROGRAM.name)
            self._run("mv", LAST, STDOUT)
        instance = self._notes.instance
        if instance is not None and instance.container is not None:
            lines = {}
        self._notes.request_log = RequestLogRecord(
            sink="pipe" if self._sink == "pipe" else "file",
            requests=self._requests,
            lines=lines.get("lines"),
            bytes=lines.get("bytes"),
            reader_cpu_s=self._notes.log_reader_cpu_s,
            reader_ended=early,
        )

    def _run(self, *argv: str) -> None:
        with contextlib.suppress(HostError):
            self._context.host.run(Command(argv=argv, folder=self._folder), _STOP_WITHIN_S)

    def _counted(self) -> dict[str, int] | None:
        try:
            document = json.loads(self._context.host.read(self._folder / COUNTED))
        except (HostError, ValueError):
            return None
        return dict(document) if isinstance(document, dict) else None


def requests_counted(metrics: str) -> int | None:
    """Return how many requests a service says it has answered, over all paths and statuses; ``None``: it does not say.

    ``metrics`` is the answer to ``GET /metrics``: the sum of ``http_requests_total``.
    """
    counts = _REQUESTS.findall(metrics)
    try:
        return round(sum(map(float, counts))) if counts else None
    except ValueError:
        return None


def count_lines(file: Path) -> int:
    """Return how many lines a file has; one that does not end with a newline is none."""
    with file.open("rb") as stream:
        return sum(chunk.count(b"\n") for chunk in iter(partial(stream.read, _CHUNK_BYTES), b""))


# The invariants cannot tell: a transfer that was answered and never stored leaves balances that add up.


def note_before(notes: Notes) -> None:
    """Note what the database holds before the load: seeds, conformance and warm-up have left traces too.

    Raises:
        TrialFailure: it does not answer.
    """
    notes.stored_before = _stored(notes, over=False)


def compare_promises(notes: Notes, profile: LoadProfile | None) -> tuple[StoredReading, ...]:
    """Return, for each request that the contract counts, what was stored, answered rightly, and sent.

    Empty where nothing was noted before the load, or where the tool does not tell its requests apart.

    Raises:
        TrialFailure: the database does not answer.
    """
    if not notes.stored_before or not notes.answers:
        return ()
    # a load that ends by the clock cuts some requests short, which are in no row of the tool's
    whole = notes.load is not None and isinstance(profile, ClosedLoad) and profile.loops is not None
    rows: list[StoredReading] = []
    for request, n_after in _stored(notes, over=True).items():
        # a step of a flow is a request of this kind: ``create-a`` is a ``create``
        asked = [
            count
            for name, count in notes.answers.items()
            if name == request or name.startswith(f"{request}-")
        ]
        rows.append(
            StoredReading(
                request=request,
                n_stored=n_after - notes.stored_before.get(request, 0),
                n_right=sum(count.n_right for count in asked),
                n_sent=sum(count.n_requests for count in asked) if whole else None,
            )
        )
    return tuple(rows)


def _stored(notes: Notes, *, over: bool) -> dict[str, int]:
    return {request: n for service in notes.backing for request, n in service.stored(over=over).items()}
