# SPDX-License-Identifier: Apache-2.0
"""A Node.js package: ``package.json`` says how it is built and started."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from harness.adopt.guess import BY_VARIABLE, Guess, started
from harness.adopt.stacks.commands import words_of
from harness.errors import InputError

FRAMEWORKS = ("express", "fastify", "koa", "@nestjs/core", "@hapi/hapi", "next")
NPM_START = ("npm", "start", "--silent")


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
    start, why = _start(folder, scripts, package.get("main"))
    return Guess(
        language="javascript",
        framework=next((name for name in FRAMEWORKS if name in wanted), "node:http"),
        runtime="other",
        source=folder,
        build=_build(folder, scripts, bool(wanted) or "build" in scripts or "workspaces" in package),
        artifact=".",
        start=start,
        why={"build": "package.json", "start": why},
    )


def _build(folder: Path, scripts: dict[str, Any], needed: bool) -> tuple[str, ...]:
    if not needed:
        return ()
    fetch = "ci" if (folder / "package-lock.json").is_file() else "install"
    if "build" in scripts:
        return ("sh", "-c", f"npm {fetch} --no-audit --no-fund && npm run build")
    return ("npm", fetch, "--omit=dev", "--no-audit", "--no-fund")


def _start(folder: Path, scripts: dict[str, Any], main: Any) -> tuple[tuple[str, ...], str]:
    """The start command with its reason. What ``scripts.start`` sets and says is kept; else npm itself runs it."""
    command = str(scripts.get("start", ""))
    if not command and isinstance(main, str) and (folder / main).is_file():
        return started(("node", main), "PORT={port}"), f"package.json: main: {main}; {BY_VARIABLE}"
    if not command:
        return started(NPM_START, "PORT={port}"), "package.json has neither scripts.start nor main"
    text = words_of(command)
    port = () if text.has_port else ("PORT={port}",)
    seen = f"package.json: scripts.start: {command}" + ("" if text.has_port else f"; {BY_VARIABLE}")
    program, beside = text.program, {"prestart", "poststart"} & scripts.keys()
    if beside or program[0] in ("sh", "npm", "npx", "yarn", "pnpm"):
        why = f"with {', '.join(sorted(beside))}" if beside else "which only a shell and npm understand"
        return started(
            NPM_START, "PORT={port}"
        ), f"{seen}; npm runs it, {why}, and is part of what is measured"
    if program[0] != "node" and "/" not in program[0] and shutil.which(program[0]) is None:
        program = (f"node_modules/.bin/{program[0]}", *program[1:])
    return started(program, *port, *text.environment), seen
