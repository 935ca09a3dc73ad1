# SPDX-License-Identifier: Apache-2.0
"""JMeter's own distribution: a controller (``-R``), and engines (``-s``) that run its plan and send rows back.

Each engine runs the whole plan, so the load is divided beforehand: the plan has blanks for users, rate and
seed, and each engine fills them from properties of its own.

Rows are stamped on the engine's clock, and travel in batches (``StrippedBatch``): the user whose row fills a
batch waits until the controller has it, so none is lost, and all others go on meanwhile. The other modes:
``Asynch`` announces its end before its queue is empty, ``Statistical`` has no rows, ``Standard`` makes every
user wait for every row, ``DiskStore`` and ``Hold`` keep all in memory and send row by row afterwards.

RMI without encryption listens on every interface, whatever it is told; with a key it listens on one address.
Every process of a load has the same key, trusts it alone, and asks whoever calls for it.

The controller's one file of rows is split: every row goes as it is into its engine's file.
"""

from __future__ import annotations

import csv
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.errors import TrialFailure
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.distribution import Seats, Tally
from harness.loadgen.parallel import shares
from harness.loadgen.summary import ORDER_FILE, last_words, order_text
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
from harness.model import LoadProfile

KEY, KEY_PROPERTIES = "rmi.p12", "rmi.properties"
#: By this name JMeter finds the key in its file.
ALIAS = "rmi"
#: Clocks of load hosts may be wrong by this, to either side.
_VALID = timedelta(days=30)


def new_key() -> dict[str, bytes]:
    """Return the key's file, encrypted, and the properties with its password. Both go by their names, so each
    process finds its own copy in its own folder: an engine tells its callers where the key lies.
    """
    # here, because every plan loads this module, and only loads with several generators make keys
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509.oid import NameOID

    password = secrets.token_urlsafe(24)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "one load")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    file = serialize_key_and_certificates(
        ALIAS.encode(), key, certificate, None, BestAvailableEncryption(password.encode())
    )
    told = {"type": "PKCS12", "file": KEY, "password": password, "alias": ALIAS}
    lines = "".join(f"server.rmi.ssl.keystore.{name}={value}\n" for name, value in told.items())
    return {KEY: file, KEY_PROPERTIES: lines.encode()}


#: The column that tells: an engine begins the names of its threads with its address and port.
THREAD_NAME = "threadName"


def split_by_engine(source: Path, targets: Mapping[str, Path]) -> Counter[str]:
    """Move the rows of ``source``, whose thread names begin with a key of ``targets``, into that file.

    Every target has the header line. A half-written last row goes to the first one, whose reader counts it.
    ``source`` is removed; a failure leaves it, and no target.

    Returns:
        How many rows each engine has.

    Raises:
        OSError: ``source`` is not there.
        TrialFailure: it has no rows that could be told apart, or some are of nobody that is known.
    """
    counts: Counter[str] = Counter(dict.fromkeys(targets, 0))
    unknown = 0
    with ExitStack() as files:
        lines = files.enter_context(source.open(encoding="utf-8", errors="surrogateescape", newline=""))
        header = next(lines, "")
        names = next(csv.reader([header]), [])
        if THREAD_NAME not in names:
            raise TrialFailure(
                "failed", f"{source.name} of all engines has no column {THREAD_NAME}: {header.strip()[:80]!r}"
            )
        at = names.index(THREAD_NAME)
        out = {
            key: files.enter_context(path.open("w", encoding="utf-8", errors="surrogateescape", newline=""))
            for key, path in targets.items()
        }
        for stream in out.values():
            stream.write(header)
        for record in _records(lines):
            engine = _engine_of(record, at, targets)
            if engine is None and not record.endswith("\n"):
                engine = next(iter(targets))  # cut off by an end that came too soon: there it is counted
            if engine is None:
                unknown += 1
            else:
                out[engine].write(record)
                counts[engine] += 1
    if unknown:
        for path in targets.values():
            path.unlink()
        raise TrialFailure("failed", f"{unknown} rows of {source.name} are of no engine that is known")
    source.unlink()
    return counts


def _records(lines: Iterable[str]) -> Iterator[str]:
    """Lines, those together that one quoted field spans."""
    begun = ""
    for line in lines:
        begun += line
        if begun.count('"') % 2 == 0:
            yield begun
            begun = ""
    if begun:
        yield begun


def _engine_of(record: str, at: int, targets: Iterable[str]) -> str | None:
    fields = next(csv.reader([record]), [])
    thread = fields[at] if at < len(fields) else ""
    return next((key for key in targets if thread.startswith(key)), None)


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
