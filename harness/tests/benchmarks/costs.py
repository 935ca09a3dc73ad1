# SPDX-License-Identifier: Apache-2.0
"""Measure what each command costs in time and disk, and write the README's table from it.

    python3 harness/tests/benchmarks/costs.py measure "make test" "make paper PROFILE=smoke" ...
    python3 harness/tests/benchmarks/costs.py render

``measure`` runs each command alone, in a clone of this repository's HEAD with an empty HOME, and stores the readings
in ``docs/costs.json``, where readings of other commands stay. It runs on a bare Python.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
READINGS, README = ROOT / "docs" / "costs.json", ROOT / "README.md"
BEGIN, END = "<!-- costs: written by harness/tests/benchmarks/costs.py -->", "<!-- /costs -->"
#: Variables that a user's shell hands on; any other could hide a missing step.
HANDED_ON = re.compile(
    r"PATH|LANG|TERM|SSL_CERT_FILE|GO(PROXY|FLAGS|NOSUMDB|NOSUMCHECK|SUMDB)|(PIP|UV|MAVEN)_.*|https?_proxy|no_proxy",
    re.IGNORECASE,
)


def measure(command: str) -> dict[str, object]:
    """Run a command in a clean clone; return its reading."""
    with tempfile.TemporaryDirectory(prefix="rematch-costs-") as name:
        clone, home = Path(name, "rematch"), Path(name, "home")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        home.mkdir()
        env = {name: value for name, value in os.environ.items() if HANDED_ON.fullmatch(name)}
        env["HOME"] = str(home)
        before, began_s = disk_bytes(name), time.monotonic()
        subprocess.run(command.split(), cwd=clone, env=env, stdin=subprocess.DEVNULL, check=True)
        wall_s = round(time.monotonic() - began_s, 1)
        added = disk_bytes(name) - before
        return {"command": command, "wall_s": wall_s, "added_bytes": added, "exit_status": 0}


def disk_bytes(folder: str) -> int:
    """Return the bytes that the files below a folder take on disk."""
    done = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) * 1024


def table() -> str:
    """Return the README's table as Markdown, from ``docs/costs.json``."""
    stored = json.loads(READINGS.read_text(encoding="utf-8"))
    machine = stored["machine"]
    lines = [
        f"Measured on {machine['cpus']} shared cores and {machine['memory_bytes'] / 2**30:.0f} GiB, one reading each, "
        "each alone in an empty clone with an empty HOME; system packages were already there.",
        "",
        "| command | time | disk it adds |",
        "|---|--:|--:|",
    ]
    for reading in stored["readings"]:
        minutes, seconds = divmod(round(reading["wall_s"]), 60)
        size = reading["added_bytes"] / 1e6
        lines.append(f"| `{reading['command']}` | {minutes} min {seconds:02d} s | {size:,.0f} MB |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure or render; anything not understood prints this module's text."""
    match arguments:
        case ["measure", *commands] if commands:
            readings = [measure(command) for command in commands]
            stored = json.loads(READINGS.read_text(encoding="utf-8"))
            readings += [reading for reading in stored["readings"] if reading["command"] not in commands]
            memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            machine = {"cpus": os.cpu_count(), "memory_bytes": memory_bytes}
            text = json.dumps({"machine": machine, "readings": readings}, indent=2)
            READINGS.write_text(text + "\n", encoding="utf-8")
        case ["render"]:
            head, rest = README.read_text(encoding="utf-8").split(BEGIN, 1)
            README.write_text(f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
