# SPDX-License-Identifier: Apache-2.0
"""Native images: a Java program compiled ahead of time by whichever ``native-image`` is here.

What a library finds by the names in its own files (service loaders, Helidon's registry) an image
lacks unless it is told; ``[forms] native_registers`` names the folders of those files, and the
classes and files are registered by what the program's own jars hold.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

IMAGE = "service"

_CLASS_NAME = re.compile(r"[a-z]\w*(?:\.[\w$]+)+")
_PEAK = re.compile(r"Peak RSS: ([\d.]+) ?([KMG])i?B")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_EVERYTHING = {"allDeclaredConstructors": True, "allDeclaredMethods": True, "allDeclaredFields": True}


def label(said: str) -> str:
    """Return what ``--version`` printed, on one line: it tells whose compiler this is.

    >>> label("native-image 25.0.1 2025-10-21\\nGraalVM Runtime Environment X\\n")
    'native-image 25.0.1 2025-10-21; GraalVM Runtime Environment X'
    """
    return "; ".join(line.strip() for line in said.splitlines() if line.strip())


def peak_rss_bytes(said: str) -> int | None:
    """Return the highest memory that the compiler says it had; ``None``: it does not say."""
    result = _PEAK.findall(said)
    return round(float(result[-1][0]) * _UNITS[result[-1][1]]) if result else None


def image_argv(
    tool: Path, jar: Path, image: Path, *, configuration: Path | None, further: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command that compiles ``jar`` and what its manifest names into ``image``."""
    registered = (f"-H:ConfigurationFileDirectories={configuration}",) if configuration is not None else ()
    return (str(tool), "--no-fallback", *registered, *further, "-jar", str(jar), "-o", str(image))


def write_registrations(jars: Iterable[Path], folders: tuple[str, ...], target: Path) -> None:
    """Write ``reflect-config.json`` and ``resource-config.json``: the files below ``folders`` in the
    jars, and every class of the jars that is named in one of them or by its name."""
    classes: set[str] = set()
    named: set[str] = set()
    files: set[str] = set()
    prefixes = tuple(folder.rstrip("/") + "/" for folder in folders)
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    classes.add(entry.removesuffix(".class").replace("/", "."))
                elif entry.startswith(prefixes) and not entry.endswith("/"):
                    files.add(entry)
                    text = archive.read(entry).decode("utf-8", "replace")
                    named.update(_CLASS_NAME.findall(f"{text} {entry.rpartition('/')[2]}"))
    reflect = [{"name": name, **_EVERYTHING} for name in sorted(named & classes)]
    resources = {"resources": {"includes": [{"pattern": rf"\Q{name}\E"} for name in sorted(files)]}}
    target.mkdir(parents=True, exist_ok=True)
    _write(target / "reflect-config.json", reflect)
    _write(target / "resource-config.json", resources)


def _write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n")
