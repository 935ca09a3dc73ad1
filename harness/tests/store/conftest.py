# SPDX-License-Identifier: Apache-2.0
"""One small bundled session as a folder and packed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from harness.project import find_root
from harness.store import SessionFolder, Store, archive_of, blocks, layout, pack


@pytest.fixture(autouse=True, scope="session")
def _compressed_once() -> Iterator[None]:
    """The smallest xz of a block takes seconds: one with the contents of an earlier one has the same bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "compressed", lru_cache(blocks.compressed))
        yield


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A small session with all its files, in a project of its own."""
    (session,) = Store(find_root(Path(__file__).parent)).sessions("aa", bundled=True)
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
def another_zlib(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, the same content is compressed to other bytes, as another library does."""
    return lambda: monkeypatch.setattr(layout, "_LEVEL", 1)
