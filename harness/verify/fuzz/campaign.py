# SPDX-License-Identifier: Apache-2.0
"""Run changed files through readers and hold each answer against the promise.

A file is read, or refused by a ``RematchError`` with exit status 2 whose message is one line and names the file.
Anything else is a finding: another exception, a message of two lines or without the file, memory or CPU time
beyond what one file may take, or a file written outside of the reader's folder.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import FrameType

from harness.errors import RematchError
from harness.verify.fuzz.readers import Reader

#: CPU time of one file. The largest hostile file takes some seconds; what takes this long has no end.
LONGEST_CPU_S = 30.0
#: Resident memory that one file may add while it is read.
MOST_BYTES = 1 << 30
_STATUS, _CLEAR = "/proc/self/status", "/proc/self/clear_refs"
_PEAK = b"\nVmHWM:"


class TookTooLong(BaseException):
    """CPU time of one file is used up; no reader catches it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken promise: the reader, what happened, where in the source, and the file that shows it."""

    reader: str
    what: str
    where: str
    data: bytes

    @property
    def key(self) -> tuple[str, str, str]:
        """The same fault has one key, whichever file shows it."""
        return self.reader, self.what.split(":")[0], self.where


@dataclass(slots=True)
class Tally:
    """What came of the files of one reader."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    findings: int = 0
    most_cpu_s: float = 0.0
    most_bytes: int = 0

    def add(self, other: Tally) -> None:
        """Add what came of other files."""
        self.inputs += other.inputs
        self.read += other.read
        self.refused += other.refused
        self.findings += other.findings
        self.most_cpu_s = max(self.most_cpu_s, other.most_cpu_s)
        self.most_bytes = max(self.most_bytes, other.most_bytes)


