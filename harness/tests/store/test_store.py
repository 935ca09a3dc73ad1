# SPDX-License-Identifier: Apache-2.0
"""data/raw: written once and whole, readable after any kill, honest about damage; a session of somebody else cannot make its
reader write elsewhere, or end in a traceback."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.tables.tidy import tidy
from harness.errors import InputError, StoreError
from harness.model import ClockReading, Outcome, SessionHeader, TrialRecord
from harness.provenance import collect_provenance
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests.support.sessions import make_session_project, tiny_session

CLOCK = ClockReading(wall_epoch_s=1.0, monotonic_s=1.0)


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> SessionHeader:
    root = make_session_project(tmp_path_factory.mktemp("project"), blocks=2)
    _, prepared = tiny_session(root)
    return SessionHeader(
        session_id=prepared.session_id, experiment=prepared.experiment, plan=prepared.plan,
        implementations=prepared.study.implementations,
        provenance=collect_provenance(root, definition_sha256="0", tools={}),
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, header: SessionHeader) -> SessionFolder:
    return Store(tmp_path).session(header.experiment.name, header.session_id)


@pytest.fixture
def writer(folder: SessionFolder, header: SessionHeader) -> Iterator[SessionWriter]:
    writer = SessionWriter(folder)
    writer.write_header(header)
    yield writer
    writer.close()


def record(header: SessionHeader, number: int = 0, outcome: Outcome = Outcome.OK) -> TrialRecord:
    planned, name = header.plan.trials[number], header.experiment.name
    about: dict[str, Any] = {"experiment": name, "planned": planned, "outcome": outcome}
    return TrialRecord(session_id=header.session_id, started=CLOCK, ended=CLOCK, **about)


def write_trial(writer: SessionWriter, header: SessionHeader, number: int = 0, size: int = 10) -> TrialRecord:
    made = record(header, number)
    trial = writer.begin(made.planned.trial_id)
    (trial.folder / "samples.csv").write_bytes(b"a,b\n" * size)
    (trial.load / "samples.jtl").write_bytes(b"1,2\n" * size)
    return writer.finish(trial, made)


@pytest.mark.parametrize("size", [10, 50_000])
def test_what_is_written_is_read_back(writer: SessionWriter, header: SessionHeader, size: int) -> None:
    written, again = write_trial(writer, header, size=size), write_trial(writer, header, 1, size=size)
    folder = writer.session
    assert tuple(folder.records()) == (written, again)
    assert folder.header == header
    trial_id = written.planned.trial_id
    assert folder.open(trial_id, "samples.csv").read() == b"a,b\n" * size
    assert folder.open(trial_id, "load/samples.jtl").read() == b"1,2\n" * size
    assert folder.verify() == ()
    # large files of a generator are packed; the same bytes give the same file
    assert (folder.path(trial_id, "load/samples.jtl").suffix == ".gz") == (size > 10)
    assert written.files == again.files


def test_a_session_is_complete_with_all_planned_records(writer: SessionWriter, header: SessionHeader) -> None:
    for number in range(len(header.plan.trials)):
        assert not writer.session.complete
        write_trial(writer, header, number)
    assert writer.session.complete
    positions = [made.planned.position for made in writer.session.records()]
    assert positions == sorted(positions)


def test_neither_a_trial_nor_a_header_is_rewritten(writer: SessionWriter, header: SessionHeader) -> None:
    written = write_trial(writer, header)
    with pytest.raises(StoreError, match="never rewritten"):
        writer.begin(written.planned.trial_id)
    with pytest.raises(StoreError, match="never changes"):
        writer.write_header(header)


def test_leftovers_are_kept_aside_and_not_counted(writer: SessionWriter, header: SessionHeader) -> None:
    trial_id = header.plan.trials[0].trial_id
    for number in (1, 2):
        (writer.begin(trial_id).folder / "samples.csv").write_text("half")
        assert writer.sweep() == (trial_id,)
        assert (writer.session.folder / ".interrupted" / f"{trial_id}-{number}" / "samples.csv").is_file()
    assert writer.session.finished() == frozenset()
    write_trial(writer, header)
    assert writer.session.finished() == {trial_id}


def test_two_sessions_do_not_share_a_folder(writer: SessionWriter) -> None:
    with pytest.raises(StoreError, match=f"process {os.getpid()}.*--seed"):
        SessionWriter(writer.session)


def test_changed_bytes_and_missing_files_are_found(writer: SessionWriter, header: SessionHeader) -> None:
    first, second = write_trial(writer, header, 0), write_trial(writer, header, 1)
    folder = writer.session.folder
    (folder / first.planned.trial_id / "samples.csv.gz").write_bytes(gzip.compress(b"other"))
    (folder / second.planned.trial_id / "load" / "samples.jtl").unlink()
    problems = writer.session.verify()
    assert len(problems) == 2
    assert "not those of the record" in problems[0] and "missing" in problems[1]


@pytest.mark.parametrize("cut", [0, 1, 50, 200, None])
def test_a_damaged_record_is_named(writer: SessionWriter, header: SessionHeader, cut: int | None) -> None:
    written = write_trial(writer, header)
    path = writer.session.path(written.planned.trial_id, "record.json")
    text = path.read_text()
    path.write_text(text.replace('"outcome": "ok"', '"outcome": "fine"') if cut is None else text[:cut])
    words = r"record\.json: outcome: damaged" if cut is None else r"record\.json.*damaged"
    with pytest.raises(InputError, match=words) as problem:
        tuple(writer.session.records())
    assert "\n" not in str(problem.value)


def test_a_line_of_the_log_cut_by_a_kill_does_not_spoil_the_next(writer: SessionWriter) -> None:
    writer.event("started")
    with (writer.session.folder / "events.jsonl").open("a") as stream:
        stream.write('{"at_epoch_s": 1, "ev')
    writer.event("resumed")
    assert [event["event"] for event in writer.session.events()] == ["started", "resumed"]


def test_bundled_sessions_are_told_from_those_measured_here(tmp_path: Path, header: SessionHeader) -> None:
    own = Store(tmp_path).session("tiny", "smoke-local-1")
    bundled = SessionFolder(tmp_path / "data/raw/bundled/tiny/smoke-local-1", bundled=True)
    for folder in (own, bundled):
        writer = SessionWriter(folder)
        writer.write_header(header)
        writer.close()
    store = Store(tmp_path)
    keys = [folder.key for folder in store.sessions("tiny")]
    assert keys == ["tiny/smoke-local-1", "bundled/tiny/smoke-local-1"]
    assert [folder.key for folder in store.sessions(bundled=True)] == ["bundled/tiny/smoke-local-1"]
    assert store.sessions("other") == ()


def test_a_trial_that_failed_on_a_full_disk_is_not_kept(folder: SessionFolder, header: SessionHeader) -> None:
    writer = SessionWriter(folder)
    writer.write_header(header)
    trial = writer.begin(header.plan.trials[0].trial_id)
    writer.close()
    full = SessionWriter(folder, min_free_bytes=2**60)
    with pytest.raises(StoreError, match=r"no space left.*MiB free.*finished trials are kept"):
        full.begin(header.plan.trials[1].trial_id)
    with pytest.raises(StoreError, match="no space left"):
        full.finish(trial, record(header, outcome=Outcome.FAILED))
    full.close()
    assert folder.finished() == frozenset()


#: Of the session as it was measured.
LEFT_OUT = {"at another speed": 5}


@pytest.fixture
def session(unpacked: SessionFolder, tmp_path: Path) -> SessionFolder:
    """A bundled session as a folder that was measured here, in a project of its own."""
    return SessionFolder(shutil.copytree(unpacked.folder, tmp_path / "project/data/raw/aa/quick-local-3"))


def rewrite(file: Path, place: Sequence[str], **values: object) -> None:
    """Give a table of a JSON file other values."""
    content = table = json.loads(file.read_text("utf-8"))
    for key in place:
        table = table[key]
    table.update(values)
    file.write_text(json.dumps(content), "utf-8")


def test_a_record_that_names_a_path_writes_nothing_outside(session: SessionFolder, tmp_path: Path) -> None:
    first = min(session.finished())
    record = session.folder / first / "record.json"
    for name in ("/outside", "a\\b", ".hidden", "a\0b", "", "../../../../../outside"):
        rewrite(record, ["planned"], trial_id=name)
        with pytest.raises(InputError, match=r"record\.json"):
            session.record(first)
    before = {path for path in tmp_path.rglob("*") if "processed" not in path.parts}
    (done,) = tidy(tmp_path / "project", ["aa"]).experiments
    assert done.by_reason["damaged"] == 1
    after = {path for path in tmp_path.rglob("*") if "processed" not in path.parts}
    assert after == before


def test_the_record_of_another_trial_is_refused(session: SessionFolder) -> None:
    first, second = sorted(session.finished())[:2]
    record = session.folder / first / "record.json"
    record.write_bytes((session.folder / second / "record.json").read_bytes())
    with pytest.raises(InputError, match=r"record\.json.*the record of another trial"):
        session.record(first)


#: Samples that are none; the last ones are those of a service that ended at once.
SAMPLES = (
    b"a,b\n1,2\n", b"", gzip.compress(b"x" * 100, mtime=0)[:20], b"monotonic_s,role\nx,y\n",
    b"monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n",
)  # fmt: skip


def test_samples_that_are_none_exclude_their_trial_alone(session: SessionFolder, tmp_path: Path) -> None:
    trials = [record.planned.trial_id for record in session.records() if "samples.csv.gz" in record.files]
    for trial_id, content in zip(trials, SAMPLES, strict=False):
        packed = content if content.startswith(b"\x1f\x8b") else gzip.compress(content, mtime=0)
        (session.folder / trial_id / "samples.csv.gz").write_bytes(packed)
        record = session.folder / trial_id / "record.json"
        rewrite(record, ["files", "samples.csv.gz"], bytes=len(packed))
    (done,) = tidy(tmp_path / "project", ["aa"]).experiments
    assert done.by_reason["damaged"] == len(SAMPLES) - 1
    assert done.n_kept == done.n_planned - sum(done.by_reason.values())
    assert done.by_reason.keys() == {"damaged", *LEFT_OUT}
