# SPDX-License-Identifier: Apache-2.0
"""Blocks of archives, compressed once for all tests, workers and runs: the smallest xz of a block takes seconds.

They are kept below ``.cache``, by their contents and by the code that compresses them. What is packed, and everything
but the compression itself, is done anew each time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from harness.import_closure import SOURCES, closure_sha256
from harness.store import blocks
from harness.tests.support.sessions import REPOSITORY

KEPT = REPOSITORY / ".cache" / "tests" / "blocks"
#: Smaller ones take no longer to compress than to find.
_WORTH_KEEPING_BYTES = 50_000
_compressed_block = blocks.compressed_block


@contextmanager
def blocks_compressed_once() -> Iterator[None]:
    """A block with the contents of one that was compressed before has the same bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "compressed_block", _kept_block)
        yield


def _kept_block(pieces: Iterable[bytes], size_bytes: int, ending: str) -> tuple[Iterable[bytes], bool]:
    if size_bytes < _WORTH_KEEPING_BYTES:
        return _compressed_block(pieces, size_bytes, ending)
    text = b"".join(pieces)
    of = f"{size_bytes} {ending} {blocks.BLOCK_BYTES}\0".encode()
    name = hashlib.sha256(of + text).hexdigest()
    kept = {
        columns: _folder() / f"{name}.{form}.xz" for columns, form in ((False, "text"), (True, "columns"))
    }
    for columns, path in kept.items():
        if path.is_file():
            return [path.read_bytes()], columns
    made, columns = _compressed_block([text], size_bytes, ending)
    data = b"".join(made)
    fresh = _folder() / f".{name}.{os.getpid()}"
    fresh.write_bytes(data)
    fresh.rename(kept[columns])
    return [data], columns


@cache
def _folder() -> Path:
    """Where the blocks are that this very code compresses; those of other code are removed."""
    code = f"{closure_sha256(SOURCES, {blocks.__name__})} {sys.version}"
    folder = KEPT / hashlib.sha256(code.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for other in KEPT.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder
