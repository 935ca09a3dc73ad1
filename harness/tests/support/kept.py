# SPDX-License-Identifier: Apache-2.0
"""What is the same each time it is asked for is made once in a process of tests: simulations, and fonts of figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import pytest
from matplotlib.backends import _backend_pdf_ps as fonts

from harness.questions import validity

_subset = fonts.get_glyphs_subset
_run_verify = cache(validity.run_verify)
_curves = cache(validity.precision_recall_curves)


@contextmanager
def simulated_once() -> Iterator[None]:
    """The notebook of validity runs its simulations, whose seed decides everything, the first time only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "run_verify", _run_verify)
        patch.setattr(validity, "precision_recall_curves", _curves)
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


@contextmanager
def _kept_subset(file: Any, glyphs: Collection[int]) -> Iterator[_Subset]:
    yield _cut_down(file, getattr(file, "face_index", 0), frozenset(glyphs))


@contextmanager
def fonts_cut_once() -> Iterator[None]:
    """Figures with the same glyphs have the same font in their PDF: fontTools is asked the first time only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fonts, "get_glyphs_subset", _kept_subset)
        yield
