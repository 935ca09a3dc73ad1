# SPDX-License-Identifier: Apache-2.0
"""The README's headline: one figure and one table, written from the published numbers.

It is that of the services which have warmed up, on CPUs of their own; where those were not measured, that of the
published closed loop.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.publish import headline_rounds, headline_warm
from harness.publish.generated import GENERATED, read_values

BEGIN = "<!-- headline: written by `python -m harness paper --readme` -->"
END = "<!-- /headline -->"
PICTURE = Path("docs") / "headline.png"


def write_headline(root: Path) -> Path:
    """Write the block between the README's markers and the picture it shows; return the README's path.

    Raises:
        UnknownKey: a number or the figure was not published; run the notebooks first.
        InputError: the README has no markers.
    """
    values = read_values(root)
    readme = root / "README.md"
    text = readme.read_text("utf-8")
    block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not block.search(text):
        raise InputError("the headline's markers are missing", file=readme, allowed=f"{BEGIN} ... {END}")
    headline = headline_warm if headline_warm.MEASURED in values else headline_rounds
    figure = _figure(root, headline.FIGURE)
    picture = [f"![{figure['alt']}]({PICTURE.as_posix()})", "", f"*{figure['caption']}*", ""]
    lines = [BEGIN, *headline.opening(values), *picture, *headline.lines(values), END]
    shutil.copyfile(root / GENERATED / _png(figure), root / PICTURE)
    readme.write_text(block.sub(lambda _: "\n".join(lines), text), "utf-8")
    return readme


def _figure(root: Path, key: str) -> dict[str, Any]:
    path = root / GENERATED / "figures.json"
    figures = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if key not in figures:
        raise UnknownKey(f"the figure {key} was not published; execute the notebooks first: make paper")
    found: dict[str, Any] = figures[key]
    return found


def _png(figure: dict[str, Any]) -> str:
    return next(str(file) for file in figure["files"] if str(file).endswith(".png"))
