# SPDX-License-Identifier: Apache-2.0
"""Which numbers stand on which page of the paper, from what LaTeX wrote when it was built.

``rematch.sty`` writes ``\\rematch@cited{key}{page}`` into ``main.aux`` for each number, verdict and sentence that the
text prints by its key. Cells of tables and marks of figures have no keys.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import InputError
from harness.model.digits import runs_of
from harness.publish.build import PAPER

AUX = PAPER / "main.aux"
_CITED = re.compile(r"\\rematch@cited\{(?P<key>[^{}]+)\}\{(?P<page>[^{}]+)\}")


def keys_by_page(root: Path) -> dict[int, list[str]]:
    """Return page -> the keys that it prints, in the order of the text, each once.

    Raises:
        InputError: the paper was not built here, or its list cannot be read.
    """
    try:
        text = (root / AUX).read_text("utf-8", errors="replace")
    except FileNotFoundError:
        raise InputError("no paper was built here", file=AUX, allowed="make paper first") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=AUX) from None
    found: dict[int, dict[str, None]] = {}
    for one in _CITED.finditer(text):
        if one["page"].isdecimal():
            found.setdefault(int(one["page"]), {})[one["key"]] = None
    return {page: list(found[page]) for page in sorted(found)}


def keys_on(root: Path, page: int) -> list[str]:
    """Return the keys that a page of the paper prints, in the order of the text.

    Raises:
        InputError: the paper was not built here, or the page prints none.
    """
    pages = keys_by_page(root)
    if page not in pages:
        allowed = (
            f"pages with numbers in their text: {runs_of(list(pages), ', ', ' to ')}"
            if pages
            else "make paper first"
        )
        raise InputError("the text of this page has no numbers", file=AUX, found=page, allowed=allowed)
    return pages[page]


__all__ = ["AUX", "keys_by_page", "keys_on"]
