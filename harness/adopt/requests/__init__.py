# SPDX-License-Identifier: Apache-2.0
"""What a service may be asked: from curl lines or an OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from harness.adopt.requests.asked import Asked, Listed
from harness.adopt.requests.curl import from_curl
from harness.adopt.requests.openapi import from_openapi
from harness.errors import InputError

ALLOWED = "an OpenAPI 3 document (JSON, YAML), or lines that begin with curl"
#: Files of these names in a service's folder are read without being named.
USUAL = (
    "requests.curl", "openapi.json", "openapi.yaml", "openapi.yml", "docs/openapi.yaml", "docs/openapi.json",
    "api/openapi.yaml", "src/main/resources/openapi.yaml",
)  # fmt: skip
#: Where frameworks answer their own OpenAPI document.
SERVED = ("/openapi.json", "/v3/api-docs", "/q/openapi?format=json")

__all__ = ["SERVED", "Asked", "Listed", "read_requests", "usual_file"]


def usual_file(folder: Path) -> Path | None:
    """Return the file of a service's folder that lists its requests, or ``None``."""
    named = (folder / name for name in USUAL)
    return next((path for path in named if path.is_file()), None)


def read_requests(file: Path) -> Listed:
    """Return the requests of a file.

    Raises:
        InputError: it cannot be read, is of no known kind, or lists nothing that can be asked.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise InputError(f"cannot be read: {why}", file=file, allowed=ALLOWED) from None
    listed = of_text(text, file)
    if not listed.asked:
        left = (
            f"{len(listed.left_out)} left out, such as: {listed.left_out[0]}" if listed.left_out else "none"
        )
        raise InputError("no request that can be asked", file=file, found=left, allowed=ALLOWED)
    return listed


def of_text(text: str, file: Path) -> Listed:
    """Return the requests of a text; ``file``: what errors are about.

    Raises:
        InputError: it is of no known kind.
    """
    if any(line.lstrip().startswith("curl ") for line in text.splitlines()):
        return from_curl(text, file)
    try:  # JSON is YAML, too, but is read a hundred times as fast
        data = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        data = None
    if isinstance(data, dict) and isinstance(data.get("log"), dict):
        raise InputError(
            "a HAR file is not read",
            file=file,
            allowed='the same requests as the browser\'s "Copy all as cURL"',
        )
    if isinstance(data, dict) and "openapi" in data:
        return from_openapi(data, file)
    first = next((line.strip()[:60] for line in text.splitlines() if line.strip()), "nothing")
    raise InputError("lists no requests", file=file, found=first, allowed=ALLOWED)
