# SPDX-License-Identifier: Apache-2.0
"""JMeter's own distribution: a controller (``-R``), and engines (``-s``) that run its plan and send rows back.

Each engine runs the whole plan, so the load is divided beforehand: the plan has blanks for users, rate and
seed, and each engine fills them from properties of its own.

Rows are stamped on the engine's clock, and travel in batches (``StrippedBatch``): the user whose row fills a
batch waits until the controller has it, so none is lost, and all others go on meanwhile. The other modes:
``Asynch`` announces its end before its queue is empty, ``Statistical`` has no rows, ``Standard`` makes every
user wait for every row, ``DiskStore`` and ``Hold`` keep all in memory and send row by row afterwards.

RMI without encryption listens on every interface, whatever it is told; with a key it listens on one address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TrialFailure
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.distribution import Seats, Tally
from harness.loadgen.parallel import shares
from harness.loadgen.summary import ORDER_FILE, last_words, order_text
from harness.loadgen.tools.jmeter.jtl_split import split_by_engine
from harness.loadgen.tools.jmeter.plan import (
    GC_LOG,
    LOG,
    PLAN,
    PROPERTIES,
    SAMPLES,
    own_properties,
    render_plan,
    render_properties,
)
from harness.loadgen.tools.jmeter.rmi_key import KEY_PROPERTIES, new_key
from harness.model import LoadProfile

OWN = "distribution.properties"
#: The controller's name for its own count, which it prints.
RECEIVED = "received"
#: Rows of one batch: each batch costs one user a few milliseconds.
BATCH = 500
#: Engines need seconds to be up; the controller asks again so often, so long apart.
TRIES, RETRY_MS = 240, 250
#: One JVM after the other, and JMeter's five seconds for its listeners when all engines are done.
MEETING_S = 10.0
_COUNTED = re.compile(rf"^{RECEIVED} =\s+(\d+) in .* Err:\s+(\d+) \(", re.MULTILINE)
_UNDELIVERED = re.compile(r" ERROR \S*\.BatchSampleSender: ")


@dataclass(frozen=True, kw_only=True)
class JMeterController:
    """``alone``: the adapter of a single JMeter; ``last_answers_s`` as of it."""

    alone: LoadGenerator
    last_answers_s: int

    def shares(self, profile: LoadProfile, n: int) -> tuple[LoadProfile, ...]:
        """As of independent generators: engines know nothing of each other."""
        return shares(profile, n)

    def secrets(self) -> dict[str, bytes]:
        """A key of this load's own: who does not have it can neither command an engine nor send rows."""
        return new_key()

    def coordinator(self, spec: LoadSpec, seats: Seats) -> LoadCommand:
        """A JMeter that sends its plan to every engine, and writes the rows that come back."""
        command = self.alone.command(spec)
        engines = ",".join(f"{seat.host}:{seat.port}" for seat in seats.members)
        own = {
            "client.tries": TRIES,
            "client.retries_delay": RETRY_MS,
            "mode": "StrippedBatch",
            "num_sample_threshold": BATCH,
            "time_threshold": -1,
            "jmeter.save.saveservice.thread_name": "true",  # it begins with the engine
            "summariser.name": RECEIVED,
            "summariser.interval": 24 * 3600,
            "summariser.log": "false",
        }
        return command.model_copy(
            update={
                "argv": (*command.argv, "-R", engines, *_known_as(seats.coordinator.host)),
                "files": {
                    PLAN: render_plan(spec, self.last_answers_s, shared=True),
                    PROPERTIES: render_properties(),
                    OWN: _lines(own),
                    ORDER_FILE: order_text(spec),
                },
                "outputs": (PLAN, PROPERTIES, OWN, ORDER_FILE, LOG, GC_LOG),
                "expected_s": command.expected_s + MEETING_S,
            }
        )

    def member(self, spec: LoadSpec, seats: Seats, number: int) -> LoadCommand:
        """An engine that waits for a plan, runs it once, and ends."""
        command = self.alone.command(spec)
        seat = seats.members[number - 1]
        own = own_properties(spec) | {
            "server_port": seat.port,
            "server.exitaftertest": "true",
            "jmeterengine.remote.system.exit": "true",  # an open loop leaves a thread that would stay
        }
        return command.model_copy(
            update={
                "argv": (*_without_plan(command.argv), "-s", *_known_as(seat.host)),
                "files": {PROPERTIES: render_properties(), OWN: _lines(own), ORDER_FILE: order_text(spec)},
                "outputs": (SAMPLES, PROPERTIES, OWN, ORDER_FILE, LOG, GC_LOG),
                "expected_s": command.expected_s + MEETING_S,
            }
        )

    def gather(self, coordinator: Path, members: Sequence[Path], seats: Seats) -> Tally:
        """Every row goes, as it is, from the controller's file into its engine's folder."""
        for number, folder in enumerate(members, start=1):
            _refuse_undelivered(folder / LOG, number)
        names = [f"{seat.host}:{seat.port}" for seat in seats.members]
        try:
            split_by_engine(
                coordinator / SAMPLES, {f"{n}-": f / SAMPLES for n, f in zip(names, members, strict=True)}
            )
        except OSError as problem:
            said = last_words(coordinator, "generator.stderr.txt", "generator.stdout.txt", LOG)
            reason = f"JMeter's controller left no samples ({problem}); output: {said}"
            raise TrialFailure("failed", reason) from problem
        return _counted(coordinator / "generator.stdout.txt")


def _known_as(address: str) -> tuple[str, ...]:
    """Properties of the distribution and of its key, and the address to listen on and to be told others."""
    return ("-q", OWN, "-q", KEY_PROPERTIES, f"-Djava.rmi.server.hostname={address}")


def _without_plan(argv: Sequence[str]) -> list[str]:
    """The words without those of a run from a plan to a file of rows."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word in {"-t", "-l"}:
            next(words, None)
        elif word != "-n":
            kept.append(word)
    return kept


def _lines(properties: Mapping[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def _refuse_undelivered(log: Path, number: int) -> None:
    try:
        said = log.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise TrialFailure("failed", f"JMeter's engine {number} left no log ({problem})") from problem
    n_lost = len(_UNDELIVERED.findall(said))
    if n_lost:
        raise TrialFailure(
            "failed",
            f"JMeter's engine {number} could not deliver rows ({n_lost} batches of up to {BATCH}): see its {LOG}",
        )


def _counted(stdout: Path) -> Tally:
    """The last of the controller's printed totals."""
    try:
        found = _COUNTED.findall(stdout.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = []
    return Tally(int(found[-1][0]), int(found[-1][1])) if found else Tally(None, None)


__all__ = ["OWN", "JMeterController"]
