# SPDX-License-Identifier: Apache-2.0
"""Numbers of the README by key, and the conditions of its sentences.

In the README ``<!-- val KEY -->text<!-- / -->`` holds a number, ``valci`` one with its interval, and
``<!-- holds PATTERN,PATTERN CLAIM -->`` stands before a sentence that every matching row must support.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.publish.generated import GENERATED, contributions, read_values
from harness.publish.sentences import contradicting, matching

PICTURE = Path("docs") / "headline.png"
#: The figure of the picture.
FIGURE = "strings_warm.workloads"
_NUMBER = re.compile(r"<!-- (val|valci) (\S+) -->.*?<!-- / -->", re.DOTALL)
_GUARD = re.compile(r"<!-- holds (\S+) (\S+) -->")


def write_readme(root: Path) -> Path:
    """Write the numbers of the README and its picture from what is published; return the README's path.

    Raises:
        UnknownKey: a number or the figure was not published. InputError: a sentence is untrue, or it has no row.
    """
    values, readme = read_values(root), root / "README.md"
    text = readme.read_text("utf-8")
    filled = fill(text, values, readme)
    figures = [part["figures"][FIGURE] for part in contributions(root / GENERATED) if FIGURE in part["figures"]]
    if not figures:
        raise UnknownKey(f"the figure {FIGURE} was not published; execute the notebooks first: make paper")
    png = next(file for file in figures[0]["files"] if file.endswith(".png"))
    shutil.copyfile(root / GENERATED / png, root / PICTURE)
    readme.write_text(filled, "utf-8")
    return readme


def fill(text: str, values: Mapping[str, Mapping[str, Any]], file: Path) -> str:
    """Return the text with today's numbers, after its conditions were checked.

    Raises:
        UnknownKey: no such key. InputError: a condition does not hold, with its line.
    """
    for guard in _GUARD.finditer(text):
        place = f"line {text.count(chr(10), 0, guard.start()) + 1}"
        matched = matching(values, guard[1])
        if not matched:
            raise InputError("a sentence has no row", file=file, place=place, found=guard[1])
        if against := contradicting(matched, guard[2]):
            raise InputError(f"a sentence is not {guard[2]}", file=file, place=place, found=against)

    def number(match: re.Match[str]) -> str:
        kind, key = match[1], match[2]
        if key not in values:
            raise UnknownKey(f"{file.name}: {key} was not published; execute the notebooks first: make paper")
        printed = values[key]["interval_text" if kind == "valci" else "text"]
        return f"<!-- {kind} {key} -->{printed}<!-- / -->"

    return _NUMBER.sub(number, text)
