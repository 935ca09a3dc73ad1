# SPDX-License-Identifier: Apache-2.0
"""What runtimes and services say of themselves: metrics in the Prometheus text format, and CPUs.

Go's ``runtime/metrics`` stand there under the names that client_golang derives. Pauses are a sum since the process
started: of two scrapes the difference tells how long the pauses between them were together, but not when. CPUs that a
runtime goes by: ``/sched/gomaxprocs`` of Go 1.21 and newer, and the lines that HotSpot writes when it starts (the
collector under ``-Xlog:gc``, the number under ``-Xlog:gc*`` and from JDK 17 on).

A control group that used up its quota stands still until the period (100 ms as a rule) ends, which looks just like a
collection. Its counters say that it happened between two readings and for how long, not when; so a span is the whole
time between them.

Source: the Prometheus text exposition format 0.0.4.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from pydantic import Field

from harness.errors import InputError
from harness.formats.jvm_log import USING, parse_line
from harness.formats.log_lines import LONGEST_LINE
from harness.model import Frozen, RuntimeCpus

_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*) (?P<value>\S+)(?: -?\d+)?")
_PAUSES = ("go_sched_pauses_total_gc_seconds_sum", "go_gc_pauses_seconds_sum")
_HEAP = "go_memory_classes_"


class LastCollection(Frozen):
    """The collection that had ended last when the scrape was made: its number, and when, to the microsecond."""

    number: int
    ended_epoch_s: float


class RuntimeMetrics(Frozen):
    """One scrape."""

    n_collections: int | None
    paused_s: float | None = Field(description="all pauses since the process started; None: not exported")
    last_collection: LastCollection | None = Field(
        description="both from one reading of the runtime's statistics; None: none yet, or not exported"
    )
    memory_classes_bytes: dict[str, int] = Field(description="heap_objects, heap_free, ..., total")
    gauges: dict[str, float] = Field(description="every sample without labels, by its name")


def parse_runtime_metrics(text: str) -> RuntimeMetrics:
    """Parse one scrape of a Go process; what is not exported is None, never 0."""
    plain: dict[str, float] = {}
    for line in text.splitlines():
        match = _SAMPLE.fullmatch(line.strip())
        try:
            value = math.nan if match is None else float(match["value"])
        except ValueError:
            continue  # a line that cannot be read costs itself
        if match is not None and math.isfinite(value):
            plain[match["name"]] = value
    cycles = plain.get("go_gc_cycles_total_gc_cycles_total", plain.get("go_gc_duration_seconds_count"))
    number, ended = plain.get("go_gc_duration_seconds_count"), plain.get("go_memstats_last_gc_time_seconds")
    return RuntimeMetrics(
        n_collections=None if cycles is None else int(cycles),
        paused_s=next((plain[name] for name in _PAUSES if name in plain), None),
        last_collection=LastCollection(number=int(number), ended_epoch_s=ended) if number and ended else None,
        memory_classes_bytes={
            key.removeprefix(_HEAP).removesuffix("_bytes"): int(value)
            for key, value in plain.items()
            if key.startswith(_HEAP)
        },
        gauges=plain,
    )


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
        if line is not None and line.tags == "gc,init" and cpus is None:
            cpus = int(match[1]) if (match := _CPUS.fullmatch(line.text)) else None
        elif line is not None and line.tags == "gc" and collector is None:
            collector = match[1] if (match := USING.match(line.text)) else None
        if cpus is not None and collector is not None:
            break
    if cpus is None and collector is None:
        return RuntimeCpus(why_not="the GC log does not say")
    why_not = "the GC log does not say how many" if cpus is None else None
    return RuntimeCpus(cpus=cpus, collector=collector, said_in="GC log", why_not=why_not)


def throttle_spans(readings: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Return the times between neighbouring readings in which the group was throttled.

    ``readings``: (time in seconds, how often the group was throttled until then) in time order. Raises InputError:
    times or counters go backwards: these are readings of two groups.
    """
    spans = []
    for (earlier_s, earlier), (later_s, later) in itertools.pairwise(readings):
        if later_s < earlier_s or later < earlier:
            raise InputError("readings of one group, in time order, never fall", found=(earlier_s, later_s))
        if later > earlier:
            spans.append((earlier_s, later_s))
    return spans
