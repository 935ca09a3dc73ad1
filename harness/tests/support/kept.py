# SPDX-License-Identifier: Apache-2.0
"""Simulations of notebooks made once in a process of tests, and figures saved the quick way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from harness.questions import validity
from harness.verify.simulated import VerifyResult, run_verify

_savefig = Figure.savefig
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


def fonts_cut_once() -> AbstractContextManager[None]:
    """Figures whose PDF has its glyphs as drawings: to cut a font down to them takes longer than the figure."""
    return _saved_by(_savefig)


def pictures_in_pdf_alone() -> AbstractContextManager[None]:
    """The same, and SVG and PNG, of the same figure, are empty files."""

    def save(figure: Figure, path: Any, **options: Any) -> None:
        if isinstance(path, Path) and path.suffix in (".svg", ".png"):
            path.write_bytes(b"")
        else:
            _savefig(figure, path, **options)

    return _saved_by(save)


@contextmanager
def _saved_by(save: Callable[..., None]) -> Iterator[None]:
    def with_drawn_glyphs(figure: Figure, path: Any, **options: Any) -> None:
        with rc_context({"pdf.fonttype": 3}):
            save(figure, path, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", with_drawn_glyphs)
        yield
