# SPDX-License-Identifier: Apache-2.0
"""What several commands have: options, plain text for a terminal, the status that limits end with, parts of JSON.

Text is wrapped at the terminal's width, or at 80 columns where output goes to a file or a pipe.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.errors import RematchError, printable
from harness.project import experiment_paths, find_root

if TYPE_CHECKING:
    from harness.report.limits import Checked

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

    ``right``: columns that are aligned at the right.
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


def experiment_names(beginning: str) -> list[str]:
    """Return the experiments whose name begins so, for the Tab key; none where they cannot be read."""
    try:
        return [name for name in experiment_paths(find_root()) if name.startswith(beginning)]
    except RematchError:
        return []


AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
Blocks = Annotated[int | None, typer.Option(help="number of blocks; default: the profile's")]
Experiment = Annotated[
    str,
    typer.Argument(
        help="name of an experiment, or path of its TOML file",
        autocompletion=experiment_names,
        metavar="EXPERIMENT",
    ),
]
Host = Annotated[str, typer.Option(help="host of the services: local, or a name of hosts.toml")]
Launcher = Annotated[
    str | None,
    typer.Option(
        help="how services are started: process, container (docker) or kubernetes; "
        "default: as the experiment says, else process"
    ),
]
Profile = Annotated[
    str, typer.Option(help="how much is measured: smoke (does it work? no verdict), quick or full")
]
ReadyWithin = Annotated[float, typer.Option(help="seconds in which a service has to give its first answer")]
Requests = Annotated[
    Path | None,
    typer.Option(
        help="what the service is asked: lines that begin with curl, or an OpenAPI document; default: such a file in "
        "its folder (requests.curl, openapi.yaml), else the service's own document, else GET /"
    ),
]
Seed = Annotated[int, typer.Option(help="random seed")]


def end_with(checked: Iterable[Any]) -> None:
    """End with status 1 where a limit is exceeded, and with 2 where one cannot be judged; else return."""
    checked = list(checked)
    if any(item.outcome == "exceeded" for item in checked):
        raise typer.Exit(1)
    unknown = [item.text for item in checked if item.outcome == "cannot be told"]
    if unknown:
        complain(f"rematch: {unknown[0]}")
        raise typer.Exit(2)


def limits_as_plain(checked: Iterable[Checked]) -> list[dict[str, str]]:
    """Return limits on ratios as they stand in JSON."""
    return [{"limit": item.limit.text, "outcome": item.outcome, "text": item.text} for item in checked]


def fields_of(values: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names, as they stand in JSON."""
    return {name: getattr(values, name) for name in names}
