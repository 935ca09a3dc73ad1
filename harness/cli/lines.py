# SPDX-License-Identifier: Apache-2.0
"""Plain text for a terminal: wrapped at its width, or at 80 columns where output goes to a file or a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence

from harness.errors import printable

#: A wider line is hard to read, and a narrower table impossible.
WIDEST, NARROWEST = 120, 60
#: In the place of ``--`` between two lists of paths: click would drop it, and take every option behind it for a path.
BETWEEN_ARMS = "\0--"
_GAP = 2
#: The last column of a table wraps, but not into a strip of single words.
_LAST = 24


def width() -> int:
    """Columns to write in: those of ``COLUMNS`` or of the terminal, 80 where there is neither."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), WIDEST)


def wrapped(text: str, *, indent: str = "", hang: str | None = None) -> str:
    """Return a paragraph. ``indent``: before its first line; ``hang``: before the others, default: the same.

    A word that is longer than a line, such as a path, stays in one piece.
    """
    return textwrap.fill(
        " ".join(printable(text).split()),
        width(),
        initial_indent=indent,
        subsequent_indent=indent if hang is None else hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def say(text: str, *, indent: str = "", hang: str | None = None) -> None:
    """Print a paragraph at once; arguments as of :func:`wrapped`."""
    print(wrapped(text, indent=indent, hang=hang), flush=True)


def complain(text: str) -> None:
    """Print a message on stderr: wrapped between words on a terminal, in one line where a program reads it."""
    print(wrapped(text, hang="  ") if sys.stderr.isatty() else printable(text), file=sys.stderr, flush=True)


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    indent: str = "",
) -> str:
    """Return a table without borders, as wide as its cells; the last column takes what is left of the width.

    Args:
        right: columns that are aligned at the right.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads) - 1)]
    left = max(width() - len(indent) - sum(widths) - _GAP * len(widths), _LAST)
    lines: list[str] = []
    for row in (heads, *rows):
        cells = [
            f"{cell:>{size}}" if place in right else f"{cell:<{size}}"
            for place, (cell, size) in enumerate(zip(row[:-1], widths, strict=True))
        ]
        begin = indent + "".join(cell + " " * _GAP for cell in cells)
        last = textwrap.wrap(row[-1], left, break_on_hyphens=False)
        lines.append((begin + (last[0] if last else "")).rstrip())
        lines += [" " * len(begin) + more for more in last[1:]]
    return "\n".join(lines)


def tally(counts: Mapping[str, int]) -> str:
    """``2 failed, 13 ok``, by name."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
