# SPDX-License-Identifier: Apache-2.0
"""The paper as a file to read at once: ``docs/rematch.pdf``, a copy of what the bundled sessions give."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.errors import InputError
from harness.publish.build import PAPER

COPY = Path("docs") / "rematch.pdf"
#: Every copy stays in the repository's history.
MOST_BYTES = 1_500_000


def copy_pdf(root: Path) -> Path:
    """Copy the built paper to where the README links it; return the copy's path.

    Raises:
        InputError: the paper is not built, or larger than ``MOST_BYTES``.
    """
    built = root / PAPER / "main.pdf"
    if not built.is_file():
        raise InputError("the paper is not built; run make paper PROFILE=sample", file=built)
    size = built.stat().st_size
    if size > MOST_BYTES:
        raise InputError(
            "the paper is too large to be kept in the repository",
            file=built,
            found=f"{size:,} bytes",
            allowed=f"at most {MOST_BYTES:,}",
        )
    shutil.copyfile(built, root / COPY)
    return root / COPY
