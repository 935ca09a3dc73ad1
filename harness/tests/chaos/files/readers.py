# SPDX-License-Identifier: Apache-2.0
"""Every reader of the project with the recordings that are changed for it.

A reader gets bytes and a folder of its own; it writes them to a file there and reads that as a command would.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.agent.cgroup import group_folders, longest_throttling, read_folders, text_of, throttling_folders
from harness.agent.files import file_sha256
from harness.analysis.tables.runtime_columns import runtime_columns
from harness.analysis.tables.tidy import damage_of, read_requests, read_samples
from harness.compare.arguments import RunFiles
from harness.compare.reading import read_run
from harness.definitions import load_implementations, load_requests, load_study
from harness.definitions.claims import load_claims
from harness.definitions.extending import BASES
from harness.errors import InputError
from harness.formats.jfr_json import parse_contention
from harness.formats.nmt import parse_nmt
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.hosts.ssh.settings import FILE as HOSTS
from harness.hosts.ssh.settings import host_names
from harness.project import EXPERIMENTS, LEDGERS
from harness.report.output import main
from harness.report.samples import summarise_samples
from harness.store import SessionFolder
from harness.store.archive import CHECKSUM, SUFFIX
from harness.store.layout import HEADER
from harness.tests.chaos.files.hostile import hostile, hostile_archive
from harness.tests.chaos.files.mutate import Format, mutated
from harness.tests.chaos.files.recordings import (
    CGROUP,
    CONTENTION,
    CUT,
    SAMPLES,
    fewer_events,
    ledgers,
    unpacked,
)
from harness.workloads import load_all_requests, load_cases

GOLDEN = Path("harness") / "tests" / "golden"
#: A small bundled session; its archive and its files are changed. Its files are entries of their own.
SESSION = Path("data") / "raw" / "bundled" / "aa" / "quick-local-3.zip"
#: One whose files are packed together in blocks.
IN_BLOCKS = Path("data") / "raw" / "bundled" / "strings-startup" / "quick-local-1.zip"
#: One hostile file among so many changed ones: some are megabytes.
HOSTILE_ONE_IN = 60
#: The shares of reports that are written as a page and as text: they take as long as a hundred and as ten others.
PAGES, TEXTS = 0.003, 0.02
#: Trials of the session of which one file is changed.
TRIALS = 2
Read = Callable[[bytes, Path, random.Random], None]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One reader. ``names``: part of the file's name that a refusal must have; ``None``: it gets text, not a file."""

    name: str
    form: Format
    recordings: tuple[bytes, ...]
    read: Read
    names: str | None
    make: Callable[[bytes, random.Random], bytes] | None = None

    def input(self, rng: random.Random) -> bytes:
        """Return the next changed or hostile file."""
        original = rng.choice(self.recordings)
        if self.make is not None:
            return self.make(original, rng)
        if rng.randrange(HOSTILE_ONE_IN) == 0:
            return hostile(self.form, rng)
        return mutated(original, self.form, rng, self.recordings)


def readers(root: Path) -> tuple[Reader, ...]:
    """Return all readers, with recordings from a clone.

    Raises:
        InputError: the clone has no recordings (an installed package has not).
    """
    if not (root / GOLDEN).is_dir():
        raise InputError(
            "has no recorded files to change", file=root / GOLDEN, allowed="a clone of the project"
        )

    def of(*patterns: str) -> tuple[bytes, ...]:
        paths = [path for pattern in patterns for path in sorted(root.glob(pattern))]
        return tuple(unpacked(path) for path in paths if path.is_file() and path.suffix != ".md")

    golden = GOLDEN.as_posix()
    results: tuple[tuple[str, Format, tuple[str, ...]], ...] = (
        ("jmeter csv", "csv", (f"{golden}/jmeter/*",)),
        ("locust csv", "csv", (f"{golden}/locust/*.csv",)),
        ("k6 csv", "csv", (f"{golden}/k6/*.csv*",)),
        ("k6 json", "json", (f"{golden}/k6/*.json*",)),
        ("oha csv", "csv", (f"{golden}/oha/oha.csv",)),
        ("oha sqlite", "bytes", (f"{golden}/oha/samples.db.gz",)),
        ("vegeta csv", "csv", (f"{golden}/vegeta/results.csv",)),
        ("metronome csv", "csv", (f"{golden}/metronome/samples.csv",)),
        ("wrk text", "lines", (f"{golden}/wrk/*.txt",)),
        ("wrk2 text", "lines", (f"{golden}/wrk2/*.txt",)),
    )
    made = [
        Reader(name=name, form=form, recordings=of(*patterns), read=_results, names="changed.file")
        for name, form, patterns in results
    ]
    logs: tuple[tuple[str, Format, str], ...] = (
        ("jvm log", "lines", "jvm_log/*"), ("gctrace", "lines", "gctrace/*.log"), ("jfr json", "json", "jfr_json/*"),
    )  # fmt: skip
    made += [
        Reader(
            name=name,
            form=form,
            recordings=tuple(map(fewer_events if form == "json" else bytes, of(f"{golden}/{pattern}"))),
            read=_runtime_log,
            names="changed.file",
        )
        for name, form, pattern in logs
    ]
    made += [
        Reader(name="nmt", form="lines", recordings=of(f"{golden}/nmt/*"), read=_text(parse_nmt), names=None),
        Reader(
            name="prometheus", form="lines", recordings=of(f"{golden}/runtime_metrics/*"),
            read=_text(parse_runtime_metrics), names=None,
        ),
        Reader(name="contention", form="lines", recordings=(CONTENTION,), read=_text(parse_contention), names=None),
        Reader(name="samples", form="csv", recordings=(SAMPLES,), read=_samples, names="changed.csv"),
        Reader(name="cgroup", form="lines", recordings=CGROUP, read=_cgroup, names=None),
        Reader(
            name="experiment", form="toml", recordings=of(f"{EXPERIMENTS.as_posix()}/*.toml"), read=_experiment(root),
            names=".toml",
        ),
        Reader(
            name="claims", form="toml", recordings=ledgers(of(f"{EXPERIMENTS.as_posix()}/{LEDGERS[0]}.toml")),
            read=_claims(root), names=LEDGERS[0],
        ),
        Reader(
            name="service", form="toml", recordings=of("services/strings/go-nethttp/service.toml"), read=_service,
            names="service.toml",
        ),
        Reader(
            name="requests", form="json", recordings=of("services/*/contract/requests.jsonl"), read=_requests,
            names="requests.jsonl",
        ),
        Reader(
            name="cases", form="json", recordings=of("services/*/contract/cases.jsonl"), read=_cases,
            names="cases.jsonl",
        ),
        Reader(name="hosts", form="toml", recordings=of("harness/hosts.example.toml"), read=_hosts, names=HOSTS),
        Reader(name="record", form="json", recordings=_records(root), read=_session(root), names="quick-local-1"),
        Reader(
            name="archive", form="bytes", recordings=tuple((root / name).read_bytes() for name in (SESSION, IN_BLOCKS)),
            read=_archive,
            names="quick-local-1", make=hostile_archive,
        ),
    ]  # fmt: skip
    return tuple(one for one in made if one.recordings)


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


