# SPDX-License-Identifier: Apache-2.0
"""Requests of curl lines, as a person types them or a browser copies them."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from harness.adopt.requests.asked import Asked, Listed, kept_headers, named
from harness.errors import InputError

_METHOD = ("-X", "--request")
_HEADER = ("-H", "--header")
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_USER = ("-u", "--user")
#: Options that say nothing of the request; the second list takes a word.
_PASSED_OVER = frozenset(["-s", "-S", "-sS", "-i", "-v", "-k", "-L", "-f", "--silent", "--show-error", "--include", "--verbose", "--insecure", "--location", "--fail", "--compressed", "--http1.1", "--no-buffer"])  # fmt: skip
_WITH_A_WORD = frozenset(["-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "-b", "--cookie", "-A", "--user-agent", "-e", "--referer", "--retry"])  # fmt: skip
ALLOWED = f"a URL, {', '.join((*_METHOD, *_HEADER, *_DATA, *_USER))}, -I"


def from_curl(text: str, file: Path) -> Listed:
    """Return the requests of a text's curl lines; a backslash at its end goes on with a line.

    Raises:
        InputError: names the line with an option or word that is not understood.
    """
    asked = [_request(words, file, number) for number, words in _commands(text, file)]
    return Listed(asked=named(asked))


def _commands(text: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    joined, began = "", 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        began = began if joined else number
        if line.rstrip().endswith("\\"):
            joined += line.rstrip()[:-1] + " "
            continue
        joined += line
        if joined.strip() and not joined.lstrip().startswith("#"):
            try:
                words = shlex.split(joined)
            except ValueError as problem:
                raise InputError(str(problem), file=file, place=f"line {began}", found=joined[:60]) from None
            if words[:1] != ["curl"]:
                raise InputError(
                    "no curl line",
                    file=file,
                    place=f"line {began}",
                    found=joined[:60],
                    allowed="curl ..., or # ...",
                )
            yield began, words[1:]
        joined = ""


def _request(words: list[str], file: Path, line: int) -> Asked:
    method, url, body, headers = None, None, None, []
    left = iter(words)

    def value(option: str) -> str:
        given = next(left, None)
        if given is None:
            raise InputError("lacks its value", file=file, place=f"line {line}", found=option)
        return given

    for word in left:
        if word in _METHOD:
            method = value(word)
        elif word in _HEADER:
            name, _, text = value(word).partition(":")
            headers.append((name.strip(), text.strip()))
        elif word in _DATA:
            given = value(word)
            if given.startswith("@"):
                raise InputError(
                    "data of a file", file=file, place=f"line {line}", found=given, allowed="the data"
                )
            body = given if body is None else f"{body}&{given}"
            if word == "--json":
                headers += [("Content-Type", "application/json"), ("Accept", "application/json")]
        elif word in _USER:
            token = base64.b64encode(value(word).encode()).decode()
            headers.append(("Authorization", f"Basic {token}"))
        elif word in ("-I", "--head"):
            method = "HEAD"
        elif word in _WITH_A_WORD:
            value(word)
        elif word in _PASSED_OVER:
            continue
        elif word.startswith("-") or url is not None:
            raise InputError("not understood", file=file, place=f"line {line}", found=word, allowed=ALLOWED)
        else:
            url = word
    if url is None:
        raise InputError("a curl line without a URL", file=file, place=f"line {line}", allowed=ALLOWED)
    parts = urlsplit(url if "://" in url or url.startswith("/") else f"http://{url}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = kept_headers(headers)
    if body is not None and not any(name.lower() == "content-type" for name in kept):
        kept["Content-Type"] = "application/x-www-form-urlencoded"
    return Asked(
        name="",
        method=(method or ("POST" if body is not None else "GET")).upper(),
        path=path,
        headers=kept,
        body=body,
    )
