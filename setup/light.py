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
_VIA = re.compile(r"^\s+#\s+(?:via\s+)?([A-Za-z0-9._-]+)", re.MULTILINE)


def reading() -> tuple[str, ...]:
    """Return what ``pyproject.toml`` names for reports and notebooks; the rest of the lock follows from these."""
    table = tomllib.loads((_PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = "\n".join((*table["dependencies"], *table["optional-dependencies"]["notebooks"]))
    return tuple(re.findall(r"^[A-Za-z0-9._-]+", lines.lower(), re.MULTILINE))


def light_lock(lock: str, roots: Iterable[str] | None = None, spared: Iterable[str] = SPARED) -> str:
    """Return the entries of a lock file, as uv writes it, that ``roots`` (default: what reading needs) require, without
    those ``spared`` and what they alone require. Raises ValueError: it has not all roots."""
    entries: dict[str, str] = {}  # a package may have several, each for some Pythons
    for text in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE):
        if match := _NAME.match(text):
            entries[match[1].lower()] = entries.get(match[1].lower(), "") + text
    chosen = set(reading() if roots is None else roots)
    missing = sorted(chosen - set(entries))
    if missing:
        raise ValueError(f"not in the lock file: {', '.join(missing)}")
    # below each entry comments name the packages that require it
    parents = {name: {via.lower() for via in _VIA.findall(text)} - {"via"} for name, text in entries.items()}
    out = set(spared)
    while more := {name for name, above in parents.items() if name not in chosen | out and above & chosen}:
        chosen |= more
    return "".join(text for name, text in entries.items() if name in chosen)


if __name__ == "__main__":
    sys.stdout.write(light_lock((_PROJECT / "requirements.lock").read_text(encoding="utf-8")))