def _samples(data: bytes, folder: Path, rng: random.Random) -> None:
    summarise_samples(_written(data, folder, "changed.csv"), rng.choice([None, (0.0, 10.0)]))


#: What is changed, one part each; ``_lay_out_groups`` makes it the content of the kernel's files.
_GROUP_FILES = ("mounts", "groups", "stat", "memory")
_OF_MEMORY = (
    "memory.current", "memory.peak", "memory.usage_in_bytes", "memory.max_usage_in_bytes", "cpuacct.usage",
)  # fmt: skip


def _lay_out_groups(folder: Path) -> None:
    """Make the kernel's files of both versions, as links to the four that are written."""
    of_process = {f"proc/{who}/cgroup": "groups" for who in (os.getpid(), "self")}
    of_groups = {
        f"sys/fs/cgroup/{group}/{name}": "stat" if name == "cpu.stat" else "memory"
        for group in ("a/b", "cpu/a/b", "memory/a/b")
        for name in ("cpu.stat", *_OF_MEMORY)
    }
    for name, source in {"proc/self/mountinfo": "mounts", **of_process, **of_groups}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(folder / source)


def _cgroup(data: bytes, folder: Path, rng: random.Random) -> None:
    """What the kernel shows is read wherever it is run, by the agent too: it must give numbers or nothing."""
    given = dict(zip(_GROUP_FILES, (*data.split(CUT), b"", b"", b""), strict=False))
    if not (folder / "proc").is_dir():
        _lay_out_groups(folder)
    for name, content in given.items():
        (folder / name).write_bytes(content)
    longest_throttling(text_of(group / "cpu.stat") for group in throttling_folders(folder))
    read_folders(group_folders(os.getpid(), folder), rss_bytes=None, process_cpu_s=None)


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
    if archive is None:
        raise InputError("is not there", file=root / SESSION)
    every = {name.split("/")[0] for name in archive.sizes if "/" in name}
    kept = sorted(every)[:TRIALS]
    return {
        name: archive.read(name) for name in archive.sizes if "/" not in name or name.split("/")[0] in kept
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
                runtime_columns(session, record)
            except (InputError, ValueError, OSError):
                pass  # what tidy takes for a damaged trial, too
    session.verify()


def _archive(data: bytes, folder: Path, rng: random.Random) -> None:
    """An archive whose checksum is right, since who makes one makes the other."""
    path = _written(data, folder, f"aa/quick-local-1{SUFFIX}")
    path.with_name(path.name + CHECKSUM).write_text(f"{file_sha256(path)}  {path.name}\n")
    session = SessionFolder(path.with_suffix(""))
    target = folder / "quick-local-1-unpacked"
    try:
        if session.archive is not None:
            session.archive.unpack(target)
            _ = session.header
            session.verify()
    finally:
        stray = [one for one in target.rglob("*") if one.is_symlink() or not (one.is_file() or one.is_dir())]
        shutil.rmtree(target, ignore_errors=True)
        if stray:
            raise AssertionError(f"unpacked something else than files: {stray[0]}")
