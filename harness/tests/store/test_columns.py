# SPDX-License-Identifier: Apache-2.0
"""Blocks in columns give back the text that they were made of, and bytes that are no columns are refused."""

from __future__ import annotations

import hashlib
import lzma
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.project import find_root
from harness.store import Store, archive_of
from harness.store.columns import BadColumns, from_columns
from harness.tests.support.packed_sessions import listed

MOST_BYTES = 1 << 20


@pytest.fixture(scope="module")
def columns() -> tuple[bytes, int]:
    """A bundled block in columns, one of them sorted by another, and how many bytes its text has."""
    (session,) = Store(find_root(Path(__file__).parent)).sessions("aa", bundled=True)
    for block in listed(session)["blocks"]:
        if block.get("columns"):
            with zipfile.ZipFile(archive_of(session.folder)) as archive:
                data = lzma.decompress(archive.read(block["entry"]))
            assert hashlib.sha256(from_columns(data, block["bytes"])).hexdigest() == block["sha256"]
            return data, block["bytes"]
    raise AssertionError("no block in columns")


def test_more_text_than_was_asked_for_is_refused(columns: tuple[bytes, int]) -> None:
    data, n_bytes = columns
    with pytest.raises(BadColumns, match=f"more than {n_bytes - 1} bytes"):
        from_columns(data, n_bytes - 1)


@pytest.mark.parametrize("by", [b"5", b"9"])
def test_a_column_sorted_by_itself_or_by_none_is_refused(columns: tuple[bytes, int], by: bytes) -> None:
    head, mark, rest = columns[0].partition(b'"by":1')
    assert mark
    with pytest.raises(BadColumns):
        from_columns(head + b'"by":' + by + rest, MOST_BYTES)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_columns_are_refused(data: bytes) -> None:
    with pytest.raises(BadColumns):
        from_columns(data, MOST_BYTES)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_columns_are_refused_or_give_no_more_than_was_asked_for(
    columns: tuple[bytes, int], seed: int
) -> None:
    draw = random.Random(seed)
    data, n_bytes = columns
    bad = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        bad[draw.randrange(2000)] = draw.randrange(256)
    cut = bytes(bad)[: draw.choice([len(bad), draw.randrange(len(bad))])]
    try:
        assert len(from_columns(cut, 2 * n_bytes)) <= 2 * n_bytes
    except BadColumns:
        return
