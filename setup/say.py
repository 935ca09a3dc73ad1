# SPDX-License-Identifier: Apache-2.0
"""Set-up's words: progress lines with the time since the start, one error type, one table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

_STARTED_S = time.monotonic()
TAIL_LINES = 25


class SetupError(Exception):
    """Something cannot be had: says what, why it is wanted and what to do next. Ends with status 2."""


def step(text: str) -> None:
    _say(text, sys.stdout)


def warn(text: str) -> None:
    _say(text, sys.stderr)


def _say(text: str, stream: TextIO) -> None:
    line = f"[{time.monotonic() - _STARTED_S:5.0f} s] {text}\n"
    stream.write(line)  # in one piece: threads leave each line whole
    stream.flush()


def run(
    command: Sequence[str | Path],
    *,
    doing: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    then: str = "the lines above say why; set-up can simply be called again",
) -> str:
    """Run a command to its end and return its standard output; its messages are shown only when it fails.

    Raises:
        SetupError: the command does not exist or ends with another status than 0.
    """
    words = [str(word) for word in command]
    try:
        child = subprocess.Popen(
            words,
            env=dict(env) if env is not None else None,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise SetupError(f"{doing}: {words[0]} does not start ({error.strerror}); {then}") from error
    out, err = _communicate(child)
    if child.returncode != 0:
        tail = "\n".join(f"    {line}" for line in (out + err).splitlines()[-TAIL_LINES:])
        print(tail, file=sys.stderr, flush=True)
        raise SetupError(f"{doing}: `{' '.join(words[:4])} ...` ended with status {child.returncode}; {then}")
    return out


def _communicate(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a command writes until its end; when the waiting is interrupted, so is the command."""
    with child:
        try:
            return child.communicate()
        except BaseException:
            child.kill()
            raise


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Rows as aligned text; the last column is left as long as it is."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header) - 1)]
    lines = []
    for row in (header, ["-" * width for width in (*widths, len(header[-1]))], *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join((*cells, row[-1])).rstrip())
    return "\n".join(lines)
