# SPDX-License-Identifier: Apache-2.0
"""Contents are packed together and given back byte by byte."""

from __future__ import annotations

import gzip
import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import InputError, StoreError
from harness.project import find_root
from harness.store import (
    SessionFolder,
    archive,
    archive_of,
    blocks,
    gzipping,
    pack,
    pack_again,
    packing,
)
from harness.tests.support.packed_sessions import contents_of, file_bytes, listed, relisted

ROOT = find_root(Path(__file__).parent)


def test_contents_that_are_packed_together_take_less_than_two_thirds(
    packed: SessionFolder, old: SessionFolder
) -> None:
    assert archive_of(packed.folder).stat().st_size < archive_of(old.folder).stat().st_size * 2 / 3


def test_an_archive_of_old_is_read_as_ever(old: SessionFolder, packed: SessionFolder) -> None:
    assert old.archive is not None and packed.archive is not None
    assert old.verify() == packed.verify() == ()
    assert dict(old.archive.sizes) == dict(packed.archive.sizes)
    assert list(contents_of(old)) == list(contents_of(packed))
    for name in old.archive.sizes:
        assert old.archive.read(name) == packed.archive.read(name)
        assert old.archive.recorded_sha256(name) == packed.archive.recorded_sha256(name)


def test_hashes_that_records_have_are_not_listed_again(packed: SessionFolder) -> None:
    assert packed.archive is not None
    files = {
        file["name"]: file["gzip"]
        for block in listed(packed)["blocks"]
        for file in block["files"]
        if "gzip" in file
    }
    recorded = {
        f"{trial_id}/{name}" for trial_id in packed.finished() for name in packed.record(trial_id).files
    }
    assert {name for name, gz in files.items() if "sha256" not in gz} == files.keys() & recorded != set()
    for name in files.keys() & recorded:
        trial_id, _, file = name.partition("/")
        assert packed.sha256(trial_id, file) == packed.record(trial_id).files[file].sha256


def test_a_list_of_before_that_has_the_hashes_itself_is_read_as_ever(packed: SessionFolder) -> None:
    assert packed.archive is not None
    names = list(packed.archive.sizes)
    hashes = {name: packed.archive.recorded_sha256(name) for name in names}

    def with_hashes(contents: dict[str, Any]) -> None:
        contents["version"] = 3
        for block in contents["blocks"]:
            for file in block["files"]:
                if "gzip" in file:
                    file["gzip"]["sha256"] = hashes[file["name"]]

    relisted(packed.archive.path, with_hashes)
    again = SessionFolder(packed.folder)
    assert again.archive is not None and again.verify() == ()
    assert {name: again.archive.recorded_sha256(name) for name in names} == hashes


def test_a_hash_that_neither_list_nor_record_has_is_refused(packed: SessionFolder, tmp_path: Path) -> None:
    assert packed.archive is not None

    def renamed(contents: dict[str, Any]) -> None:
        for block in contents["blocks"]:
            for file in block["files"]:
                file["name"] = file["name"].replace("/samples.csv.gz", "/others.csv.gz")

    relisted(packed.archive.path, renamed)
    again = archive.Archive(packed.archive.path)
    name = next(name for name in again.sizes if name.endswith("/others.csv.gz"))
    for read in (lambda: again.recorded_sha256(name), lambda: again.unpack(tmp_path / "out")):
        with pytest.raises(InputError, match="is neither in the list nor in the trial's record"):
            read()


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


def test_what_is_kept_in_memory_is_bounded(
    unpacked: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100_000)  # some are kept, and some let go
    made = SessionFolder(tmp_path / "aa" / "quick-local-1")
    pack(unpacked.folder, archive_of(made.folder))
    monkeypatch.setattr(archive, "_KEPT_BYTES", 200_000)
    assert list(contents_of(made)) == list(contents_of(unpacked))
    assert 0 < sum(map(len, archive._KEPT.values())) <= 200_000


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(b"text\n" * 1000, 9, mtime=0), id="another level"),
        pytest.param(gzip.compress(b"text\n" * 1000, 6, mtime=1), id="a time in it"),
        pytest.param(gzip.compress(b"text\n" * 1000, 6, mtime=0)[:-5], id="cut"),
        pytest.param(gzip.compress(b"text\n", 6, mtime=0) * 2, id="two members"),
        pytest.param(gzip.compress(b"text\n", 6, mtime=0) + b"\0", id="followed by something"),
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
        gzipping.write_gzip([b"text\n" * 1000], stream)
    made = archive.Archive(pack(session, tmp_path / "s.zip"))
    own = [one for one in zipfile.ZipFile(made.path).namelist() if not one.startswith(blocks.FOLDER)]
    assert own == [name, "session.json"]
    assert made.read(name) == data and made.extracted_content(name).read_bytes() == data
    assert {one: made.read(one) for one in made.sizes} == file_bytes(session)


