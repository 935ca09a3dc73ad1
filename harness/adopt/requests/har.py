# SPDX-License-Identifier: Apache-2.0
"""Requests that a browser recorded: a HAR file."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.adopt.requests.asked import Asked, Listed, kept_headers, named
from harness.errors import InputError


def from_har(data: Any, file: Path) -> Listed:
    """Return the requests to the host of the file's first request; cookies are left out.

    Raises:
        InputError: an entry is none.
    """
    asked: list[Asked] = []
    left: list[str] = []
    host = None
    for number, entry in enumerate(data["log"].get("entries") or []):
        try:
            request = entry["request"]
            parts = urlsplit(str(request["url"]))
            headers = [(str(one["name"]), str(one["value"])) for one in request.get("headers", [])]
            posted = request.get("postData") or {}
            body = None if posted.get("text") in (None, "") else str(posted["text"])
            method = str(request["method"]).upper()
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            place = f"log.entries[{number}].request"
            raise InputError(f"not an entry of a HAR file: {problem!r}", file=file, place=place) from None
        host = host or parts.netloc
        shown = f"{method} {parts.path or '/'}"
        if parts.netloc != host:
            left.append(f"{shown}: of {parts.netloc}, not of {host}")
            continue
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        asked.append(Asked(name="", method=method, path=path, headers=kept_headers(headers), body=body))
    return Listed(asked=named(asked), left_out=tuple(left))
