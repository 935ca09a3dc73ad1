# SPDX-License-Identifier: Apache-2.0
"""Output of set-up: progress lines with the time since the start, one error type, commands that it runs."""

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


def step(text: str, stream: TextIO | None = None) -> None:
    """Print a line of progress, in one piece: threads leave each line whole."""
    stream = stream or sys.stdout
    stream.write(f"[{time.monotonic() - _STARTED_S:5.0f} s] {text}\n")
    stream.flush()


def warn(text: str) -> None:
    step(text, sys.stderr)


def run(
    command: Sequence[str | Path],
    *,
    doing: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    then: str = "the lines above say why; set-up can simply be called again",
) -> str:
    """Run a command to its end and return its standard output; its messages are shown only when it fails.

    Raises SetupError: it does not exist, or ends with another status than 0.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(  # kills the command when the waiting is interrupted
            words, env=dict(env) if env is not None else None, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise SetupError(f"{doing}: {words[0]} does not start ({error.strerror}); {then}") from error
    if done.returncode != 0:
        tail = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-TAIL_LINES:])
        print(tail, file=sys.stderr, flush=True)
        raise SetupError(f"{doing}: `{' '.join(words[:4])} ...` ended with status {done.returncode}; {then}")
    return done.stdout
