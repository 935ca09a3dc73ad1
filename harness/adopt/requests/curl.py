# SPDX-License-Identifier: Apache-2.0
"""Requests of curl lines, as a person types them or a browser copies them."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from harness.adopt.requests.asked import Asked, Listed, kept_headers, named
from harness.errors import InputError

_METHOD = ("-X", "--request")
_HEADER = ("-H", "--header")
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_USER = ("-u", "--user")
#: Options that say nothing of the request; the second list takes a word.
_PASSED_OVER = frozenset(
    {
        "-s", "-S", "-sS", "-i", "-v", "-k", "-L", "-f", "--silent", "--show-error", "--include", "--verbose",
        "--insecure", "--location", "--fail", "--compressed", "--http1.1", "--no-buffer",
    }
)  # fmt: skip
_WITH_A_WORD = frozenset(
    {
        "-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "-b", "--cookie", "-A",
        "--user-agent", "-e", "--referer", "--retry",
    }
)  # fmt: skip
_TAKES_A_WORD = frozenset((*_METHOD, *_HEADER, *_DATA, *_USER)) | _WITH_A_WORD
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


@dataclass
class _Parts:
    """What the words of one line have said so far."""

    file: Path
    line: int
    method: str | None = None
    url: str | None = None
    body: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)

    def option(self, word: str, given: str) -> None:
        """Take an option with its value."""
        if word in _METHOD:
            self.method = given
        elif word in _HEADER:
            name, _, text = given.partition(":")
            self.headers.append((name.strip(), text.strip()))
        elif word in _USER:
            token = base64.b64encode(given.encode()).decode()
            self.headers.append(("Authorization", f"Basic {token}"))
        elif word in _DATA:
            if given.startswith("@"):
                raise self.wrong("data of a file", given, "the data")
            self.body = given if self.body is None else f"{self.body}&{given}"
            if word == "--json":
                self.headers += [("Content-Type", "application/json"), ("Accept", "application/json")]

    def word(self, word: str) -> None:
        """Take a word without a value."""
        if word in ("-I", "--head"):
            self.method = "HEAD"
        elif word not in _PASSED_OVER:
            if word.startswith("-") or self.url is not None:
                raise self.wrong("not understood", word, ALLOWED)
            self.url = word

    def wrong(self, problem: str, found: str | None, allowed: str | None = None) -> InputError:
        return InputError(problem, file=self.file, place=f"line {self.line}", found=found, allowed=allowed)


def _request(words: list[str], file: Path, line: int) -> Asked:
    said = _Parts(file, line)
    left = iter(words)
    for word in left:
        if word in _TAKES_A_WORD:
            given = next(left, None)
            if given is None:
                raise said.wrong("lacks its value", word)
            said.option(word, given)
        else:
            said.word(word)
    url, body = said.url, said.body
    if url is None:
        raise said.wrong("a curl line without a URL", None, ALLOWED)
    parts = urlsplit(url if "://" in url or url.startswith("/") else f"http://{url}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = kept_headers(said.headers)
    if body is not None and not any(name.lower() == "content-type" for name in kept):
        kept["Content-Type"] = "application/x-www-form-urlencoded"
    method = said.method or ("POST" if body is not None else "GET")
    return Asked(name="", method=method.upper(), path=path, headers=kept, body=body)
