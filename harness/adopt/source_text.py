# SPDX-License-Identifier: Apache-2.0
"""Looks into the sources of a service: how it takes its port, and which paths it answers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.adopt.guess import Port
from harness.launchers.sources import NOT_SOURCE

#: What a look takes at most: generated and bundled files are longer, and say nothing of how a program is started.
MOST_FILES, MOST_BYTES = 400, 200_000
SUFFIXES = frozenset(
    {".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".java", ".kt", ".properties", ".yml", ".yaml"}
)
_SKIPPED = NOT_SOURCE | {"dist", "test", "tests", "vendor", "site-packages"}

_PORT_VARIABLE = re.compile(
    r"""(?:Getenv|LookupEnv|getenv|environ(?:\.get)?|env)\s*[\[(.]\s*["']?(?P<name>[A-Z][A-Z0-9_]*PORT|PORT)\b"""
)
_HOST_VARIABLE = re.compile(
    r"""(?:Getenv|LookupEnv|getenv|environ(?:\.get)?|env)\s*[\[(.]\s*["']?(?P<name>(?:[A-Z0-9_]*_)?(?:HOST|BIND|LISTEN_HOST))\b"""
)
_ADDRESS_VARIABLE = re.compile(
    r"""(?:Getenv|LookupEnv|getenv)\s*\(\s*["'](?P<name>(?:[A-Z0-9_]*_)?(?:ADDR|ADDRESS|LISTEN))["']"""
)
_GO_FLAG = re.compile(r"""flag\.(?:String|Int|StringVar|IntVar)\(\s*(?:&[\w.]+,\s*)?"(?P<name>[\w-]+)""")
_OPTION = re.compile(r"""["'](?P<name>--(?:http[-_.])?(?:port|host|bind|addr|address|listen))["'=]""")
_FIXED = re.compile(
    r"""(?:ListenAndServe\(\s*"|\.Run\(\s*"|\.Start\(\s*"|\.listen\(\s*|InetSocketAddress\(\s*|HTTPServer\(\s*\(\s*["'][^"']*["']\s*,\s*)[^"\s,)]*?:?(?P<port>\d{2,5})\b"""
)
_POSITIONAL = re.compile(r"""(?:process\.argv\[2\]|sys\.argv\[1\]|os\.Args\[1\]|args\[0\])""")
_ROUTE = re.compile(
    r"""(?:HandleFunc|Handle|\.GET|\.Get|\.get|\.route|GetMapping|RequestMapping|@Path|\.createContext|=== |== )"""
    r"""\(?\s*(?:value\s*=\s*|path\s*=\s*)?["'](?:GET )?(?P<path>/[\w./-]*)["']"""
)


@dataclass(frozen=True)
class SourceText:
    """The texts below a folder, bounded in number and length."""

    folder: Path

    @cached_property
    def files(self) -> tuple[tuple[Path, str], ...]:
        """Each file, relative, with its text."""
        return tuple(self._read())

    def _read(self) -> Iterator[tuple[Path, str]]:
        seen = 0
        for place, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
            for name in sorted(names):
                path = Path(place, name)
                if path.suffix not in SUFFIXES or name.endswith(("_test.go", ".min.js", ".test.js")):
                    continue
                if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
                    continue
                seen += 1
                if seen > MOST_FILES:
                    return
                yield path.relative_to(self.folder), path.read_text("utf-8", errors="replace")

    def first(self, pattern: re.Pattern[str], *groups: str) -> tuple[re.Match[str], str] | None:
        """Return the first match, with its file and line as text; ``groups``: values of ``name`` that count."""
        for path, text in self.files:
            for found in pattern.finditer(text):
                if not groups or found["name"] in groups:
                    return found, f"{path.as_posix()}:{text.count(chr(10), 0, found.start()) + 1}"
        return None

    def has(self, text: str) -> bool:
        return any(text in content for _, content in self.files)

    def routes(self, most: int = 12) -> tuple[str, ...]:
        """Return paths without parameters that the sources seem to answer."""
        found = (match["path"] for _, text in self.files for match in _ROUTE.finditer(text))
        kept = [path for path in dict.fromkeys(found) if not path.endswith(("/*", "."))]
        return tuple(kept[:most])

    def port(self) -> Port | None:
        """Return how the program is told its port; ``None``: the sources do not show it."""
        return self._by_go_flag() or self._by_option() or self._by_variable() or self._by_position()

    def fixed_port(self) -> tuple[int, str] | None:
        """Return a port that is written into the sources, and where."""
        found = self.first(_FIXED)
        return None if found is None else (int(found[0]["port"]), found[1])

    def _by_go_flag(self) -> Port | None:
        port, whole = (
            self.first(_GO_FLAG, "port", "p"),
            self.first(_GO_FLAG, "addr", "address", "listen", "bind"),
        )
        if port is not None:
            host = self.first(_GO_FLAG, "host")
            words = (f"-{port[0]['name']}={{port}}", *(("-host={host}",) if host else ()))
            return Port(words=words, why=f"{port[1]} defines the flag -{port[0]['name']}")
        if whole is not None:
            name = whole[0]["name"]
            return Port(words=(f"-{name}={{host}}:{{port}}",), why=f"{whole[1]} defines the flag -{name}")
        return None

    def _by_option(self) -> Port | None:
        port = self.first(_OPTION, "--port", "--http-port", "--http.port", "--http_port")
        if port is None:
            return None
        host = self.first(_OPTION, "--host", "--bind")
        words = (port[0]["name"], "{port}", *((host[0]["name"], "{host}") if host else ()))
        return Port(words=words, why=f"{port[1]} defines the option {port[0]['name']}")

    def _by_variable(self) -> Port | None:
        port, whole = self.first(_PORT_VARIABLE), self.first(_ADDRESS_VARIABLE)
        if port is not None:
            host = self.first(_HOST_VARIABLE)
            told = (f"{port[0]['name']}={{port}}", *((f"{host[0]['name']}={{host}}",) if host else ()))
            return Port(environment=told, why=f"{port[1]} reads the variable {port[0]['name']}")
        if whole is not None:
            name = whole[0]["name"]
            return Port(
                environment=(f"{name}={{host}}:{{port}}",), why=f"{whole[1]} reads the variable {name}"
            )
        return None

    def _by_position(self) -> Port | None:
        found = self.first(_POSITIONAL)
        return None if found is None else Port(words=("{port}",), why=f"{found[1]} reads the first argument")


def port_or_variable(text: SourceText) -> Port:
    """Return how a program is told its port; where the sources do not show it, by the variable ``PORT``."""
    found = text.port()
    if found is not None:
        return found
    fixed = text.fixed_port()
    seen = (
        f"{fixed[1]} has port {fixed[0]} written into it"
        if fixed
        else "the sources show no option or variable"
    )
    return Port(environment=("PORT={port}",), why=f"{seen}; the variable PORT is the usual one")
