# SPDX-License-Identifier: Apache-2.0
"""A Go module."""

from __future__ import annotations

import re
from pathlib import Path

from harness.adopt.guess import Guess, Port, started
from harness.adopt.source_text import SourceText, port_or_variable

BINARY = "target/service"
FRAMEWORKS = (
    ("gin", "github.com/gin-gonic/gin"), ("echo", "github.com/labstack/echo"), ("fiber", "github.com/gofiber/fiber"),
    ("chi", "github.com/go-chi/chi"), ("gorilla", "github.com/gorilla/mux"),
)  # fmt: skip
_MAIN = re.compile(r"^package main\b", re.MULTILINE)


def guess(folder: Path) -> Guess | None:
    """Return what a folder with a ``go.mod`` needs, or ``None``."""
    if not (folder / "go.mod").is_file():
        return None
    module = (folder / "go.mod").read_text("utf-8", errors="replace")
    text = SourceText(folder)
    package, seen = _main_package(text)
    framework = next((name for name, path in FRAMEWORKS if path in module), "net/http")
    port = text.port()
    if port is None and framework == "gin" and text.has(".Run()"):
        port = Port(environment=("PORT={port}",), why="gin's Run() reads the variable PORT")
    port = port or port_or_variable(text)
    return Guess(
        language="go",
        framework=framework,
        runtime="go",
        source=folder,
        build=("go", "build", "-o", BINARY, package),
        artifact=BINARY,
        start=started(("{artifact}",), port, inside=False),
        why={"build": f"go.mod; {seen}", "start": port.why},
    )


def _main_package(text: SourceText) -> tuple[str, str]:
    mains = [path for path, content in text.files if path.suffix == ".go" and _MAIN.search(content)]
    folders = sorted({path.parent for path in mains}, key=lambda path: (len(path.parts), path))
    if not folders:
        return ".", "no file says package main"
    first = folders[0].as_posix()
    others = f" (others: {', '.join(path.as_posix() for path in folders[1:4])})" if folders[1:] else ""
    return ("." if first == "." else f"./{first}"), f"package main is in {first}{others}"
