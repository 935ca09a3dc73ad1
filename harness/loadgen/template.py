# SPDX-License-Identifier: Apache-2.0
"""Files of load tools that are made from templates; the base of wrk and wrk2, which share command line and script."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template

from harness.formats.wrk_histogram import HEADER
from harness.loadgen.base import LoadGenerator, LoadSpec
from harness.loadgen.flow import no_flow, one_round, other_statuses, unsupported_mix
from harness.model import LoadProfile, OpenLoad, Request

#: The script of wrk and wrk2.
SCRIPT = "mix.lua"
TIMEOUT_S = 60
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


@dataclass(frozen=True, kw_only=True)
class LuaTool(LoadGenerator):
    """wrk or wrk2. ``threads``: no more than this."""

    threads: int = 2
    start_and_stop_s = 1.0

    @abstractmethod
    def refusal(self, profile: LoadProfile) -> str | None:
        """Return why the tool cannot offer this profile, or ``None``."""

    @abstractmethod
    def words(self, profile: LoadProfile) -> tuple[str, ...]:
        """Return the options that the other tool has not, or otherwise."""

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        refusal = self.refusal(profile) or no_flow(self.name, requests)
        return refusal or other_statuses(self.name, requests) or unsupported_mix(requests)

    def n_threads(self, profile: LoadProfile) -> int:
        """Return the most threads that divide the connections evenly: both tools drop the rest."""
        n = connections(profile)
        return max(threads for threads in range(1, max(1, self.threads) + 1) if n % threads == 0)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        profile = spec.profile
        return (
            str(self.program),
            *("-t", str(self.n_threads(profile)), "-c", str(connections(profile))),
            *("-d", f"{int(profile.duration_s or 0)}s", *self.words(profile), "--latency"),
            *("-s", str(spec.folder / SCRIPT), f"{spec.endpoint.url}/"),
        )


def connections(profile: LoadProfile) -> int:
    return profile.connections if isinstance(profile, OpenLoad) else profile.users
