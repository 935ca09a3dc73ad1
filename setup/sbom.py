# SPDX-License-Identifier: Apache-2.0
"""``make sbom``: the locked Python packages as a software bill of materials, CycloneDX 1.6 in JSON.

It is made of ``requirements.lock`` and ``setup/pins/`` alone, without a network, and names what set-up installs:
package, version, and the SHA-256 of every file that is accepted for it. The same lock gives the same bytes.
Not in it: the tools outside of Python, and the libraries of the measured services, which have lock files of their
own (``go.sum``) or pinned versions (``pom.xml``).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .finders import PROJECT
from .say import SetupError, warn

OUTPUT = Path("results") / "sbom.cdx.json"
#: Both stand in the environment: what is used, and what builds this project itself.
LOCKS = (Path("requirements.lock"), Path("setup") / "pins" / "build.txt", Path("setup") / "pins" / "uv.txt")
#: Names the document by its content.
_NAMESPACE = uuid.UUID("6f2f0a36-6f5f-5b68-9d4e-3f6d0d0a7c11")
_PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)\s*(?:;\s*(?P<marker>[^\\]*?))?\s*\\?$"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A package in one version. ``marker``: on which platforms it is installed; empty: on all."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{re.sub(r'[-_.]+', '-', self.name).lower()}@{self.version}"


def read_pins(lock: Path) -> list[Pin]:
    """Return the packages of a lock file in their order.

    Raises:
        SetupError: it cannot be read, a line is none of a lock file, or a package has no hash.
    """
    try:
        text = lock.read_text(encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{lock}: cannot be read ({error.strerror})") from None
    found: list[tuple[re.Match[str], list[str]]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        hashes = _HASH.findall(line)
        if hashes and found:
            found[-1][1].extend(hashes)
            continue
        pin = _PIN.match(line)
        if pin is None:
            raise SetupError(
                f"{lock}: line {number}: found {line[:60]!r}; allowed: name==version, then --hash=sha256:..."
            )
        found.append((pin, []))
    for pin, hashes in found:
        if not hashes:
            raise SetupError(f"{lock}: {pin['name']} has no hash")
    return [
        Pin(
            name=pin["name"],
            version=pin["version"],
            marker=(pin["marker"] or "").strip(),
            sha256=tuple(hashes),
        )
        for pin, hashes in found
    ]


def document(project: Path) -> dict[str, object]:
    """Return the bill of materials of a clone."""
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = [pin for lock in LOCKS for pin in read_pins(project / lock)]
    once = {pin.purl: pin for pin in reversed(pins)}
    digest = hashlib.sha256(b"".join((project / lock).read_bytes() for lock in LOCKS)).hexdigest()
    root = f"pkg:pypi/{about['name']}@{about['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": root, "name": about["name"],
                "version": about["version"], "purl": root,
            },
        },
        "components": list(_components(once[purl] for purl in sorted(once))),
        "dependencies": [{"ref": root, "dependsOn": sorted(once)}],
    }  # fmt: skip


def _components(pins: Iterable[Pin]) -> Iterable[dict[str, object]]:
    for pin in pins:
        # one hash stands for one file of the package; a component's own `hashes` would claim they are of one
        files = [
            {"type": "distribution", "url": pin.purl, "hashes": [{"alg": "SHA-256", "content": one}]}
            for one in pin.sha256
        ]
        made: dict[str, object] = {
            "type": "library", "bom-ref": pin.purl, "name": pin.name, "version": pin.version, "purl": pin.purl,
            "externalReferences": files,
        }  # fmt: skip
        if pin.marker:
            made["properties"] = [{"name": "python:marker", "value": pin.marker}]
        yield made


def write(project: Path) -> tuple[Path, int]:
    """Write the document below ``results/``; return its path and how many packages it has."""
    made = document(project)
    path = project / OUTPUT
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    components = made["components"]
    return path, len(components) if isinstance(components, list) else 0


def main() -> int:
    try:
        path, n = write(PROJECT)
    except SetupError as error:
        warn(f"sbom: {error}")
        return 2
    print(f"{path.relative_to(PROJECT)}: {n} packages, CycloneDX 1.6")
    return 0


if __name__ == "__main__":
    sys.exit(main())
