# SPDX-License-Identifier: Apache-2.0
"""Requests of curl lines, as a person types them or a browser copies them ("Copy all as cURL")."""

from __future__ import annotations

import base64
import getopt
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from harness.adopt.requests.asked import Asked, Listed, connection_only, named
from harness.errors import InputError

#: Short options and what they are in full; those with a colon take a word.
_SHORT = {
    "X:": "request", "H:": "header", "d:": "data", "u:": "user", "b:": "cookie", "A:": "user-agent", "e:": "referer",
    "o:": "output", "w:": "write-out", "m:": "max-time", "I": "head", "G": "get", "s": "silent", "S": "show-error",
    "i": "include", "v": "verbose", "k": "insecure", "L": "location", "f": "fail", "g": "globoff", "N": "no-buffer",
}  # fmt: skip
#: Others; those with an equals sign take a word.
_LONG = (
    "data-raw=", "data-binary=", "data-ascii=", "data-urlencode=", "json=", "url=", "connect-timeout=", "retry=",
    "compressed", "http1.1", "path-as-is",
)  # fmt: skip
_DATA = frozenset({"data", "data-ascii", "data-binary", "json"})
_ENDS = ";"
#: A comment line, the strings of a shell, an end of line with and without a backslash, and all else.
_PIECE = re.compile(
    r"""^[ \t]*\#[^\n]*|\$'((?:[^'\\]|\\.)*)'|'[^']*'|"(?:[^"\\]|\\.)*"|\\\r?\n|\r?\n|[^'"$\\\r\n]+|.""",
    re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
ALLOWED = "a URL, -X, -H, -d and the other options of data, --json, -G, -I, -u, -b, -A, -e, --compressed"


def from_curl(text: str, file: Path) -> Listed:
    """Return the requests of a text's curl lines; a backslash at its end goes on with a line.

    Raises:
        InputError: names the line with an option or word that is not understood.
    """
    asked: list[Asked] = []
    left: list[str] = []
    for line, words in _commands(text, file):
        parts = _Line(file, line)
        item, dropped = parts.request(words)
        asked.append(item)
        left += [f"{name} of {item.method} {item.path}: it is of the connection" for name in dropped]
    return Listed(asked=named(asked), remarks=tuple(left))


def _commands(text: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line on which a command begins, and its words."""
    command, began, line = "", 1, 1
    for piece in _PIECE.finditer(text + "\n"):
        result = piece[0]
        began = began if command.strip() else line
        line += result.count("\n")
        if result.lstrip().startswith("#") and not command.strip():
            continue
        if result not in ("\n", "\r\n"):
            ansi = piece[1]
            command += (
                " "
                if result[:1] == "\\" and result.endswith("\n")
                else result
                if ansi is None
                else _plain(ansi)
            )
            continue
        if command.strip():
            yield began, _words(command, file, began)
        command = ""


def _plain(ansi: str) -> str:
    """Return what stands between ``$'`` and ``'`` as a word that every shell has."""

    def character(match: re.Match[str]) -> str:
        word = match[1]
        if word[0] in "xu" and len(word) > 1:
            return chr(int(word[1:], 16))
        return chr(int(word, 8)) if word[0] in "01234567" else _ESCAPED.get(word, word)

    return shlex.quote(_ESCAPE.sub(character, ansi))


def _words(command: str, file: Path, line: int) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise InputError(str(problem), file=file, place=f"line {line}", found=command[:60]) from None
    if words[:1] != ["curl"]:
        raise InputError(
            "no curl line", file=file, place=f"line {line}", found=command[:60], allowed="curl ..., or # ..."
        )
    return words[1:-1] if words[-1] == _ENDS else words[1:]


@dataclass
class _Line:
    """What the words of one line have said so far."""

    file: Path
    line: int
    method: str | None = None
    data: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    in_query: bool = False

    def request(self, words: list[str]) -> tuple[Asked, list[str]]:
        """Return the request, and the names of headers that are none of its own."""
        long = [name + ("=" if short.endswith(":") else "") for short, name in _SHORT.items()]
        try:
            options, urls = getopt.gnu_getopt(words, "".join(_SHORT), [*long, *_LONG])
        except getopt.GetoptError as problem:
            dashes = "--" if len(problem.opt) > 1 else "-"
            raise self.wrong(str(problem.msg), f"{dashes}{problem.opt}", ALLOWED) from None
        full = {f"-{short[0]}": name for short, name in _SHORT.items()}
        for option, value in options:
            name = full.get(option, option.removeprefix("--"))
            if name == "url":
                urls.append(value)
            else:
                self.take(name, value)
        if len(urls) != 1:
            raise self.wrong("a curl line has one URL here", " ".join(urls) or None, ALLOWED)
        parts = urlsplit(urls[0] if "://" in urls[0] or urls[0].startswith("/") else f"http://{urls[0]}")
        data = "&".join(self.data) if self.data else None
        query = "&".join(filter(None, (parts.query, data if self.in_query else None)))
        body = None if self.in_query else data
        if body is not None:
            self.add("Content-Type", "application/x-www-form-urlencoded")
        dropped = [name for name in self.headers if connection_only(name)]
        headers = {name: value for name, value in self.headers.items() if name not in dropped}
        method = (self.method or ("POST" if body is not None else "GET")).upper()
        path = (parts.path or "/") + (f"?{query}" if query else "")
        return Asked(name="", method=method, path=path, headers=headers, body=body), dropped

    def take(self, name: str, value: str) -> None:
        """Take an option with its value."""
        if name == "request":
            self.method = value
        elif name == "head":
            self.method = self.method or "HEAD"
        elif name == "get":
            self.in_query = True
        elif name == "header":
            header, _, text = value.partition(":")
            if text.strip():  # without a value curl leaves out a header of its own
                self.headers[header.strip()] = text.strip()
        elif name == "user":
            self.headers["Authorization"] = f"Basic {base64.b64encode(value.encode()).decode()}"
        elif name == "cookie" and "=" not in value:
            raise self.wrong("cookies of a file", value, "the cookies: name=value")
        elif name in ("cookie", "user-agent", "referer"):
            self.headers[name.title()] = value
        elif name == "compressed":
            self.add("Accept-Encoding", "gzip, deflate")
        else:
            self.take_data(name, value)

    def take_data(self, name: str, value: str) -> None:
        """Take an option with data of the body; any other says nothing of the request."""
        if name == "data-urlencode":
            key, equals, text = value.partition("=") if "=" in value else ("", "", value)
            self.data.append(f"{key}{equals if key else ''}{quote(text, safe='')}")
        elif name in _DATA and value.startswith("@"):
            self.data.append(self.of_file(value[1:], keep_lines=name not in ("data", "data-ascii")))
        elif name in _DATA or name == "data-raw":
            self.data.append(value)
        if name == "json":
            self.add("Content-Type", "application/json")
            self.add("Accept", "application/json")

    def add(self, name: str, value: str) -> None:
        """Add a header unless the line has it."""
        if name.lower() not in map(str.lower, self.headers):
            self.headers[name] = value

    def of_file(self, name: str, *, keep_lines: bool) -> str:
        """Return the text of a file; its name is relative to the folder of the file with the lines."""
        try:
            text = (self.file.parent / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise self.wrong(f"its data cannot be read: {problem}", f"@{name}", "a text file") from None
        return text if keep_lines else text.replace("\n", "").replace("\r", "")

    def wrong(self, problem: str, word: str | None, allowed: str | None = None) -> InputError:
        return InputError(problem, file=self.file, place=f"line {self.line}", found=word, allowed=allowed)
