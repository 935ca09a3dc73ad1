# SPDX-License-Identifier: Apache-2.0
"""A Node.js package."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from harness.adopt.guess import Guess, started
from harness.adopt.source_text import SourceText, port_or_variable
from harness.errors import InputError

FRAMEWORKS = ("express", "fastify", "koa", "@nestjs/core", "@hapi/hapi", "next")
_ENTRIES = (
    "server.js",
    "index.js",
    "app.js",
    "main.js",
    "src/server.js",
    "src/index.js",
    "src/app.js",
    "src/main.js",
)


def guess(folder: Path) -> Guess | None:
    """Return what a folder with a ``package.json`` needs, or ``None``.

    Raises:
        InputError: it is not JSON.
    """
    file = folder / "package.json"
    if not file.is_file():
        return None
    try:
        package: Any = json.loads(file.read_text("utf-8"))
        scripts, wanted = dict(package.get("scripts", {})), dict(package.get("dependencies", {}))
    except (ValueError, AttributeError, TypeError) as problem:
        raise InputError(f"not a package.json: {problem}", file=file) from None
    program, seen = _program(folder, scripts, package.get("main"))
    port = port_or_variable(SourceText(folder))
    return Guess(
        language="javascript",
        framework=next((name for name in FRAMEWORKS if name in wanted), "node:http"),
        runtime="other",
        source=folder,
        build=_build(folder, scripts, bool(wanted) or "build" in scripts),
        artifact=".",
        start=started(program, port, inside=True),
        why={"build": "package.json", "start": f"{seen}; {port.why}"},
    )


def _build(folder: Path, scripts: dict[str, Any], needed: bool) -> tuple[str, ...]:
    if not needed:
        return ()
    fetch = "ci" if (folder / "package-lock.json").is_file() else "install"
    if "build" in scripts:
        return ("sh", "-c", f"npm {fetch} --no-audit --no-fund && npm run build")
    return ("npm", fetch, "--omit=dev", "--no-audit", "--no-fund")


def _program(folder: Path, scripts: dict[str, Any], main: Any) -> tuple[tuple[str, ...], str]:
    words = shlex.split(str(scripts.get("start", "")))
    if words[:1] == ["node"] and not {"&&", ";", "|"} & set(words):
        return tuple(words), "package.json: scripts.start"
    if isinstance(main, str) and (folder / main).is_file():
        return ("node", main), "package.json: main"
    entry = next((name for name in _ENTRIES if (folder / name).is_file()), None)
    if entry is not None:
        return ("node", entry), f"{entry} is there"
    return ("npm", "start", "--silent"), "package.json names no script of node: npm start is what is left"
