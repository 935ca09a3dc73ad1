# SPDX-License-Identifier: Apache-2.0
"""Contents are packed together and given back byte by byte; where another zlib compresses them, nothing is lost."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.agent.hashing import file_sha256
from harness.analysis.tables.tidy import tidy
from harness.analysis.tables.trial_files import damage_of, read_requests
from harness.cli import app
from harness.errors import InputError, StoreError
from harness.project import find_root
from harness.store import (
    SessionFolder,
    Store,
    archive,
    archive_of,
    blocks,
    gzipping,
    pack,
    pack_again,
    packing,
)

ROOT = find_root(Path(__file__).parent)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A small session with all its files, in a project of its own."""
    (session,) = Store(ROOT).sessions("aa", bundled=True)
    assert session.archive is not None
    folder = tmp_path_factory.mktemp("project") / "data/raw/aa" / session.folder.name
    session.archive.unpack(folder)
    return SessionFolder(folder)


@pytest.fixture(scope="module")
def packed_once(unpacked: SessionFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its archive."""
    return pack(unpacked.folder, archive_of(tmp_path_factory.mktemp("packed") / unpacked.folder.name)).parent


@pytest.fixture
def packed(unpacked: SessionFolder, packed_once: Path, tmp_path: Path) -> SessionFolder:
    """The same session as an archive alone, which a test may change."""
    folder = tmp_path / "data/raw/aa" / unpacked.folder.name
    shutil.copytree(packed_once, folder.parent)
    return SessionFolder(folder)


@pytest.fixture
def old(unpacked: SessionFolder, tmp_path: Path) -> SessionFolder:
    """The same session as archives were written at first: each file an entry of its own."""
    folder = tmp_path / "old" / "aa" / unpacked.folder.name
    folder.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive_of(folder), "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(unpacked.folder.rglob("*")):
            if path.is_file():
                made.write(path, path.relative_to(unpacked.folder).as_posix())
    seal(archive_of(folder))
    return SessionFolder(folder)


@pytest.fixture
def another_zlib(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, the same content is compressed to other bytes, as another library does."""
    return lambda: monkeypatch.setattr(gzipping, "_LEVEL", 1)


def seal(path: Path) -> None:
    path.with_name(path.name + ".sha256").write_text(f"{file_sha256(path)}  {path.name}\n")


def contents_of(session: SessionFolder) -> Iterator[tuple[str, str, bytes]]:
    """Trial, name and content of every file that a record names."""
    for trial_id in sorted(session.finished()):
        for name in session.record(trial_id).files:
            with session.open(trial_id, name) as stream:
                yield trial_id, name, stream.read()


def file_bytes(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def listed(session: SessionFolder) -> dict[str, Any]:
    """The list of contents of a session's archive."""
    with zipfile.ZipFile(archive_of(session.folder)) as made:
        found: dict[str, Any] = json.loads(lzma.decompress(made.read(blocks.CONTENTS)))
    return found


def relisted(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite an archive with a changed list of contents, and seal it."""
    with zipfile.ZipFile(path) as made:
        entries = {name: made.read(name) for name in made.namelist()}
    contents = json.loads(lzma.decompress(entries[blocks.CONTENTS]))
    change(contents)
    entries[blocks.CONTENTS] = lzma.compress(json.dumps(contents).encode())
    with zipfile.ZipFile(path, "w") as made:
        for name, data in entries.items():
            made.writestr(name, data)
    seal(path)


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


def test_both_ways_of_packing_are_among_the_bundled_sessions() -> None:
    archives = [one.path for s in Store(ROOT).sessions(bundled=True) if (one := s.archive) is not None]
    ways = {blocks.CONTENTS in zipfile.ZipFile(path).namelist() for path in archives}
    assert ways == {True, False}


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


def test_what_is_kept_in_memory_is_bounded(packed: SessionFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(contents_of(packed))
    monkeypatch.setattr(archive, "_KEPT_BYTES", 200_000)
    assert list(contents_of(packed)) == before
    assert sum(map(len, archive._KEPT.values())) <= 200_000


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
    session = SessionFolder(project / "data/raw/aa/quick-local-1")
    other = packed.archive.unpack(session.folder)
    assert other and set(other) == set(
        json.loads((session.folder / "recompressed.json").read_text())["files"]
    )
    assert session.check() == packed.check()
    assert all(damage_of(session, record) is None for record in session.records())
    assert list(contents_of(session)) == list(contents_of(packed))
    (done,) = tidy(project, ["aa"]).experiments
    assert done.n_kept == done.n_planned
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


def test_the_zlib_that_packed_a_session_finds_a_content_that_is_not_the_recorded_one(
    unpacked: SessionFolder, tmp_path: Path
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
        file["gzip"] = {"bytes": recorded.bytes, "sha256": recorded.sha256}

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


def test_the_same_content_in_other_pieces_gives_the_same_gzip() -> None:
    text = b"".join(b"%d,%d\n" % (n, n * n) for n in range(200_000))
    made = []
    for size in (len(text), 1 << 20, 4096, 1000):
        stream = io.BytesIO()
        gzipping.write_gzip([text[at : at + size] for at in range(0, len(text), size)], stream)
        made.append(stream.getvalue())
    assert len(set(made)) == 1 and gzip.decompress(made[0]) == text


def test_pack_again_and_unpack_by_command(
    old: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another_zlib: Callable[[], None]
) -> None:
    root = tmp_path / "project"
    bundled = root / "data/raw/bundled/aa"
    shutil.copytree(old.folder.parent, bundled)
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (root / "harness" / "model").mkdir(parents=True)
    monkeypatch.chdir(root)
    run = CliRunner().invoke
    done = run(app, ["pack", "aa", "--again"])
    assert done.exit_code == 0, done.output
    assert "MB before" in done.output and "the same files, byte by byte" in done.output
    assert Store(root).sessions("aa", bundled=True)[0].verify() == ()
    done = run(app, ["pack", "aa", "--again"])
    assert done.exit_code == 0 and "kept: packed again it is not smaller" in done.output
    refused = run(app, ["pack", "aa", "--again", "--to", "elsewhere"])
    assert isinstance(refused.exception, InputError) and "without --to" in str(refused.exception)
    another_zlib()
    done = run(app, ["unpack", "aa"])
    assert done.exit_code == 0, done.output
    assert "not damaged" in done.output and "recompressed.json" in done.output