@dataclass(slots=True)
class Campaign:
    """Counts by reader, and one finding for each fault."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    findings: dict[tuple[str, str, str], Finding] = field(default_factory=dict)
    seen: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def inputs(self) -> int:
        return sum(one.inputs for one in self.tallies.values())

    def count(self, reader: str, came: Finding | RematchError | None) -> None:
        """Count what came of one file; of a fault the smallest file that shows it is kept."""
        tally = self.tallies[reader]
        tally.inputs += 1
        if came is None:
            tally.read += 1
        elif isinstance(came, Finding):
            tally.findings += 1
            self.seen[came.key] += 1
            self._keep(came)
        else:
            tally.refused += 1

    def add(self, other: Campaign) -> None:
        """Add what came of other files of the same readers."""
        for name, tally in other.tallies.items():
            self.tallies[name].add(tally)
        self.seen += other.seen
        for finding in other.findings.values():
            self._keep(finding)

    def _keep(self, finding: Finding) -> None:
        known = self.findings.get(finding.key)
        if known is None or (len(finding.data), finding.data) < (len(known.data), known.data):
            self.findings[finding.key] = finding


def empty(chosen: Sequence[Reader]) -> Campaign:
    """Return a campaign in which no file was read yet."""
    return Campaign(tallies={one.name: Tally() for one in chosen})


def run(
    chosen: Sequence[Reader],
    scratch: Path,
    *,
    seed: int,
    inputs: int | None = None,
    seconds: float | None = None,
    say: Callable[[Campaign], None] | None = None,
) -> Campaign:
    """Give readers changed files in turn, until ``inputs`` were given or ``seconds`` have passed.

    ``KeyboardInterrupt`` ends it too; files that were answered until then count.
    The n-th file of a reader depends on the seed, the reader's name and n alone.
    """
    found = empty(chosen)
    ends_s = None if seconds is None else time.monotonic() + seconds
    said_s = time.monotonic()
    with suppress(KeyboardInterrupt):
        for number in count() if inputs is None else range(inputs):
            if ends_s is not None and time.monotonic() > ends_s:
                break
            try_number(chosen, number, scratch, seed, found)
            if say is not None and time.monotonic() - said_s > 20:
                say(found)
                said_s = time.monotonic()
    return found


def nth(chosen: Sequence[Reader], seed: int, number: int) -> tuple[Reader, random.Random]:
    """Return the reader of the file of a number, and what the file is drawn from."""
    turn, place = divmod(number, len(chosen))
    return chosen[place], random.Random(f"{seed} {chosen[place].name} {turn}")


def try_number(chosen: Sequence[Reader], number: int, scratch: Path, seed: int, found: Campaign) -> None:
    """Give a reader the file of this number and count what comes of it."""
    one, rng = nth(chosen, seed, number)
    data = one.input(rng)
    folder = scratch / one.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    came, cpu_s, added = answer(one, data, folder, rng)
    found.count(one.name, came)
    tally = found.tallies[one.name]
    tally.most_cpu_s, tally.most_bytes = max(tally.most_cpu_s, cpu_s), max(tally.most_bytes, added)


def answer(
    one: Reader, data: bytes, folder: Path, rng: random.Random
) -> tuple[Finding | RematchError | None, float, int]:
    """Return the broken promise, the refusal, or ``None`` for a file that was read; CPU seconds; added bytes."""
    outside = _beside(folder)
    before_bytes, began_s = _reset_peak(), time.process_time()
    came: Finding | RematchError | None = None
    try:
        with _cpu_limit(LONGEST_CPU_S):
            one.read(data, folder, rng)
    except RematchError as refused:
        wrong = promise_broken(refused, one.names)
        came = refused if wrong is None else Finding(one.name, wrong, _where(refused), data)
    except TookTooLong as late:
        came = Finding(one.name, f"time: over {LONGEST_CPU_S:.0f} s of CPU time", _where(late), data)
    except MemoryError as full:
        came = Finding(one.name, "memory: no more can be had", _where(full), data)
    except Exception as error:
        said = " ".join(str(error).split())[:120]
        came = Finding(one.name, f"{type(error).__name__}: {said}", _where(error), data)
    cpu_s, added = time.process_time() - began_s, max(0, _peak() - before_bytes)
    if not isinstance(came, Finding):
        if added > MOST_BYTES:
            came = Finding(
                one.name, f"memory: {added >> 20} MiB for a file of {len(data):,} bytes", one.name, data
            )
        elif _beside(folder) != outside:
            came = Finding(one.name, "wrote outside of its folder", one.name, data)
    return came, cpu_s, added


def promise_broken(refused: RematchError, names: str | None) -> str | None:
    """Return what a refusal lacks; ``None``: it is as promised."""
    text = str(refused)
    if "\n" in text:
        return "refusal: more than one line"
    if refused.exit_code != 2:
        return f"refusal: exit status {refused.exit_code}"
    if names is not None and names not in text:
        return "refusal: does not name the file"
    return None


def save(findings: Sequence[Finding], folder: Path) -> list[Path]:
    """Write the file of each finding below ``folder``; return the paths."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = []
    for one in findings:
        path = folder / f"{one.reader.replace(' ', '-')}-{hashlib.sha256(one.data).hexdigest()[:12]}"
        path.write_bytes(one.data)
        paths.append(path)
    return paths


def _where(error: BaseException) -> str:
    """The last place of our own source in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if "/harness/" in frame.filename and "/verify/fuzz/" not in frame.filename
    ]
    if not ours:
        return "?"
    return f"harness/{ours[-1].filename.rpartition('/harness/')[2]}: {ours[-1].name}"


def _beside(folder: Path) -> tuple[str, ...]:
    """What stands beside the reader's folder, and where hostile archives want to write."""
    return (*sorted(os.listdir(folder.parent)), str(os.path.exists("/tmp/rematch-fuzz-outside")))


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in the main thread after so much CPU time; elsewhere there is no limit."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong

    try:
        before = signal.signal(signal.SIGVTALRM, end)
    except ValueError:  # not the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _reset_peak() -> int:
    """Forget the peak of resident memory, where the kernel can; return what is resident now."""
    with suppress(OSError):
        clear = os.open(_CLEAR, os.O_WRONLY)
        try:
            os.write(clear, b"5")
        finally:
            os.close(clear)
    return _peak()


def _peak() -> int:
    """The peak of resident memory so far, in bytes."""
    with suppress(OSError):
        status = os.open(_STATUS, os.O_RDONLY)
        try:
            _, found, rest = os.read(status, 1 << 16).partition(_PEAK)
        finally:
            os.close(status)
        if found:
            return int(rest.split(None, 1)[0]) << 10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
