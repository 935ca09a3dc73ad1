# SPDX-License-Identifier: Apache-2.0
"""A session as one archive: the same answers as from its folder, and nothing read that its checksum does not cover."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.agent.files import file_sha256
from harness.analysis.tables.tidy import damage_of
from harness.cli import app
from harness.errors import InputError, StoreError
from harness.project import find_root
from harness.store import Archive, SessionFolder, Store, archive_of, blocks, layout, pack, packing
from harness.tests.support.available import some_in_every_run
from harness.tests.support.packed_sessions import contents_of, file_bytes, relisted, seal

ROOT = find_root(Path(__file__).parent)


BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}
#: Whatever reads a session checks what it reads.
IN_EVERY_RUN = ("bundled/aa/quick-local-3", "bundled/strings-startup/quick-local-1")


@pytest.mark.parametrize(
    "key", some_in_every_run(BUNDLED, IN_EVERY_RUN, "every file of each bundled session")
)
def test_the_files_of_a_bundled_session_are_those_of_its_records(key: str) -> None:
    assert BUNDLED[key].verify() == ()


def test_every_bundled_session_is_one_complete_archive() -> None:
    assert BUNDLED
    for session in BUNDLED.values():
        assert session.archive is not None and session.complete, session.key
        assert session.archive.sha256
    stored = {path.name for path in Store(ROOT).bundled.rglob("*") if path.is_file()}
    assert all(name.endswith((".zip", ".zip.sha256", ".lock")) for name in stored)


def test_an_archive_answers_as_its_folder_does(unpacked: SessionFolder, packed: SessionFolder) -> None:
    assert packed.archive is not None and unpacked.archive is None
    assert packed.exists and packed.complete and packed.key == unpacked.key
    assert packed.header == unpacked.header
    assert list(packed.records()) == list(unpacked.records())
    for read in (SessionFolder.builds, SessionFolder.echo, SessionFolder.events, SessionFolder.memory):
        assert read(packed) == read(unpacked)
    for trial_id in unpacked.finished():
        for name, stored in unpacked.record(trial_id).files.items():
            assert packed.size_bytes(trial_id, name) == stored.bytes
            assert packed.sha256(trial_id, name) == unpacked.sha256(trial_id, name) == stored.sha256
            with packed.open(trial_id, name) as one, unpacked.open(trial_id, name) as other:
                assert one.read() == other.read()


def test_an_archive_is_repeatable(unpacked: SessionFolder, packed: SessionFolder, tmp_path: Path) -> None:
    again = pack(unpacked.folder, tmp_path / "again.zip")
    assert file_sha256(again) == file_sha256(archive_of(packed.folder))
    with pytest.raises(StoreError, match="never rewritten"):
        pack(unpacked.folder, again)


def test_unpacking_gives_all_bytes(unpacked: SessionFolder, packed: SessionFolder, tmp_path: Path) -> None:
    assert packed.archive is not None
    packed.archive.unpack(tmp_path / "out")
    assert file_bytes(tmp_path / "out") == file_bytes(unpacked.folder)
    with pytest.raises(InputError, match="already exists"):
        packed.archive.unpack(tmp_path / "out")


def test_the_store_lists_archives_like_folders_once(unpacked: SessionFolder, packed: SessionFolder) -> None:
    store = Store(packed.folder.parents[3])
    assert [session.key for session in store.sessions("aa")] == [unpacked.key]
    trial = min(unpacked.finished())
    found, trial_id = store.find_trial(f"{unpacked.key}/{trial}")
    assert trial_id == trial
    assert found.where(trial, "record.json") == archive_of(packed.folder) / trial / "record.json"
    shutil.copytree(unpacked.folder, packed.folder)
    assert [session.archive for session in store.sessions("aa")] == [None], "the folder is read, not both"


def test_a_changed_byte_of_an_archive_is_noticed_before_anything_is_read(packed: SessionFolder) -> None:
    archive = archive_of(packed.folder)
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(bytes(data))
    with pytest.raises(
        InputError, match=r"quick-local-3\.zip: damaged: its bytes are not those of its checksum"
    ):
        _ = SessionFolder(packed.folder).header
    beside = archive.with_name(f"{archive.name}.sha256")
    beside.write_text("not a digest\n")
    with pytest.raises(InputError, match=r"zip\.sha256: line 1: no SHA-256"):
        _ = SessionFolder(packed.folder).header
    beside.unlink()
    with pytest.raises(InputError, match=r"zip\.sha256: cannot be read"):
        _ = SessionFolder(packed.folder).header


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18, b"no archive at all" * 100])
def test_a_sealed_file_that_is_no_archive_ends_in_one_line(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "x.zip"
    archive.write_bytes(content)
    seal(archive)
    with pytest.raises(InputError, match=r"x\.zip") as error:
        SessionFolder(tmp_path / "x").record("0001-none")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "mode", "method", "why"),
    [
        ("../outside.txt", 0o100644, zipfile.ZIP_STORED, "not the name of a file below"),
        ("/etc/outside.txt", 0o100644, zipfile.ZIP_STORED, "not the name of a file below"),
        ("a/../../outside.txt", 0o100644, zipfile.ZIP_STORED, "not the name of a file below"),
        ("a\\outside.txt", 0o100644, zipfile.ZIP_STORED, "not the name of a file below"),
        ("a//b.txt", 0o100644, zipfile.ZIP_STORED, "a name in another spelling"),
        ("link", 0o120777, zipfile.ZIP_STORED, "not a regular file"),
        ("device", 0o020644, zipfile.ZIP_STORED, "not a regular file"),
        (".", 0o100644, zipfile.ZIP_STORED, "not the name of a file below"),
        ("a.txt", 0o100644, zipfile.ZIP_LZMA, "packed by a method that no session is"),
    ],
)
def test_an_entry_that_is_no_file_fails(tmp_path: Path, name: str, mode: int, method: int, why: str) -> None:
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as made:
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        entry.external_attr = mode << 16
        entry.create_system, entry.compress_type = 3, method
        made.writestr(entry, "text")
    seal(archive)
    with pytest.raises(InputError, match=why):
        Archive(archive).unpack(tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / "outside.txt").exists()


def test_an_archive_that_claims_to_fill_a_disk_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("session.json", "{}")
    data = bytearray(archive.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    data[central + 24 : central + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    archive.write_bytes(bytes(data))
    seal(archive)
    with pytest.raises(InputError, match="too large when unpacked"):
        Archive(archive).read("session.json")


def test_pack_and_unpack_by_command(
    unpacked: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    shutil.copytree(unpacked.folder, root / "data" / "raw" / "aa" / unpacked.folder.name)
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (root / "harness" / "model").mkdir(parents=True)
    monkeypatch.chdir(root)
    run = CliRunner().invoke
    done = run(app, ["pack", unpacked.key])
    assert done.exit_code == 0, done.output
    assert Store(root).sessions("aa", bundled=True)[0].verify() == ()
    done = run(app, ["unpack", "aa"])
    assert done.exit_code == 0 and "15 trials" in done.output
    assert SessionFolder(root / "results" / "unpacked" / "aa" / unpacked.folder.name).verify() == ()
    missing = run(app, ["unpack", "nothing"])
    assert isinstance(missing.exception, InputError) and "no such session" in str(missing.exception)


def test_hashes_that_the_list_leaves_out_are_those_of_the_record(packed: SessionFolder) -> None:
    archive, trial_id = archive_of(packed.folder), min(packed.finished())
    recorded = packed.record(trial_id).files["samples.csv.gz"].sha256

    def change(contents: dict[str, Any], new_name: str) -> None:
        for file in (file for block in contents["blocks"] for file in block["files"] if "gzip" in file):
            file["gzip"].pop("sha256", None)
            file["name"] = file["name"].replace("/samples.csv.gz", f"/{new_name}.csv.gz")

    relisted(archive, lambda contents: change(contents, "samples"))
    again = SessionFolder(packed.folder)
    assert again.verify() == ()
    assert again.sha256(trial_id, "samples.csv.gz") == recorded
    relisted(archive, lambda contents: change(contents, "others"))
    with pytest.raises(InputError, match="is neither in the list nor in the trial's record"):
        SessionFolder(packed.folder).sha256(trial_id, "others.csv.gz")


def test_a_file_larger_than_a_shared_block_is_read_in_pieces(
    unpacked: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(blocks, "MAX_SHARED_BYTES", 2000)
    monkeypatch.setattr(blocks, "PIECE_BYTES", 700)
    made = SessionFolder(tmp_path / "aa" / "quick-local-1")
    pack(unpacked.folder, archive_of(made.folder))
    assert made.archive is not None and made.verify() == ()
    assert list(contents_of(made)) == list(contents_of(unpacked))
    assert {name: made.archive.read(name) for name in made.archive.sizes} == file_bytes(unpacked.folder)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(b"text\n" * 1000, 9, mtime=0), id="another level"),
        pytest.param(gzip.compress(b"text\n" * 1000, 6, mtime=0)[:-5], id="cut"),
        pytest.param(gzip.compress(b"text\n", 6, mtime=0) * 2, id="two members"),
        pytest.param(b"no gzip", id="no gzip"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_gz_file_that_is_not_given_again_is_stored_as_it_is(tmp_path: Path, data: bytes) -> None:
    name = "0001-x/other.csv.gz"
    session = tmp_path / "s"
    (session / name).parent.mkdir(parents=True)
    (session / "session.json").write_text("{}")
    (session / name).write_bytes(data)
    with (session / "0001-x/given-again.csv.gz").open("wb") as stream:
        layout.write_gzip([b"text\n" * 1000], stream)
    archive = Archive(pack(session, tmp_path / "s.zip"))
    own = [one for one in zipfile.ZipFile(archive.path).namelist() if not one.startswith(blocks.FOLDER)]
    assert own == [name, "session.json"]
    assert archive.read(name) == data and archive.extracted(name).read_bytes() == data
    assert {one: archive.read(one) for one in archive.sizes} == file_bytes(session)


def test_an_archive_with_other_bytes_than_its_session_never_gets_its_name(
    unpacked: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packing._content
    monkeypatch.setattr(packing, "_content", lambda path: content(path).swapcase())
    with pytest.raises(StoreError, match="has other bytes in the archive"):
        pack(unpacked.folder, tmp_path / "new" / "s.zip")
    assert list((tmp_path / "new").iterdir()) == []


def test_another_zlib_reads_the_same_and_is_not_taken_for_damage(
    packed: SessionFolder, unpacked: SessionFolder, tmp_path: Path, another_zlib: Callable[[], None]
) -> None:
    another_zlib()
    assert packed.archive is not None and not packed.archive.compresses_alike
    assert list(contents_of(packed)) == list(contents_of(unpacked))
    first = packed.record(min(packed.finished()))
    name = f"{first.planned.trial_id}/samples.csv.gz"
    assert packed.archive.read(name) != (unpacked.folder / name).read_bytes()
    assert damage_of(packed, first) is None
    assert packed.verify() == ()
    with pytest.raises(InputError, match="was packed by another zlib"):
        packed.archive.unpack(tmp_path / "out")


@pytest.mark.parametrize("of_list", [True, False], ids=["the list has the hash", "only the record has it"])
def test_its_own_zlib_finds_another_content(unpacked: SessionFolder, tmp_path: Path, of_list: bool) -> None:
    session = tmp_path / "aa" / "s"
    shutil.copytree(unpacked.folder, session)
    first = min(unpacked.finished())
    with (session / first / "samples.csv.gz").open("wb") as stream:
        layout.write_gzip([b"other content\n"], stream)
    packed = archive_of(tmp_path / "packed" / "s")
    pack(session, packed)
    (problem,) = SessionFolder(tmp_path / "packed" / "s").verify()
    assert problem.endswith("samples.csv.gz: its bytes are not those of the record")
    recorded = unpacked.record(first).files["samples.csv.gz"]

    def claim(contents: dict[str, Any]) -> None:
        files = (file for block in contents["blocks"] for file in block["files"])
        (file,) = (file for file in files if file["name"] == f"{first}/samples.csv.gz")
        file["gzip"] = {"bytes": recorded.bytes} | ({"sha256": recorded.sha256} if of_list else {})

    relisted(packed, claim)
    (problem,) = SessionFolder(tmp_path / "packed" / "s").verify()
    assert problem.endswith("samples.csv.gz: compressed again, its bytes are not those of the record")
