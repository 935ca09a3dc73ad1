# SPDX-License-Identifier: Apache-2.0
"""Blocks of an archive that lie, grow or lead elsewhere are refused in one line that names the archive."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.store import Archive
from harness.tests.store.hostile_blocks import HOSTILE_BLOCKS, listed, with_blocks, xz

#: What is wrong with an archive -> what its refusal says. These are refused before a file is written.
LISTS = {
    "another version": "packed by another version of this program; found 5; allowed: 1 to 4",
    "no version": "list of packed contents",
    "deep": "list of packed contents",
    "an unknown key": "list of packed contents: blocks.0.method: Extra inputs are not permitted",
    "a negative size": "list of packed contents: blocks.0.bytes: Input should be greater than or equal to 0",
    "no hash": "list of packed contents: blocks.0.sha256",
    "no list": "a block that no list names",
    "no xz": "xz: Input format not supported by decoder",
    "a list that grows": "more than 33554432 bytes when decompressed",
    "too many files": "more than 100000 files",
    "a block that is not there": "the blocks are not those of the list",
    "a block twice": "the blocks are not those of the list",
    "a block that is an entry": "the blocks are not those of the list",
    "a packed block": "packed by a method that no session is",
    "a name outside": "not the name of a file below the session's folder",
    "an absolute name": "not the name of a file below the session's folder",
    "no name": "not the name of a file below the session's folder",
    "the folder's own name": "not the name of a file below the session's folder",
    "a name in another spelling": "a name in another spelling",
    "a name of archives": "a name that archives use themselves",
    "a name of an entry": "a file that is there twice",
    "a name twice": "a file that is there twice",
    "gzip without a hash": "without the hash of its compressed bytes",
    "a hash without gzip": "without the hash of its compressed bytes",
    "sizes that do not add up": "sizes of files do not add up to the block's",
    "a large block of several files": "more than 16777216 bytes for several files",
    "columns of a large block": "more than 4194304 bytes as columns",
    "a large file": "too large when unpacked",
    "a large compressed file": "too large when unpacked",
}
#: These are refused when the block is read; nothing of it is given out.
STREAMS = {
    "a stream that grows": "more than 6000 bytes when decompressed",
    "a large dictionary": "xz: Memory usage limit exceeded",
    "a cut stream": "the xz stream is cut",
    "an empty stream": "the xz stream is cut",
    "two streams": "something follows the xz stream",
    "too few bytes": "its contents are not those of the list",
    "other contents": "its contents are not those of the list",
    "no columns": "columns: they are cut",
    "columns of other contents": "its contents are not those of the list",
    "columns of too much": "columns: of more than 6000 bytes",
}


def sealed(path: Path, data: bytes) -> Archive:
    path.write_bytes(data)
    path.with_name(path.name + ".sha256").write_text(f"{file_sha256(path)}  {path.name}\n")
    return Archive(path)


def small() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("session.json", "{}")
    return made.getvalue()


def test_every_hostile_archive_is_here() -> None:
    assert {*LISTS, *STREAMS} == set(HOSTILE_BLOCKS)


@pytest.mark.parametrize("what", sorted(LISTS))
def test_a_list_that_lies_refuses_the_whole_archive(tmp_path: Path, what: str) -> None:
    archive = sealed(tmp_path / "bad.zip", HOSTILE_BLOCKS[what](small()))
    with pytest.raises(InputError) as refused:
        archive.unpack(tmp_path / "out")
    assert "bad.zip" in str(refused.value) and LISTS[what] in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"bad.zip", "bad.zip.sha256"}


@pytest.mark.parametrize("what", sorted(STREAMS))
def test_a_block_that_is_not_as_listed_gives_no_file(tmp_path: Path, what: str) -> None:
    archive = sealed(tmp_path / "bad.zip", HOSTILE_BLOCKS[what](small()))
    assert archive.read("session.json") == b"{}"
    for read in (archive.read, archive.extracted, archive.open_content):
        with pytest.raises(InputError) as refused:
            read("0001-x/a.txt")
        assert "bad.zip: 0001-x/a.txt: damaged: " + STREAMS[what] in str(refused.value)
    with pytest.raises(InputError):
        archive.unpack(tmp_path / "out")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "bad.zip",
        "bad.zip.sha256",
        "session.json",
    }


def test_a_sound_list_beside_them_is_read(tmp_path: Path) -> None:
    text = b"1,2,3\n" * 1000
    archive = sealed(tmp_path / "good.zip", with_blocks(small(), listed(), {".packed/0001.txt.xz": xz(text)}))
    assert archive.sizes == {"session.json": 2, "0001-x/a.txt": len(text)}
    assert archive.read("0001-x/a.txt") == text
