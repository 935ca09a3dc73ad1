# SPDX-License-Identifier: Apache-2.0
"""Limits on Go programs at what Java variants were seen to hold.

A limit bounds what Go's runtime manages, and resident memory is more (the program's text), or less (what was never
touched). So Go is tried with the wanted memory as its limit, and again with the limit corrected by what it came to; of
the two the one that came closer is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.memory_sizing.attempts import Attempts
from harness.model import HeldMemory, LimitProbe, MatchedLimit

MIB = 2**20
#: As close as one correction of a limit need come.
CLOSE_ENOUGH = 0.02
LEAST_LIMIT_MIB = 4


def matched_limit(name: str, held: HeldMemory, attempts: Attempts) -> MatchedLimit:
    """Return the limit at which the variant comes closest to what another one holds.

    Raises:
        MemoryFitFailed: it does not do its work.
    """
    probes: list[LimitProbe] = []
    for limit_mib in corrected(held.rss_bytes, probes):
        attempts.order.say(f"limit of {name} at what {held.variant} holds: {limit_mib} MiB")
        rss_bytes = attempts.held_bytes(name, {"gomemlimit": f"{limit_mib}MiB"})
        probes.append(LimitProbe(limit_mib=limit_mib, rss_bytes=rss_bytes))
    best = min(probes, key=lambda probe: abs(probe.rss_bytes - held.rss_bytes))
    return MatchedLimit(
        variant=name,
        memory_of=held.variant,
        wanted_bytes=held.rss_bytes,
        limit_mib=best.limit_mib,
        probes=tuple(probes),
    )


def corrected(wanted_bytes: int, probes: list[LimitProbe]) -> Iterator[int]:
    """Yield the limits to be tried, in MiB: what is wanted, then that corrected by what came of it.

    ``probes`` has what came of each limit before the next one is asked for.
    """
    first_mib = max(LEAST_LIMIT_MIB, round(wanted_bytes / MIB))
    yield first_mib
    off_bytes = wanted_bytes - probes[0].rss_bytes
    second_mib = max(LEAST_LIMIT_MIB, first_mib + round(off_bytes / MIB))
    if abs(off_bytes) > CLOSE_ENOUGH * wanted_bytes and second_mib != first_mib:
        yield second_mib
