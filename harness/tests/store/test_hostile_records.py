# SPDX-License-Identifier: Apache-2.0
"""A session of somebody else cannot make its reader write elsewhere, or end in a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def rewrite(file: Path, change: Callable[[Any], object]) -> None:
    made = json.loads(file.read_text("utf-8"))
    change(made)
    file.write_text(json.dumps(made), "utf-8")


@pytest.mark.parametrize("name", ["../../../../../outside", "/outside", "a\\b", ".hidden", "a\0b", ""])
def test_a_record_that_names_a_path_writes_nothing_outside(
    session: SessionFolder, tmp_path: Path, name: str
) -> None:
    first = min(session.finished())
    rewrite(session.folder / first / "record.json", lambda made: made["planned"].update(trial_id=name))
    before = {path for path in tmp_path.rglob("*") if "processed" not in path.parts}
    with pytest.raises(InputError, match=r"record\.json"):
        session.record(first)
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


def replace_samples(session: SessionFolder, content: bytes) -> None:
    """Give the first trial other samples, and its record their size."""
    first = min(session.finished())
    stored = session.folder / first / "samples.csv.gz"
    packed = content if content.startswith(b"\x1f\x8b") else gzip.compress(content, mtime=0)
    stored.write_bytes(packed)
    rewrite(
        session.folder / first / "record.json",
        lambda made: made["files"]["samples.csv.gz"].update(bytes=len(packed)),
    )


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"a,b\n1,2\n", id="other columns"),
        pytest.param(b"", id="empty"),
        # its header holds no time, so that every worker collects the same bytes
        pytest.param(gzip.compress(b"x" * 100, mtime=0)[:20], id="truncated gzip"),
        pytest.param(b"monotonic_s,role\nx,y\n", id="words for numbers"),
    ],
)
def test_samples_that_are_none_exclude_their_trial_and_no_other(
    session: SessionFolder, tmp_path: Path, content: bytes
) -> None:
    replace_samples(session, content)
    (done,) = tidy(tmp_path / "project", ["aa"]).experiments
    assert done.by_reason == {"damaged": 1, **LEFT_OUT}
    assert done.n_kept == done.n_planned - 1 - sum(LEFT_OUT.values())


def test_samples_without_a_row_are_those_of_a_service_that_ended_at_once(
    session: SessionFolder, tmp_path: Path
) -> None:
    replace_samples(session, b"monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n")
    (done,) = tidy(tmp_path / "project", ["aa"]).experiments
    assert done.by_reason == LEFT_OUT
    assert done.n_kept == done.n_planned - sum(LEFT_OUT.values())
