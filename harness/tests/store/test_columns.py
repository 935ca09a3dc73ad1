# SPDX-License-Identifier: Apache-2.0
"""Blocks in columns give back the text that they were made of, and anything else is refused."""

from __future__ import annotations

import json
import lzma
import random
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.project import find_root
from harness.store import Store, archive_of
from harness.store.blocks import Block, Damaged, pieces_of_block
from harness.tests.support.packed_sessions import listed


@pytest.fixture(scope="module")
def columns() -> tuple[Block, bytes]:
    """A bundled block in columns, one of them sorted by another, and its decompressed entry."""
    (session,) = Store(find_root(Path(__file__).parent)).sessions("aa", bundled=True)
    (block,) = (block for block in listed(session)["blocks"] if block.get("columns"))
    with zipfile.ZipFile(archive_of(session.folder)) as archive:
        data = lzma.decompress(archive.read(block["entry"]))
    assert b'"by":1' in data
    return Block.model_validate_json(json.dumps(block)), data


def text_of(block: Block, data: bytes) -> bytes:
    return b"".join(pieces_of_block(block, BytesIO(lzma.compress(data, preset=0))))


def test_columns_give_back_the_text_of_their_hash(columns: tuple[Block, bytes]) -> None:
    assert len(text_of(*columns)) == columns[0].bytes


@pytest.mark.parametrize("by", [b"5", b"9"])
def test_a_column_sorted_by_itself_or_by_none_is_refused(columns: tuple[Block, bytes], by: bytes) -> None:
    block, data = columns
    with pytest.raises(Damaged, match="columns that cannot be read"):
        text_of(block, data.replace(b'"by":1', b'"by":' + by, 1))


@given(st.binary(max_size=300))
def test_bytes_that_are_no_columns_are_refused(columns: tuple[Block, bytes], data: bytes) -> None:
    with pytest.raises(Damaged):
        text_of(columns[0], data)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_columns_are_refused(columns: tuple[Block, bytes], seed: int) -> None:
    draw, (block, data) = random.Random(seed), columns
    bad = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        bad[draw.randrange(2000)] ^= draw.randrange(1, 256)
    with pytest.raises(Damaged):
        text_of(block, bytes(bad)[: draw.choice([len(bad), draw.randrange(len(bad))])])
