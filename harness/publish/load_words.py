# SPDX-License-Identifier: Apache-2.0
"""Loads and runtime settings in words, for tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model import LOAD_TOOLS, ClosedLoad, Load, OpenLoad, RuntimeSettings

#: How the tools and collectors write their own names.
TOOL_NAMES: dict[str, str] = {
    **{tool.name: tool.title for tool in LOAD_TOOLS},
    "go": "Go",
    "jdk": "JDK",
    "maven": "Maven",
    "postgres": "PostgreSQL",
    "native-image": "native-image",
    "python": "Python",
}
COLLECTORS = {"serial": "Serial", "parallel": "Parallel", "g1": "G1", "z": "ZGC", "shenandoah": "Shenandoah"}


def load_in_words(load: Load | None, *, step: str = "pass") -> str:
    """Return what a load offers, without its generator's name; ``step``: what a user makes ``loops`` times.

    >>> load_in_words(Load(generator="jmeter", profile=ClosedLoad(users=100, loops=100, ramp_up_s=1)))
    'closed: 100 users, 100 passes each, ramp 1 s'
    """
    if load is None:
        return "none: start and idle"
    words = _closed(load.profile, step) if isinstance(load.profile, ClosedLoad) else _open(load.profile)
    if load.profile.renew_s is not None:
        words += f", each connection renewed after {number(load.profile.renew_s)} s"
    return words + (f", {load.processes} processes" if load.processes > 1 else "")


def java_in_words(runtimes: Iterable[RuntimeSettings]) -> list[str]:
    """Return collectors and heap limits: ``G1, 39m and 78m``; each collector once, with the heaps it had."""
    heaps: dict[str, dict[str, None]] = {}
    for runtime in runtimes:
        collector = "collector by default" if runtime.gc is None else COLLECTORS[runtime.gc]
        heap = "heap by default" if runtime.heap_max is None else runtime.heap_max
        heaps.setdefault(collector, {})[heap] = None
    return [f"{collector}, {' and '.join(found)}" for collector, found in heaps.items()]


def go_in_words(runtimes: Iterable[RuntimeSettings]) -> list[str]:
    """Return Go's memory settings: ``default GOGC``, ``GOGC off, GOMEMLIMIT 129MiB and 152MiB``."""
    limits: dict[str, dict[str, None]] = {}
    for runtime in runtimes:
        growth = "default GOGC" if runtime.gogc is None else f"GOGC {runtime.gogc}"
        found = limits.setdefault(growth, {})
        if runtime.gomemlimit is not None:
            found[runtime.gomemlimit] = None
    return [
        growth + (f", GOMEMLIMIT {' and '.join(found)}" if found else "") for growth, found in limits.items()
    ]


def number(value: float) -> str:
    """Return a setting as it was set: ``1``, ``478.5``, ``10,000``."""
    return f"{value:,.10g}"


def _closed(profile: ClosedLoad, step: str) -> str:
    users = f"closed: {number(profile.users)} {_plural('user', profile.users)}"
    if profile.stages:
        steps = ", ".join(f"{number(s.users)} after {number(s.duration_s)} s" for s in profile.stages)
        parts = [users, f"stages to {steps}"]
    elif profile.loops is not None:
        parts = [users, f"{number(profile.loops)} {_plural(step, profile.loops)} each"]
    else:
        parts = [users, f"{number(profile.duration_s or 0.0)} s"]
    parts += [f"ramp {number(profile.ramp_up_s)} s"] if profile.ramp_up_s else []
    parts += [f"pause {number(profile.think_time_s)} s"] if profile.think_time_s else []
    return ", ".join(parts)


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}es" if word.endswith("s") else f"{word}s"


def _open(profile: OpenLoad) -> str:
    spacing = {"poisson": "Poisson", "constant": "constant"}[profile.arrivals]
    length = f"{number(profile.duration_s)} s"
    if profile.parts > 1:
        length = f"{profile.parts} x {length}, {number(profile.pause_s)} s apart"
    return f"open: {number(profile.rate_per_s)}/s ({spacing}), {length}, {profile.connections} connections"
