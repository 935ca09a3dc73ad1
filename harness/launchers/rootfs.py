# SPDX-License-Identifier: Apache-2.0
"""The root of a container image made of this machine's own files: a runtime, and the few libraries it loads.

For machines that can pull no base image. What stands in it is what the service would load here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from harness.errors import RematchError
from harness.hosts.base import Command, Host

_LIBRARY = re.compile(r"(?:=>\s+)?(/\S+) \(0x[0-9a-f]+\)")
_ELF = b"\x7fELF"
#: Of all programs of a runtime, on a busy machine.
LISTED_WITHIN_S = 120.0


def is_elf(file: Path) -> bool:
    """Whether a file is a program or library of this kind of system."""
    try:
        with file.open("rb") as stream:
            return stream.read(4) == _ELF
    except OSError:
        return False


def libraries(host: Host, files: Iterable[Path], *, inside: Path | None = None) -> tuple[Path, ...]:
    """Return the shared libraries that these programs load, the loader included, without those ``inside``.

    A program that is linked statically needs none. glibc's ``ldd`` is asked about all of them at once.

    Raises:
        RematchError: there is no ``ldd`` here.
    """
    completed = host.run(Command(argv=("ldd", *map(str, files)), folder=Path("/")), LISTED_WITHIN_S)
    if completed.exit_code == 127:
        raise RematchError("ldd is missing, which lists the libraries that an image needs")
    output = {Path(path) for path in _LIBRARY.findall(completed.stdout)}
    return tuple(sorted(path for path in output if inside is None or not path.is_relative_to(inside)))


def lay_out(root: Path, files: Iterable[Path]) -> None:
    """Copy files below ``root`` to the paths where they stand here, and make an empty ``/tmp``."""
    for file in files:
        target = root / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)  # what a link points to, under the link's name
    (root / "tmp").mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)


def runtime_root(host: Host, runtime: Path, root: Path) -> None:
    """Lay out a Java runtime at ``/opt/java`` with its libraries."""
    programs = [file for file in sorted(runtime.rglob("*")) if file.is_file() and is_elf(file)]
    lay_out(root, libraries(host, programs, inside=runtime))
    shutil.copytree(runtime, root / "opt" / "java", symlinks=True)
