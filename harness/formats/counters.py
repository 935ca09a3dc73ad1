# SPDX-License-Identifier: Apache-2.0
"""What others count of a service: requests and CPUs as it says itself, and throttling as its control group does.

Requests: ``http_requests_total`` in the Prometheus text format. CPUs that a runtime goes by: ``/sched/gomaxprocs`` of
Go's ``runtime/metrics`` as client_golang names it (Go 1.21 and newer), and the lines that HotSpot writes when it
starts: the collector under ``-Xlog:gc``, the number under ``-Xlog:gc*`` and from JDK 17 on.

A control group that used up its quota stands still until the period (100 ms as a rule) ends, which looks just like a
collection. Its counters say that it happened between two readings and for how long, not when; so a span is the whole
time between them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from harness.errors import InputError
from harness.formats.jvm_log import USING, parse_line
from harness.formats.log_lines import LONGEST_LINE
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.model import RuntimeCpus

_COUNTED = re.compile(r"^http_requests_total(?P<labels>\{.*\})? (?P<value>\S+)(?: -?\d+)?\s*$", re.MULTILINE)
#: A client library leaves a counter with labels out until it has counted; the histogram beside it is there at once.
_NONE_YET = re.compile(
    r"^# TYPE http_request(?:s_total counter|_duration_seconds histogram)\s*$", re.MULTILINE
)
_OF_METRICS = re.compile(r'\bpath="/metrics"')
GOMAXPROCS = "go_sched_gomaxprocs_threads"
_CPUS = re.compile(r"CPUs: \d+ total, (\d+) available")


def answered(text: str) -> int | None:
    """Return the sum of ``http_requests_total`` over all labels, requests for ``/metrics`` left out.

    0: the service has such metrics, and has counted nothing yet. ``None``: it has none, or one of its numbers cannot
    be read.
    """
    results = [
        item["value"] for item in _COUNTED.finditer(text) if not _OF_METRICS.search(item["labels"] or "")
    ]
    if not results and not _COUNTED.search(text):
        return 0 if _NONE_YET.search(text) else None
    try:
        return sum(round(float(value)) for value in results)
    except (ValueError, OverflowError):
        return None


def go_cpus(metrics: str) -> RuntimeCpus:
    """Return what one answer to ``GET /metrics`` of a Go service says."""
    result = parse_runtime_metrics(metrics).gauges.get(GOMAXPROCS)
    if result is None or result < 1:
        return RuntimeCpus(why_not=f"/metrics has no {GOMAXPROCS}")
    return RuntimeCpus(cpus=int(result), said_in=f"/metrics: {GOMAXPROCS}")


def jvm_cpus(log: str) -> RuntimeCpus:
    """Return what the beginning of a GC log says; what one of its lines does not tell is ``None``."""
    cpus: int | None = None
    collector: str | None = None
    for text in log.splitlines():
        line = parse_line(text[:LONGEST_LINE])
        if line is None:
            continue
        if line.tags == "gc,init" and cpus is None and (sentence := _CPUS.fullmatch(line.text)):
            cpus = int(sentence[1])
        elif line.tags == "gc" and collector is None and (sentence := USING.match(line.text)):
            collector = sentence[1]
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


def throttle_spans(readings: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Return the times between neighbouring readings in which the group was throttled.

    Args:
        readings: (time in seconds, how often the group was throttled until then) in time order.

    Raises:
        InputError: times or counters go backwards: these are readings of two groups.
    """
    spans = []
    for (earlier_s, earlier), (later_s, later) in itertools.pairwise(readings):
        if later_s < earlier_s or later < earlier:
            raise InputError("readings of one group, in time order, never fall", found=(earlier_s, later_s))
        if later > earlier:
            spans.append((earlier_s, later_s))
    return spans
