# SPDX-License-Identifier: Apache-2.0
"""What is the same each time is made once in a process of tests, or in small: simulations, fonts, figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from matplotlib.backends import _backend_pdf_ps as fonts
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font

from harness.questions import validity
from harness.verify.simulated import VerifyResult, run_verify

#: So many glyphs of a font in a row are cut out together.
_BLOCK = 64
_savefig = Figure.savefig
_subset = fonts.get_glyphs_subset
#: Enough simulations for every number to be there; ``tests/verify`` runs as many as it takes to judge them.
_SIMS = 40


@cache
def _run_verify(name: str) -> VerifyResult:
    return run_verify(name, sims=_SIMS)


@contextmanager
def simulated_once() -> Iterator[None]:
    """The notebook of validity runs its simulations, whose seed decides everything, once, and few of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "run_verify", lambda name, sims: _run_verify(name))
        yield


class _Font(NamedTuple):
    """A font that was cut down to some glyphs, as a file."""

    content: bytes

    def save(self, file: Any, **_: object) -> None:
        file.write(self.content)


class _Subset(NamedTuple):
    font: _Font
    glyph_index_map: dict[int, int]


@cache
def _cut_down(file: Any, face: int, glyphs: frozenset[int]) -> _Subset:
    with _subset(file, set(glyphs)) as found:
        content = fonts.font_as_file(found.font).getvalue()  # type: ignore[no-untyped-call]  # matplotlib has no types here
        return _Subset(_Font(content), found.glyph_index_map)


def _with_neighbours(file: Any, glyphs: Collection[int]) -> frozenset[int]:
    """Every glyph of the blocks in which these are: hardly two figures have just the same glyphs."""
    last = get_font(file).num_glyphs
    blocks = {glyph // _BLOCK for glyph in glyphs}
    return frozenset(
        glyph for block in blocks for glyph in range(block * _BLOCK, min((block + 1) * _BLOCK, last))
    )


@contextmanager
def _kept_subset(file: Any, glyphs: Collection[int]) -> Iterator[_Subset]:
    yield _cut_down(file, getattr(file, "face_index", 0), _with_neighbours(file, glyphs))


@contextmanager
def fonts_cut_once() -> Iterator[None]:
    """Figures with much the same glyphs share the font in their PDF, which fontTools cuts once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fonts, "get_glyphs_subset", _kept_subset)
        yield


@contextmanager
def pictures_in_pdf_alone() -> Iterator[None]:
    """A saved figure is drawn for its PDF; the SVG and PNG, of the same figure, are empty files."""

    def save(figure: Figure, path: Any, **options: Any) -> None:
        if isinstance(path, Path) and path.suffix in (".svg", ".png"):
            path.write_bytes(b"")
        else:
            _savefig(figure, path, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", save)
        yield
