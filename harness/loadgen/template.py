# SPDX-License-Identifier: Apache-2.0
"""Files of load tools that are made from templates, and the Lua script of wrk and wrk2, which share its language."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template

from harness.formats.wrk_histogram import HEADER
from harness.loadgen.base import LoadSpec
from harness.loadgen.flow import one_round

QUANTILES = ("50", "75", "90", "95", "99", "99.9", "99.99")


@cache
def template(name: str, *, xml: bool = False, keep_end: bool = True) -> Template:
    """Return ``templates/name``, compiled once a process; ``xml``: what is filled in is escaped."""
    environment = Environment(
        autoescape=xml, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=keep_end
    )
    return environment.from_string(as_it_is(name))


def as_it_is(name: str) -> str:
    """Return ``templates/name``, in which nothing is filled in."""
    return resources.files("harness.loadgen").joinpath("templates", name).read_text(encoding="utf-8")


def even_threads(connections: int, at_most: int) -> int:
    """Return the most threads that divide the connections evenly: both tools drop the rest."""
    return max(n for n in range(1, max(1, at_most) + 1) if connections % n == 0)


def render_script(
    spec: LoadSpec, n_threads: int, *, result: Path | None = None, histogram: Path | None = None
) -> str:
    """Return the script of the requests; with files, its ``done`` writes wrk's exact totals and histogram."""
    exchanges = [
        {
            "method": lua_string(request.method),
            "path": lua_string(request.path),
            "body": "nil" if request.body is None else lua_string(request.body),
            "headers": [(lua_string(name), lua_string(value)) for name, value in request.headers.items()],
        }
        for request in spec.requests
    ]
    return template("mix.lua.jinja", keep_end=False).render(
        exchanges=exchanges,
        round=one_round(spec.requests),
        n_threads=n_threads,
        quantiles=QUANTILES,
        result_file=None if result is None else lua_string(str(result)),
        histogram_file=None if histogram is None else lua_string(str(histogram)),
        histogram_header=HEADER,
    )


def lua_string(text: str) -> str:
    """Return a Lua string literal of the text's UTF-8 bytes; everything but plain ASCII as decimal escapes."""
    plain = frozenset(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03d}" for byte in text.encode()) + '"'