def test_a_file_that_is_not_as_recorded_is_no_better_after_packing(
    unpacked: SessionFolder, tmp_path: Path
) -> None:
    session = tmp_path / "aa" / "s"
    shutil.copytree(unpacked.folder, session)
    first = min(unpacked.finished())
    with (session / first / "samples.csv.gz").open("wb") as stream:
        gzipping.write_gzip([b"other content\n"], stream)
    pack(session, archive_of(tmp_path / "packed" / "s"))
    (problem,) = SessionFolder(tmp_path / "packed" / "s").verify()
    assert problem.endswith("samples.csv.gz: its bytes are not those of the record")


def test_contents_so_much_alike_that_they_would_be_refused_are_not_packed_together(
    unpacked: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_RATIO", 3)
    monkeypatch.setattr(archive, "_SMALL_BYTES", 0)
    made = archive.Archive(pack(unpacked.folder, tmp_path / "s.zip"))
    assert blocks.CONTENTS not in zipfile.ZipFile(made.path).namelist()
    assert {name: made.read(name) for name in made.sizes} == file_bytes(unpacked.folder)


def test_an_archive_with_other_bytes_than_its_session_never_gets_its_name(
    unpacked: SessionFolder, old: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packing._content
    monkeypatch.setattr(packing, "_content", lambda path: (piece.swapcase() for piece in content(path)))
    before = file_bytes(old.folder.parent)
    with pytest.raises(StoreError, match="has other bytes in the archive"):
        pack(unpacked.folder, tmp_path / "new" / "s.zip")
    assert list((tmp_path / "new").iterdir()) == []
    assert old.archive is not None
    with pytest.raises(StoreError, match="has other bytes in the archive"):
        pack_again(old.archive)
    assert file_bytes(old.folder.parent) == before


def test_packing_again_replaces_an_archive_by_that_of_its_folder(
    unpacked: SessionFolder, old: SessionFolder, packed: SessionFolder
) -> None:
    assert old.archive is not None and packed.archive is not None
    first = pack_again(old.archive)
    assert first.replaced and first.bytes_after < first.bytes_before
    again = SessionFolder(old.folder)
    assert again.archive is not None and again.archive.sha256 == packed.archive.sha256
    assert again.verify() == ()
    second = pack_again(again.archive)
    assert not second.replaced and second.bytes_before == second.bytes_after == first.bytes_after
    assert len(list(old.folder.parent.iterdir())) == 2


def test_the_same_content_in_other_pieces_gives_the_same_gzip() -> None:
    text = b"".join(b"%d,%d\n" % (n, n * n) for n in range(200_000))
    made = []
    for size in (len(text), 1 << 20, 4096, 1000):
        stream = io.BytesIO()
        gzipping.write_gzip([text[at : at + size] for at in range(0, len(text), size)], stream)
        made.append(stream.getvalue())
    assert len(set(made)) == 1 and gzip.decompress(made[0]) == text


def test_a_session_that_another_zlib_packed_is_unpacked_by_command(
    packed: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another_zlib: Callable[[], None]
) -> None:
    root = tmp_path / "project"
    shutil.copytree(packed.folder.parent, root / "data/raw/bundled/aa")
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (root / "harness" / "model").mkdir(parents=True)
    monkeypatch.chdir(root)
    another_zlib()
    done = CliRunner().invoke(app, ["unpack", "aa"])
    assert done.exit_code == 0, done.output
    assert "not damaged" in done.output and "recompressed.json" in done.output
