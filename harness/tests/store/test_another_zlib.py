# SPDX-License-Identifier: Apache-2.0
"""Where another zlib compresses the contents of an archive, nothing is lost, and damage is still found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.tables.tidy import damage_of, read_requests, tidy
from harness.errors import InputError, StoreError
from harness.project import find_root
from harness.store import SessionFolder, Store, archive_of, gzipping, pack, pack_again
from harness.tests.support.packed_sessions import contents_of, file_bytes, relisted

ROOT = find_root(Path(__file__).parent)


def test_another_zlib_reads_the_same_and_says_so_in_place_of_damage(
    packed: SessionFolder, unpacked: SessionFolder, another_zlib: Callable[[], None]
) -> None:
    another_zlib()
    assert packed.archive is not None and not packed.archive.compresses_alike
    assert list(contents_of(packed)) == list(contents_of(unpacked))
    first = packed.record(min(packed.finished()))
    name = f"{first.planned.trial_id}/samples.csv.gz"
    assert packed.archive.read(name) != (unpacked.folder / name).read_bytes()
    assert damage_of(packed, first) is None
    checked = packed.check()
    assert checked.problems == packed.verify() == ()
    assert name in checked.recompressed
    assert all(one.endswith(".gz") for one in checked.recompressed)


def test_another_zlib_reads_the_single_requests_of_a_trial(another_zlib: Callable[[], None]) -> None:
    (session,) = Store(ROOT).sessions("gc-loops", bundled=True)
    assert session.archive is not None and session.archive.compresses_alike
    record = session.record(min(session.finished()))
    another_zlib()
    assert not session.archive.compresses_alike
    requests = read_requests(session, record)
    assert requests is not None and record.load is not None
    assert requests.n_requests == record.load.n_requests


def test_what_another_zlib_unpacked_is_a_sound_session_that_says_so(
    packed: SessionFolder, tmp_path: Path, another_zlib: Callable[[], None]
) -> None:
    assert packed.archive is not None
    another_zlib()
    project = tmp_path / "project"
    session = SessionFolder(project / "data/raw/aa/quick-local-3")
    other = packed.archive.unpack(session.folder)
    assert other and set(other) == set(
        json.loads((session.folder / "recompressed.json").read_text())["files"]
    )
    assert session.check() == packed.check()
    assert all(damage_of(session, record) is None for record in session.records())
    assert list(contents_of(session)) == list(contents_of(packed))
    (done,) = tidy(project, ["aa"]).experiments
    assert done.by_reason == {"at another speed": 5} and done.n_kept == done.n_planned - 5
    name = other[0]
    (session.folder / name).write_bytes((session.folder / other[1]).read_bytes())
    (problem,) = SessionFolder(session.folder).verify()
    assert problem.endswith(f"{name}: its bytes are not those of the record"), (
        "a change is found all the same"
    )


def test_an_archive_is_not_packed_again_where_another_zlib_would_change_its_files(
    packed: SessionFolder, tmp_path: Path, another_zlib: Callable[[], None]
) -> None:
    assert packed.archive is not None
    another_zlib()
    before = file_bytes(packed.folder.parent)
    with pytest.raises(StoreError, match=r"zlib here compresses \d+ files to other bytes"):
        pack_again(packed.archive)
    assert file_bytes(packed.folder.parent) == before
    packed.archive.unpack(tmp_path / "out")
    with pytest.raises(InputError, match="was unpacked with another zlib"):
        pack(tmp_path / "out", tmp_path / "again.zip")


@pytest.mark.parametrize("listed", [True, False], ids=["the list has the hash", "only the record has it"])
def test_the_zlib_that_packed_a_session_finds_a_content_that_is_not_the_recorded_one(
    unpacked: SessionFolder, tmp_path: Path, listed: bool
) -> None:
    session = tmp_path / "aa" / "s"
    shutil.copytree(unpacked.folder, session)
    first = min(unpacked.finished())
    with (session / first / "samples.csv.gz").open("wb") as stream:
        gzipping.write_gzip([b"other content\n"], stream)
    made = archive_of(tmp_path / "packed" / "s")
    pack(session, made)
    recorded = unpacked.record(first).files["samples.csv.gz"]

    def claim(contents: dict[str, Any]) -> None:
        (file,) = [
            file
            for block in contents["blocks"]
            for file in block["files"]
            if file["name"] == f"{first}/samples.csv.gz"
        ]
        file["gzip"] = {"bytes": recorded.bytes} | ({"sha256": recorded.sha256} if listed else {})

    relisted(made, claim)
    (problem,) = SessionFolder(tmp_path / "packed" / "s").verify()
    assert problem.endswith("samples.csv.gz: compressed again, its bytes are not those of the record")


def test_a_damaged_list_of_recompressed_files_ends_in_one_line(
    unpacked: SessionFolder, tmp_path: Path
) -> None:
    session = tmp_path / "aa" / "s"
    shutil.copytree(unpacked.folder, session)
    (session / "recompressed.json").write_text('{"files": 3}')
    with pytest.raises(InputError, match=r"recompressed\.json: .*damaged"):
        SessionFolder(session).size_bytes(min(unpacked.finished()), "samples.csv")
