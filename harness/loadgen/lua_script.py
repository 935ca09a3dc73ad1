# SPDX-License-Identifier: Apache-2.0
"""The Lua script of wrk and wrk2, which share its language: the requests of a mix, and exact totals."""

from __future__ import annotations

from pathlib import Path

from harness.formats.wrk_histogram import HEADER
from harness.loadgen.base import LoadSpec
from harness.loadgen.mix import one_round
from harness.loadgen.template import template

QUANTILES = ("50", "75", "90", "95", "99", "99.9", "99.99")


def even_threads(connections: int, at_most: int) -> int:
    """Both tools give every thread the same number of connections and drop the rest: divide evenly."""
    return max(n for n in range(1, max(1, at_most) + 1) if connections % n == 0)


def render_script(
    spec: LoadSpec, n_threads: int, *, result: Path | None = None, histogram: Path | None = None
) -> str:
    """The requests, and with files a ``done`` that writes exact totals and, before them, the histogram of latencies
    (wrk's way; wrk2 has another)."""
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
    """A Lua string literal of the text's UTF-8 bytes; everything but plain ASCII as decimal escapes."""
    plain = frozenset(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03d}" for byte in text.encode()) + '"'
