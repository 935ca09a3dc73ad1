# SPDX-License-Identifier: Apache-2.0
"""Measure what each command costs in time and disk, and write the README's table from it.

    python3 setup/costs.py measure "make test" "make paper PROFILE=smoke" ...
    python3 setup/costs.py render

``measure`` runs each command alone: it clones this repository's HEAD into an empty folder, gives it an empty HOME,
and runs the command there. The readings are stored in ``docs/costs.json``, where readings of other commands stay.
``render`` writes the table between the README's markers.
Nothing here is imported by the harness: it runs on a bare Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READINGS = ROOT / "docs" / "costs.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- costs: written by setup/costs.py -->", "<!-- /costs -->"
#: What a user's shell hands on; everything else would hide a missing step.
KEPT = ("PATH", "LANG", "TERM", "SSL_CERT_FILE", "GOPROXY", "GOFLAGS", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB")
KEPT_PREFIXES = ("PIP_", "UV_", "MAVEN_", "http", "HTTP", "https", "HTTPS", "no_proxy", "NO_PROXY")


def disk_bytes(*folders: Path) -> int:
    """Return the bytes that files below ``folders`` take on disk, links not followed, each inode once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                state = os.lstat(os.path.join(parent, name))
                if (state.st_dev, state.st_ino) not in seen:
                    seen.add((state.st_dev, state.st_ino))
                    total += state.st_blocks * 512
    return total


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment with an empty HOME and nothing that was set by hand."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith(KEPT_PREFIXES)}
    return kept | {"HOME": str(home), "CI": "true"}


def measure(commands: list[str]) -> int:
    """Run each command in a clean clone of its own; return the first exit status that is not 0."""
    readings: list[dict[str, object]] = []
    for command in commands:
        with tempfile.TemporaryDirectory(prefix="rematch-costs-") as name:
            reading = measure_alone(command, Path(name))
        print(json.dumps(reading), flush=True)
        if status := reading["exit_status"]:
            return int(str(status))
        readings.append(reading)
    machine = {
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    others = [reading for reading in stored_readings() if reading["command"] not in commands]
    READINGS.write_text(
        json.dumps({"machine": machine, "readings": readings + others}, indent=2) + "\n", encoding="utf-8"
    )
    return 0


def measure_alone(command: str, folder: Path) -> dict[str, object]:
    """Run a command in a clone below an empty folder; return its reading, its output on stderr where it fails."""
    clone, home, log = folder / "rematch", folder / "home", folder / "output"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    home.mkdir()
    before, started = disk_bytes(clone, home), time.monotonic()
    with log.open("wb") as stream:
        status = subprocess.run(
            command.split(), cwd=clone, env=clean_environment(home), stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip
    reading = {
        "command": command,
        "wall_s": round(time.monotonic() - started, 1),
        "added_bytes": disk_bytes(clone, home) - before,
        "exit_status": status,
    }
    if status:
        print(log.read_text(encoding="utf-8", errors="replace"), file=sys.stderr)
    return reading


def stored_readings() -> list[dict[str, object]]:
    """Return the readings that stand in ``docs/costs.json``."""
    return json.loads(READINGS.read_text(encoding="utf-8"))["readings"] if READINGS.exists() else []


def table() -> str:
    """Return the README's table as Markdown, from ``docs/costs.json``."""
    kept = json.loads(READINGS.read_text(encoding="utf-8"))
    machine = kept["machine"]
    lines = [
        f"Measured on {machine['cpus']} shared cores and {machine['memory_bytes'] / 2**30:.0f} GiB, one reading each, "
        "each alone in an empty clone with an empty HOME; system packages were already there.",
        "",
        "| command | time | disk it adds |",
        "|---|--:|--:|",
    ]
    for reading in kept["readings"]:
        minutes, seconds = divmod(round(reading["wall_s"]), 60)
        size = reading["added_bytes"] / 1e6
        lines.append(f"| `{reading['command']}` | {minutes} min {seconds:02d} s | {size:,.0f} MB |")
    return "\n".join(lines)


def render() -> int:
    """Put the table between the README's markers."""
    text = README.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        print(
            f"README.md: the markers {BEGIN} and {END} are missing; put them where the table belongs",
            file=sys.stderr,
        )
        return 2
    head, rest = text.split(BEGIN, 1)
    README.write_text(f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0


def main(arguments: list[str]) -> int:
    """Dispatch; anything not understood prints this module's text."""
    match arguments:
        case ["measure", *commands] if commands:
            return measure(commands)
        case ["render"]:
            return render()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
