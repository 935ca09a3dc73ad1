# SPDX-License-Identifier: Apache-2.0
"""Least heaps and limits in words: what they came to, and how programs were asked."""

from __future__ import annotations

from collections.abc import Callable

from harness.model import LeastHeap, MemoryFit
from harness.publish.load_words import COLLECTORS, TOOL_NAMES


def collector_of(found: LeastHeap) -> str:
    """Return the collector's name as it is printed."""
    return COLLECTORS.get(found.collector or "", found.collector or "the default")


def least_words(fit: MemoryFit, name_of: Callable[[LeastHeap], str] = collector_of) -> str:
    """Return ``8 MiB with Serial; 10 MiB with G1, ZGC (at least: repeated attempts disagreed)``, by size."""
    groups: dict[tuple[int, bool], list[str]] = {}
    for one in sorted(fit.least, key=lambda one: (one.least_mib, not one.steady)):
        groups.setdefault((one.least_mib, one.steady), []).append(name_of(one))
    doubted = " (at least: repeated attempts disagreed)"
    said = {
        of: ", ".join(f"({name})" if "," in name else name for name in dict.fromkeys(names))
        for of, names in groups.items()
    }
    return "; ".join(
        f"{mib} MiB with {names}{'' if steady else doubted}" for (mib, steady), names in said.items()
    )


def asked_words(fit: MemoryFit) -> str:
    """Return how programs were asked while their least heaps were searched: from within, and by which generator."""
    within = "from within the harness, in bursts and at the rate of the load"
    if fit.tried is None:
        return f"{within}, and by no load generator"
    by = TOOL_NAMES.get(fit.tried.generator, fit.tried.generator)
    return f"{within}, and then by {by} in short trials, of which two in a row had to hold"
