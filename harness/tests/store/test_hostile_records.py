# SPDX-License-Identifier: Apache-2.0
"""A session of somebody else cannot make its reader write elsewhere, or end in a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.store import SessionFolder

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
    b"a,b\n1,2\n",
    b"",
    gzip.compress(b"x" * 100, mtime=0)[:20],
    b"monotonic_s,role\nx,y\n",
    b"monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n",
)


def test_samples_that_are_none_exclude_their_trial_and_no_other(
    session: SessionFolder, tmp_path: Path
) -> None:
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
