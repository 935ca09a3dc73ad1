# SPDX-License-Identifier: Apache-2.0
"""The part of the lock file that reading and teaching need: no load tools, no databases, no tools of the tests.

``python3 -m setup.light`` prints it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

#: Left out although a kept package names them: IPython then completes from what runs, and JupyterLab has no debugger.
SPARED = ("jedi", "debugpy")
_PROJECT = Path(__file__).parent.parent
_NAME = re.compile(r"([A-Za-z0-9._-]+)==")
_VIA = re.compile(r"\s+#\s+(?:via\s+)?([A-Za-z0-9._-]+)")


def reading() -> tuple[str, ...]:
    """Return what ``pyproject.toml`` names for reports and notebooks; the rest of the lock follows from these."""
    table = tomllib.loads((_PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = "\n".join((*table["dependencies"], *table["optional-dependencies"]["notebooks"]))
    return tuple(re.findall(r"^[A-Za-z0-9._-]+", lines.lower(), re.MULTILINE))


def light_lock(lock: str, roots: Iterable[str] | None = None, spared: Iterable[str] = SPARED) -> str:
    """Return the entries of a lock file that ``roots`` require, without those ``spared`` and what they alone require.

    ``lock``: as uv writes it: below each entry comments name the packages that require it; one without a root is a
    ValueError. ``roots``: default, what reading needs.
    """
    entries, chosen = _entries(lock), set(reading() if roots is None else roots)
    missing = sorted(chosen - set(entries))
    if missing:
        raise ValueError(f"not in the lock file: {', '.join(missing)}")
    parents = {name: _required_by(text) for name, text in entries.items()}
    out = set(spared)
    while more := {name for name, above in parents.items() if name not in chosen | out and above & chosen}:
        chosen |= more
    return "".join(text for name, text in entries.items() if name in chosen)


def _entries(lock: str) -> dict[str, str]:
    """Return the lines of each package by its name."""
    results: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if start := _NAME.match(line):
            name = start[1].lower()
        if name:
            results[name] = results.get(name, "") + line
    return results


def _required_by(entry: str) -> set[str]:
    return {match[1].lower() for line in entry.splitlines() if (match := _VIA.match(line))} - {"via"}


if __name__ == "__main__":
    sys.stdout.write(light_lock((_PROJECT / "requirements.lock").read_text(encoding="utf-8")))
