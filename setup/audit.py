# SPDX-License-Identifier: Apache-2.0
"""``make audit``: compare every locked Python package with the known vulnerabilities, by pip-audit.

pip-audit is installed into an environment of its own from ``setup/pins/audit.txt``, each file by its hash.
It asks the package index of pip's configuration, or with ``AUDIT_SERVICE=osv`` the OSV database.
Exit status: 0 nothing is known of any package, 1 something is, 2 the data cannot be reached for some or all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import python_env
from .finders import PROJECT
from .say import SetupError, run, step, warn
from .sbom import LOCKS, read_pins

PIN = Path("setup") / "pins" / "audit.txt"
FOLDER = Path(".tools") / "audit"
OUTPUT = Path("results") / "audit.json"
SERVICES = ("pypi", "osv")
WITHIN_S = 480


def bring_pip_audit(project: Path, environ: Mapping[str, str]) -> Path:
    """Return the pinned pip-audit, installed where it is missing.

    Raises:
        SetupError: the package index does not give it.
    """
    program = project / FOLDER / "bin" / "pip-audit"
    stamp = project / FOLDER / "pins.txt"
    pins = (project / PIN).read_text(encoding="utf-8")
    if program.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == pins:
        return program
    uv, env = python_env.bring_uv(project, sys.executable, environ)
    step("installing pip-audit into .tools")
    run(
        [uv, "venv", "-q", "--clear", "--python", sys.executable, project / FOLDER],
        doing="making an environment",
        env=env,
    )
    run(
        [uv, "pip", "sync", "-q", "--require-hashes", "--python", project / FOLDER / "bin" / "python", project / PIN],
        doing="installing pip-audit", env=env,
        then="check that the package index of pip's configuration can be reached, then call this again",
    )  # fmt: skip
    stamp.write_text(pins, encoding="utf-8")
    return program


def findings(said: Mapping[str, Any]) -> list[str]:
    """Return one line for each vulnerability in pip-audit's JSON."""
    return [
        f"{one['name']} {one['version']}: {known['id']}"
        + (f" ({', '.join(known['aliases'])})" if known.get("aliases") else "")
        + (
            f"; mended in {', '.join(known['fix_versions'])}"
            if known.get("fix_versions")
            else "; no release mends it"
        )
        for one in said["dependencies"]
        for known in one.get("vulns", ())
    ]


def unaudited(said: Mapping[str, Any]) -> list[str]:
    """Return one line for each package that pip-audit left out, with its reason."""
    return [f"{one['name']}: {one['skip_reason']}" for one in said["dependencies"] if one.get("skip_reason")]


def audit(project: Path, environ: Mapping[str, str]) -> int:
    """Audit all lock files; print what is known, and write it below ``results/``.

    Raises:
        SetupError: pip-audit cannot be installed, or cannot reach its data.
    """
    service = environ.get("AUDIT_SERVICE", SERVICES[0])
    if service not in SERVICES:
        raise SetupError(f"AUDIT_SERVICE: found {service!r}; allowed: {', '.join(SERVICES)}")
    program = bring_pip_audit(project, environ)
    output = project / OUTPUT
    output.parent.mkdir(exist_ok=True)
    output.unlink(missing_ok=True)
    words = [
        str(program),
        "--disable-pip",
        "--require-hashes",
        "--progress-spinner",
        "off",
        "--format",
        "json",
    ]
    words += ["--vulnerability-service", service, "--output", str(output)]
    for lock in LOCKS:
        words += ["--requirement", str(project / lock)]
    try:
        done = subprocess.run(
            words, cwd=project, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=WITHIN_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SetupError(f"pip-audit did not end within {WITHIN_S} s") from None
    if not output.is_file():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise SetupError(
            f"{service} cannot be asked: {lines[-1].strip()[:300] if lines else 'pip-audit printed nothing'}"
        )
    said = json.loads(output.read_text(encoding="utf-8"))
    found, left_out = findings(said), unaudited(said)
    if left_out and len(left_out) == len(said["dependencies"]):
        raise SetupError(
            f"{service} knows none of {len(left_out)} packages, so it has no such data: {left_out[0][:200]}"
        )
    n = len({pin.purl for lock in LOCKS for pin in read_pins(project / lock)})
    for line in (*found, *left_out):
        print(f"  {line}")
    print(
        f"{n} locked packages, {len(said['dependencies'])} asked of {service}: {len(found)} known vulnerabilities"
    )
    if left_out:
        print(f"{len(left_out)} packages were not audited")
    return 1 if found else 2 if left_out else 0


def main() -> int:
    try:
        return audit(PROJECT, os.environ)
    except SetupError as error:
        warn(f"not audited: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
