# SPDX-License-Identifier: Apache-2.0
"""Levels of factors as a reader says them: names in experiments are keys, and figures have words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from harness.model.digits import fixed

_SAID: Mapping[tuple[str, str], str] = {
    ("logging", "off"): "no log line",
    ("logging", "on"): "a log line",
    ("warm-up", "none"): "no warm-up",
    ("loop", "open"): "open loop",
    ("loop", "closed"): "closed loop",
    ("connections", "per-statement"): "a connection a statement",
    ("connections", "per-statement-md5"): "a connection a statement, MD5",
    ("connections", "pool-20-md5"): "pool of 20, MD5",
}
_COUNTED: Mapping[str, tuple[re.Pattern[str], Callable[[int], str]]] = {
    "warm-up": (re.compile(r"calls-(\d+)"), lambda n: f"{fixed(n, 0)} warm-up calls"),
    "connections": (re.compile(r"pool-(\d+)"), lambda n: f"pool of {n}"),
    "users": (re.compile(r"share-(\d+)"), lambda n: f"{n} % of capacity"),
    "load": (re.compile(r"share-(\d+)"), lambda n: f"{n} % of capacity"),
}


def level_words(factor: str, level: object) -> str:
    """Return a level in words: ``1,000 warm-up calls`` for ``warm_up``, ``calls-1000``; else factor and level."""
    name, said = factor.replace("_", "-"), str(level)
    if (name, said) in _SAID:
        return _SAID[name, said]
    pattern, words = _COUNTED.get(name, (None, None))
    found = pattern.fullmatch(said) if pattern is not None else None
    return words(int(found[1])) if found is not None and words is not None else f"{name} {said}"


def cell_words(levels: Mapping[str, object]) -> str:
    """Return the levels of a cell in words, with commas; nothing where there is no factor."""
    return ", ".join(level_words(factor, level) for factor, level in levels.items())


__all__ = ["cell_words", "level_words"]
