# SPDX-License-Identifier: Apache-2.0
"""How many CPUs a runtime goes by, as it says itself: Go in its metrics, a JVM at the start of its GC log.

Sources: ``/sched/gomaxprocs:threads`` of Go's ``runtime/metrics`` as client_golang names it (Go 1.21 and newer), and
the lines that HotSpot writes when it starts: the collector under ``-Xlog:gc``, the number under ``-Xlog:gc*`` and from
JDK 17 on.
"""

from __future__ import annotations

import re

from harness.formats.log_lines import LONGEST_LINE
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.formats.unified_log import USING, parse_line
from harness.model import RuntimeCpus

GOMAXPROCS = "go_sched_gomaxprocs_threads"
_CPUS = re.compile(r"CPUs: \d+ total, (\d+) available")


def go_cpus(metrics: str) -> RuntimeCpus:
    """Return what one answer to ``GET /metrics`` of a Go service says."""
    found = parse_runtime_metrics(metrics).gauges.get(GOMAXPROCS)
    if found is None or found < 1:
        return RuntimeCpus(why_not=f"/metrics has no {GOMAXPROCS}")
    return RuntimeCpus(cpus=int(found), said_in=f"/metrics: {GOMAXPROCS}")


def jvm_cpus(log: str) -> RuntimeCpus:
    """Return what the beginning of a GC log says; what one of its lines does not tell is ``None``."""
    cpus: int | None = None
    collector: str | None = None
    for text in log.splitlines():
        line = parse_line(text[:LONGEST_LINE])
        if line is None:
            continue
        if line.tags == "gc,init" and cpus is None and (said := _CPUS.fullmatch(line.text)):
            cpus = int(said[1])
        elif line.tags == "gc" and collector is None and (said := USING.match(line.text)):
            collector = said[1]
        if cpus is not None and collector is not None:
            break
    if cpus is None and collector is None:
        return RuntimeCpus(why_not="the GC log does not say")
    return RuntimeCpus(
        cpus=cpus,
        collector=collector,
        said_in="GC log",
        why_not="the GC log does not say how many" if cpus is None else None,
    )


__all__ = ["GOMAXPROCS", "go_cpus", "jvm_cpus"]
