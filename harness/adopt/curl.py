# SPDX-License-Identifier: Apache-2.0
"""Requests, and how curl lines say them: as a person types them or a browser copies them ("Copy all as cURL")."""

from __future__ import annotations

import base64
import getopt
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

from harness.errors import InputError

#: Headers of a connection: whoever sends a request has its own.
_OF_CONNECTION = frozenset(
    {"host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "upgrade", "expect"}
)
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
_DATA = frozenset({"data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json"})
#: A comment line, the strings of a shell, an end of line with and without a backslash, and all else.
_PIECE = re.compile(
    r"""^[ \t]*\#[^\n]*|\$'((?:[^'\\]|\\.)*)'|'[^']*'|"(?:[^"\\]|\\.)*"|\\\r?\n|\r?\n|[^'"$\\\r\n]+|.""",
    re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
ALLOWED = "a URL, -X, -H, -d and the other options of data, --json, -G, -I, -u, -b, -A, -e, --compressed"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request as it is sent. ``name``: of the case, unique in its list; ``path`` with its query."""

    name: str = ""
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, kw_only=True)
class RequestList:
    """``left_out``: requests that were not taken, each with its reason; ``remarks``: what of others is not sent."""

    asked: tuple[Call, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def named(requests: Iterable[Call]) -> tuple[Call, ...]:
    """Return the requests without repetitions, each with a name of its own made of method and path."""
    result: dict[tuple[object, ...], Call] = {}
    names: set[str] = set()
    for item in requests:
        key = (item.method, item.path, item.body, *sorted(item.headers.items()))
        if key in result:
            continue
        words = re.sub(r"[^a-z0-9]+", "-", f"{item.method}{item.path}".lower()).strip("-")[:60]
        if words == item.method.lower():
            words += "-root"
        name, number = words, 1
        while name in names:
            number += 1
            name = f"{words}-{number}"
        names.add(name)
        result[key] = replace(item, name=name)
    return tuple(result.values())


def from_curl(text: str, file: Path) -> RequestList:
    """Return the requests of a text's curl lines; a backslash at its end goes on with a line.

    Raises:
        InputError: names the line with an option or word that is not understood.
    """
    asked: list[Call] = []
    remarks: list[str] = []
    for line, words in _commands(text, file):
        item = _request(words, file, line)
        dropped = [name for name in item.headers if name.lower() in _OF_CONNECTION or name.startswith(":")]
        headers = {name: value for name, value in item.headers.items() if name not in dropped}
        asked.append(replace(item, headers=headers))
        remarks += [f"{name} of {item.method} {item.path}: it is of the connection" for name in dropped]
    return RequestList(asked=named(asked), remarks=tuple(remarks))


def _commands(text: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line on which a command begins, and its words."""
    command, began, line = "", 1, 1
    for piece in _PIECE.finditer(text + "\n"):
        result, ansi = piece[0], piece[1]
        began = began if command.strip() else line
        line += result.count("\n")
        if result.lstrip().startswith("#") and not command.strip():
            continue
        if result not in ("\n", "\r\n"):
            joined = result[:1] == "\\" and result.endswith("\n")
            command += " " if joined else result if ansi is None else _plain(ansi)
            continue
        if command.strip():
            problem, words = "no curl line", [""]
            try:
                words = shlex.split(command)
            except ValueError as error:
                problem = str(error)
            if words[0] != "curl":
                allowed = "curl ..., or # ..."
                raise InputError(
                    problem, file=file, place=f"line {began}", found=command[:60], allowed=allowed
                )
            yield began, words[1:-1] if words[-1] == ";" else words[1:]
        command = ""


def _plain(ansi: str) -> str:
    """Return what stands between ``$'`` and ``'`` as a word that every shell has."""

    def character(match: re.Match[str]) -> str:
        word = match[1]
        if word[0] in "xu" and len(word) > 1:
            return chr(int(word[1:], 16))
        return chr(int(word, 8)) if word[0] in "01234567" else _ESCAPED.get(word, word)

    return shlex.quote(_ESCAPE.sub(character, ansi))


def _wrong(file: Path, line: int, problem: str, word: str | None, allowed: str = ALLOWED) -> InputError:
    return InputError(problem, file=file, place=f"line {line}", found=word, allowed=allowed)


def _request(words: list[str], file: Path, line: int) -> Call:
    wrong = partial(_wrong, file, line)
    long = [name + ("=" if short.endswith(":") else "") for short, name in _SHORT.items()]
    try:
        pairs, urls = getopt.gnu_getopt(words, "".join(_SHORT), [*long, *_LONG])
    except getopt.GetoptError as problem:
        dashes = "--" if len(problem.opt) > 1 else "-"
        raise wrong(str(problem.msg), f"{dashes}{problem.opt}") from None
    full = {f"-{short[0]}": name for short, name in _SHORT.items()}
    options = [(full.get(option, option.removeprefix("--")), value) for option, value in pairs]
    last = dict(options)
    urls += [value for name, value in options if name == "url"]
    if len(urls) != 1:
        raise wrong("a curl line has one URL here", " ".join(urls) or None)
    url = urlsplit(urls[0] if "://" in urls[0] or urls[0].startswith("/") else f"http://{urls[0]}")
    parts = [_data(name, value, file, wrong) for name, value in options if name in _DATA]
    data = "&".join(parts) if parts else None
    query = "&".join(filter(None, (url.query, data if "get" in last else None)))
    body = None if "get" in last else data
    headers = _headers(options, wrong)
    implied = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
    if "json" in last:
        implied |= {"Content-Type": "application/json", "Accept": "application/json"}
    if "compressed" in last:
        implied["Accept-Encoding"] = "gzip, deflate"
    given = {name.lower() for name in headers}
    usual = "HEAD" if "head" in last else "GET" if body is None else "POST"
    return Call(
        method=last.get("request", usual).upper(),
        path=(url.path or "/") + (f"?{query}" if query else ""),
        headers=headers | {name: value for name, value in implied.items() if name.lower() not in given},
        body=body,
    )


def _data(name: str, value: str, file: Path, wrong: Callable[..., InputError]) -> str:
    """The part of a body that an option gives; a file is of the folder of the lines."""
    if name == "data-urlencode":
        key, equals, text = value.partition("=") if "=" in value else ("", "", value)
        return f"{key}{equals if key else ''}{quote(text, safe='')}"
    if not value.startswith("@") or name == "data-raw":
        return value
    try:
        text = (file.parent / value[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise wrong(f"its data cannot be read: {problem}", value, "a text file") from None
    return text.replace("\n", "").replace("\r", "") if name in ("data", "data-ascii") else text


def _headers(options: list[tuple[str, str]], wrong: Callable[..., InputError]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in options:
        if name == "header":
            header, _, text = value.partition(":")
            if text.strip():  # without a value curl leaves out a header of its own
                headers[header.strip()] = text.strip()
        elif name == "user":
            headers["Authorization"] = f"Basic {base64.b64encode(value.encode()).decode()}"
        elif name == "cookie" and "=" not in value:
            raise wrong("cookies of a file", value, "the cookies: name=value")
        elif name in ("cookie", "user-agent", "referer"):
            headers[name.title()] = value
    return headers
