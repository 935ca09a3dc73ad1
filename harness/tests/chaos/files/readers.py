# SPDX-License-Identifier: Apache-2.0
"""Every reader of the project with the recordings that are changed for it.

A reader gets bytes and a folder of its own; it writes them to a file there and reads that as a command would.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.analysis.tables.runtime_columns import request_columns
from harness.analysis.tables.tidy import damage_of, read_requests, read_samples
from harness.compare.reading import RunFiles, read_run
from harness.definitions import load_implementations, load_requests, load_study
from harness.definitions.claims import load_claims
from harness.definitions.extending import BASES
from harness.errors import InputError
from harness.formats.jfr_json import parse_contention
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import parse_nmt, parse_runtime_metrics
from harness.hosts.ssh.settings import FILE as HOSTS
from harness.hosts.ssh.settings import host_names
from harness.project import EXPERIMENTS, LEDGERS
from harness.report.output import main
from harness.store import SessionFolder
from harness.store.layout import HEADER
from harness.tests.chaos.files.mutate import hostile, mutated
from harness.workloads import load_all_requests, load_cases

#: A small bundled session; its archive and its files are changed. Its files are entries of their own.
SESSION = Path("data") / "raw" / "bundled" / "aa" / "quick-local-3.zip"
#: One hostile file among so many changed ones: some are megabytes.
HOSTILE_ONE_IN = 60
#: The shares of reports that are written as a page and as text: they take as long as a hundred and as ten others.
PAGES, TEXTS = 0.003, 0.02
#: Trials of the session of which one file is changed.
TRIALS = 2
#: Of a long text a part is used, for faults are in kinds of lines; of a long ledger, parts of so many bytes; of a flight
#: recording, so many events of each type.
LONGEST, PART_BYTES, EVENTS = 3000, 4000, 4
CONTENTION = (
    b"\n                     Contention by Lock Class\n\nLock Class          Count  Avg.    P90     Max.\n"
    b"------------------- ----- ------- ------- -------\njava.lang.Object       12 1.23 ms 4.56 ms 7.89 ms\n"
)
Read = Callable[[bytes, Path, random.Random], None]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One reader. ``names``: part of the file's name that a refusal must have; ``None``: it gets text, not a file.

    ``whole``: a recording is not cut; ``make``: another way to change one.
    """

    recordings: tuple[bytes, ...]
    read: Read
    names: str | None = "changed.file"
    whole: bool = False
    make: Callable[[bytes, random.Random], bytes] | None = None

    def input(self, rng: random.Random) -> bytes:
        """Return a changed or hostile file."""
        original = rng.choice(self.recordings)
        if self.make is not None:
            return self.make(original, rng)
        if rng.randrange(HOSTILE_ONE_IN) == 0:
            return rng.choice(hostile())
        return mutated(original if self.whole else original[: rng.choice((LONGEST // 2, LONGEST))], rng)


def readers(root: Path) -> dict[str, Reader]:
    """Return all readers by name, with recordings from a clone."""

    def of(*patterns: str) -> tuple[bytes, ...]:
        paths = [path for pattern in patterns for path in sorted(root.glob(pattern))]
        return tuple(_unpacked(path) for path in paths if path.is_file() and path.suffix != ".md")

    def golden(pattern: str, read: Read = _results, **more: object) -> Reader:
        return Reader(recordings=of(f"harness/tests/golden/{pattern}"), read=read, **more)  # type: ignore[arg-type]  # fields of Reader

    experiments = EXPERIMENTS.as_posix()
    return {
        "jmeter csv": golden("jmeter/*"),
        "locust csv": golden("locust/*.csv"),
        "k6 csv": golden("k6/*.csv*"),
        "k6 json": golden("k6/*.json*", whole=True),
        "oha csv": golden("oha/oha.csv"),
        "oha sqlite": golden("oha/samples.db.gz", whole=True, make=_changed_bytes),
        "vegeta csv": golden("vegeta/results.csv"),
        "metronome csv": golden("metronome/samples.csv"),
        "wrk text": golden("wrk/*.txt"),
        "wrk2 text": golden("wrk2/*.txt"),
        "jvm log": golden("jvm_log/*", _runtime_log),
        "gctrace": golden("gctrace/*.log", _runtime_log),
        "jfr json": Reader(
            recordings=tuple(map(_fewer_events, of("harness/tests/golden/jfr_json/*"))), read=_runtime_log, whole=True
        ),
        "nmt": golden("nmt/*", _text(parse_nmt), names=None),
        "prometheus": golden("runtime_metrics/*", _text(parse_runtime_metrics), names=None),
        "contention": Reader(recordings=(CONTENTION,), read=_text(parse_contention), names=None),
        "experiment": Reader(
            recordings=of(f"{experiments}/*.toml"), read=_experiment(root), names=".toml", whole=True
        ),
        "claims": Reader(
            recordings=_ledgers(of(f"{experiments}/{LEDGERS[0]}.toml")), read=_claims(root), names=LEDGERS[0], whole=True
        ),
        "service": Reader(
            recordings=of("services/strings/go-nethttp/service.toml"), read=_service, names="service.toml", whole=True
        ),
        "requests": Reader(
            recordings=of("services/*/contract/requests.jsonl"), read=_requests, names="requests.jsonl", whole=True
        ),
        "cases": Reader(recordings=of("services/*/contract/cases.jsonl"), read=_cases, names="cases.jsonl", whole=True),
        "hosts": Reader(recordings=of("harness/hosts.example.toml"), read=_hosts, names=HOSTS, whole=True),
        "record": Reader(recordings=_records(root), read=_session(root), names="quick-local-1", whole=True),
    }  # fmt: skip


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _ledgers(whole: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Cut ledgers into smaller ones between their claims."""
    parts = [b""]
    for claim in (text for data in whole for text in re.split(rb"(?m)^(?=\[claims\.)", data)):
        if len(parts[-1]) + len(claim) > PART_BYTES:
            parts.append(b"")
        parts[-1] += claim
    return tuple(part for part in parts if part)


def _fewer_events(data: bytes) -> bytes:
    """Return a flight recording with a few events of each type."""
    tree, by_type = json.loads(data), defaultdict[str, list[object]](list)
    for event in tree["recording"]["events"]:
        by_type[event["type"]].append(event)
    tree["recording"]["events"] = [event for events in by_type.values() for event in events[:EVENTS]]
    return json.dumps(tree, indent=2).encode()


def _changed_bytes(original: bytes, rng: random.Random) -> bytes:
    """Change some bytes, most of them near an end: there are the directory of an archive and the head of a database."""
    data = bytearray(original)
    for _ in range(rng.choice((1, 2, 8))):
        near = min(len(data), rng.choice((200, 2000, len(data))))
        at = rng.randrange(near)
        data[at if rng.random() < 0.5 else -1 - at] = rng.randrange(256)
    return bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.1 else bytes(data)


def _written(data: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _results(data: bytes, folder: Path, rng: random.Random) -> None:
    path = _written(data, folder, "changed.file")
    way = rng.random()
    if way < 0.15:
        read_run(RunFiles(name="a", paths=(path,)))
        return
    html = folder / "page.html" if way < 0.15 + PAGES else None
    with contextlib.redirect_stdout(io.StringIO()):
        main([path], as_json=way < 1 - TEXTS, html=html)


def _runtime_log(data: bytes, folder: Path, rng: random.Random) -> None:
    name = "changed.file.gz" if data[:2] == b"\x1f\x8b" else "changed.file"
    read_runtime_log(_written(data, folder, name), process_start_epoch_s=rng.choice([None, 1.7e9]))


def _text(parse: Callable[[str], object]) -> Read:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        parse(data.decode("utf-8", "replace"))

    return read


def _experiment(root: Path) -> Read:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        said = next((line for line in data.splitlines()[:20] if line.startswith(b"name = ")), b"")
        stem = said[8:].rstrip(b'" \r').decode("utf-8", "replace")
        name = stem if stem.replace("-", "").isalnum() and len(stem) < 40 else "changed"
        load_study(root, str(_written(data, folder, f"{name}.toml")))

    return read


def _claims(root: Path) -> Read:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        project = _project(root, folder)
        _written(data, project, (EXPERIMENTS / f"{LEDGERS[0]}.toml").as_posix())
        load_claims(project)

    return read


def _project(root: Path, folder: Path) -> Path:
    """A project whose experiments, articles and references are those of the clone, by links."""
    experiments = folder / EXPERIMENTS
    if not experiments.is_dir():
        experiments.mkdir(parents=True)
        for path in (root / EXPERIMENTS).glob("*.toml"):
            if path.stem not in LEDGERS:
                (experiments / path.name).symlink_to(path)
        (experiments / BASES).symlink_to(root / EXPERIMENTS / BASES)
        for name in ("data/published", "paper", "services"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(root / name)
    return folder


def _service(data: bytes, folder: Path, rng: random.Random) -> None:
    _written(data, folder, "services/strings/go-nethttp/service.toml")
    load_implementations(folder, "strings")


def _requests(data: bytes, folder: Path, rng: random.Random) -> None:
    contract = _written(data, folder, "services/strings/contract/requests.jsonl").parent
    if rng.random() < 0.5:
        load_requests(folder, "strings")
    else:
        load_all_requests(contract)


def _cases(data: bytes, folder: Path, rng: random.Random) -> None:
    load_cases(_written(data, folder, "contract/cases.jsonl").parent)


def _hosts(data: bytes, folder: Path, rng: random.Random) -> None:
    _written(data, folder, HOSTS)
    host_names(folder)


@cache
def _unpacked_session(root: Path) -> dict[str, bytes]:
    """The files of the bundled session, with its first trials: the others are like them."""
    archive = SessionFolder((root / SESSION).with_suffix("")).archive
    assert archive is not None
    first = sorted({name.split("/")[0] for name in archive.sizes if "/" in name})[:TRIALS]
    return {
        name: archive.read(name) for name in archive.sizes if "/" not in name or name.split("/")[0] in first
    }


def _records(root: Path) -> tuple[bytes, ...]:
    """Name and content of the files of a session that are read as data, with a line end between them."""
    files = _unpacked_session(root)
    first = min(name.split("/")[0] for name in files if "/" in name)
    return tuple(
        name.removesuffix(".gz").encode() + b"\n" + (gzip.decompress(data) if name.endswith(".gz") else data)
        for name, data in files.items()
        if "/" not in name or name.startswith(first)
    )


def _session(root: Path) -> Read:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        """One file of a session is a changed one; everything that analysis reads of the session is read."""
        session, files = folder / "aa" / "quick-local-1", _unpacked_session(root)
        if not session.is_dir():
            for name, content in files.items():
                _written(content, session, name)
        head, _, content = data.partition(b"\n")
        name = head.decode("utf-8", "replace")
        stored = next((one for one in (name, f"{name}.gz") if one in files), HEADER)
        original = files[stored]
        packed = (
            gzip.compress(content, 1, mtime=0) if stored.endswith(".gz") and rng.random() < 0.8 else content
        )
        if stored.startswith(name) and rng.random() < 0.8:
            packed = packed[: len(original)].ljust(len(original), b"\n")  # sizes are compared first
        _written(packed, session, stored)
        try:
            _read_all(SessionFolder(session))
        finally:
            _written(original, session, stored)

    return read


def _read_all(session: SessionFolder) -> None:
    """Read a session as `rematch tidy` does; what is damaged is counted there, so refusals of trials are answers."""
    _ = session.header
    session.events(), session.builds(), session.echo(), session.calibration(), session.memory()
    trial = sorted(session.finished())[:1]
    for one in trial:
        record = session.record(one)
        if damage_of(session, record) is None:
            try:
                read_requests(session, record)
                read_samples(session, record)
                request_columns(session, record)
            except (InputError, ValueError, OSError):
                pass  # what tidy takes for a damaged trial, too
    session.verify()
