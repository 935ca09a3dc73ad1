# SPDX-License-Identifier: Apache-2.0
"""Which line of a ``service.toml`` a failure is about."""

from __future__ import annotations

import re
from pathlib import Path

from harness.adopt.running import DoesNotStart
from harness.errors import InputError


def line_of(file: Path, key: str) -> int | None:
    """Return the line on which a key of a TOML file stands, from 1; ``None``: it has none."""
    pattern = re.compile(rf"\s*{re.escape(key)}\s*=")
    lines = file.read_text("utf-8").splitlines()
    return next((number for number, line in enumerate(lines, start=1) if pattern.match(line)), None)


def blamed(problem: DoesNotStart, file: Path) -> InputError:
    """Return the failure as one line that names the line to change."""
    line = line_of(file, problem.part)
    place = f"line {line}: {problem.part}" if line is not None else f"{problem.part} is to be added"
    return InputError(
        f"{problem.reason}; change this line and give the same command again", file=file, place=place
    )
