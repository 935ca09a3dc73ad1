# SPDX-License-Identifier: Apache-2.0
"""The JDKs of a far host, by a small search: JAVA_HOME, the java on PATH, /usr/lib/jvm."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HostError
from harness.hosts.base import Command
from harness.hosts.ssh.host import SshHost
from harness.toolchains import JAVA_REFERENCE, Jdk, parse_version
from harness.toolchains.jdks import jdk_of_release

FOLDER_OF_JDKS = "/usr/lib/jvm"


def find_remote_jdks(host: SshHost, preferred: str | None) -> tuple[Jdk, ...]:
    """Return the host's JDKs; first that of our own version, then the reference release, then newer ones."""
    results: dict[Path, Jdk] = {}
    for home in _homes(host):
        jdk = _read(host, home)
        if jdk is not None:
            results.setdefault(jdk.home, jdk)

    def rank(jdk: Jdk) -> tuple[bool, bool, tuple[int, ...]]:
        newest_first = tuple(-number for number in parse_version(jdk.version))
        return jdk.version != preferred, jdk.major != JAVA_REFERENCE, newest_first

    return tuple(sorted(results.values(), key=rank))


def _homes(host: SshHost) -> list[Path]:
    homes = [Path(host.environment["JAVA_HOME"])] if host.environment.get("JAVA_HOME") else []
    java = host.which("java")["java"]
    if java is not None:
        homes.append(Path(java).parent.parent)
    homes += [Path(FOLDER_OF_JDKS) / name for name in host.folders(FOLDER_OF_JDKS)[FOLDER_OF_JDKS]]
    return homes


def _read(host: SshHost, home: Path) -> Jdk | None:
    """The JDK there, links followed; ``None`` when there is none."""
    java = host.run(Command(argv=("readlink", "-f", str(home / "bin" / "java")), folder=Path("/")), 20.0)
    if java.exit_code != 0 or not java.stdout.strip():
        return None
    real = Path(java.stdout.strip()).parent.parent
    try:
        text = host.read(real / "release").decode(errors="replace")
    except HostError:
        return None
    return jdk_of_release(real, text)
