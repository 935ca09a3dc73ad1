# SPDX-License-Identifier: Apache-2.0
"""What set-up says: progress lines with the time since the start, one error type, one table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_STARTED_S = time.monotonic()
TAIL_LINES = 25


class SetupError(Exception):
    """Something cannot be had: says what, why it is wanted and what to do next. Ends with status 2."""


def step(text: str) -> None:
    print(f"[{time.monotonic() - _STARTED_S:5.0f} s] {text}", flush=True)


def warn(text: str) -> None:
    print(f"[{time.monotonic() - _STARTED_S:5.0f} s] {text}", file=sys.stderr, flush=True)


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
        done = subprocess.run(
            words,
            env=dict(env) if env is not None else None,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SetupError(f"{doing}: {words[0]} does not start ({error.strerror}); {then}") from error
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-TAIL_LINES:]
        print("\n".join(f"    {line}" for line in lines), file=sys.stderr, flush=True)
        raise SetupError(f"{doing}: `{' '.join(words[:4])} ...` ended with status {done.returncode}; {then}")
    return done.stdout


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Rows as aligned text; the last column is left as long as it is."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header) - 1)]
    lines = []
    for row in (header, ["-" * width for width in (*widths, len(header[-1]))], *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join((*cells, row[-1])).rstrip())
    return "\n".join(lines)
