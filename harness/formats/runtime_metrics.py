# SPDX-License-Identifier: Apache-2.0
"""What runtimes say of themselves: Go's ``runtime/metrics`` as a service's ``/metrics`` gives them, in the Prometheus
text format, and a JVM's memory as ``jcmd PID VM.native_memory summary`` prints it (JDK 17 to 25).

Pauses of Go come as a histogram since the process started: two scrapes, one subtracted from the
other, tell how many pauses of which length fell between, but not when. Of a JVM's memory, reserved is address space;
committed is backed by memory or swap, and may still be untouched.

Source: the Prometheus text exposition format 0.0.4; names as client_golang derives them.
"""

from __future__ import annotations

import math
import re

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen

_SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>(?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (?P<value>\S+)(?: -?\d+)?'
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PAUSES = ("go_sched_pauses_total_gc_seconds", "go_gc_pauses_seconds")
_HEAP = "go_memory_classes_"
_TOTAL = re.compile(r"Total: reserved=([0-9]{1,19})([KMG]?B), committed=([0-9]{1,19})([KMG]?B)")
_CATEGORY = re.compile(
    r"-\s+(?P<name>\S.*?) \(reserved=(?P<reserved>[0-9]{1,19})(?P<ru>[KMG]?B), "
    r"committed=(?P<committed>[0-9]{1,19})(?P<cu>[KMG]?B)"
    r"(?:, readonly=\d+[KMG]?B)?\)"
)
_UNITS = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
_COUNTED = ("go_gc_cycles_total_gc_cycles_total", "go_gc_duration_seconds_count")


class PauseHistogram(Frozen):
    """Pauses since the process started."""

    upper_s: tuple[float, ...] = Field(description="upper edge of each bucket but the last, ascending")
    counts: tuple[int, ...] = Field(description="one more than edges: the last holds all that were longer")
    sum_s: float | None = Field(description="total length; None: not exported")

    @property
    def n(self) -> int:
        """How many pauses there were."""
        return sum(self.counts)

    def since(self, earlier: PauseHistogram) -> PauseHistogram:
        """Return the pauses between two scrapes of one process.

        Raises:
            InputError: the buckets differ, or a count fell: the process was started anew.
        """
        if earlier.upper_s != self.upper_s:
            raise InputError(
                "the two scrapes have different buckets", found=earlier.upper_s, allowed=str(self.upper_s)
            )
        counts = tuple(now - then for now, then in zip(self.counts, earlier.counts, strict=True))
        if min(counts, default=0) < 0:
            raise InputError(
                "pauses became fewer: the process was started anew between the scrapes", found=counts
            )
        pair = self.sum_s is not None and earlier.sum_s is not None
        sum_s = (self.sum_s or 0.0) - (earlier.sum_s or 0.0) if pair else None
        return PauseHistogram(upper_s=self.upper_s, counts=counts, sum_s=sum_s)


class LastCollection(Frozen):
    """The collection that had ended last when the scrape was made: its number, and when, to the microsecond."""

    number: int
    ended_epoch_s: float


class RuntimeMetrics(Frozen):
    """One scrape."""

    n_collections: int | None
    pauses: PauseHistogram | None
    last_collection: LastCollection | None = Field(
        description="both from one reading of the runtime's statistics; None: none yet, or not exported"
    )
    memory_classes_bytes: dict[str, int] = Field(description="heap_objects, heap_free, ..., total")
    gauges: dict[str, float] = Field(description="every sample without labels, by its name")


def parse_runtime_metrics(text: str) -> RuntimeMetrics:
    """Parse one scrape of a Go process; what is not exported is None, never 0."""
    plain: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, int]]] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line.strip())
        if match is None:
            continue
        try:
            value = float(match["value"])
            if match["labels"] is None:
                is_count = match["name"] in _COUNTED or match["name"].startswith(_HEAP)
                if math.isfinite(value) or not is_count:
                    plain[match["name"]] = value
            elif match["name"].endswith("_bucket"):
                edge = float(dict(_LABEL.findall(match["labels"]))["le"])
                buckets.setdefault(match["name"].removesuffix("_bucket"), []).append((edge, int(value)))
        except (ValueError, KeyError, OverflowError):
            continue  # a line that cannot be read costs itself
    cycles = plain.get("go_gc_cycles_total_gc_cycles_total", plain.get("go_gc_duration_seconds_count"))
    name = next((name for name in _PAUSES if name in buckets), None)
    return RuntimeMetrics(
        n_collections=None if cycles is None else int(cycles),
        pauses=None if name is None else _histogram(buckets[name], plain.get(name + "_sum")),
        last_collection=_last_collection(plain),
        memory_classes_bytes={
            key.removeprefix(_HEAP).removesuffix("_bytes"): int(value)
            for key, value in plain.items()
            if key.startswith(_HEAP)
        },
        gauges={key: value for key, value in plain.items() if math.isfinite(value)},
    )


def _last_collection(plain: dict[str, float]) -> LastCollection | None:
    number, ended = plain.get("go_gc_duration_seconds_count"), plain.get("go_memstats_last_gc_time_seconds")
    return LastCollection(number=int(number), ended_epoch_s=ended) if number and ended else None


def _histogram(cumulative: list[tuple[float, int]], total: float | None) -> PauseHistogram:
    ordered = sorted(cumulative)
    counts = [count - before for (_, count), (_, before) in zip(ordered, [(0.0, 0), *ordered], strict=False)]
    edges = tuple(edge for edge, _ in ordered if math.isfinite(edge))
    if len(edges) == len(ordered):
        counts.append(0)  # no +Inf bucket: nothing is known to be longer
    return PauseHistogram(upper_s=edges, counts=tuple(counts), sum_s=total)


class Committed(Frozen):
    """One category."""

    reserved_bytes: int
    committed_bytes: int


class NativeMemory(Frozen):
    """A summary, with the categories in the order they were printed."""

    total: Committed
    categories: dict[str, Committed]


def parse_nmt(text: str) -> NativeMemory:
    """Parse one summary.

    Raises:
        InputError: there is no total: tracking was off, or this is something else.
    """
    total: Committed | None = None
    categories: dict[str, Committed] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if match := _TOTAL.fullmatch(stripped):
            total = Committed(
                reserved_bytes=_bytes(match[1], match[2]), committed_bytes=_bytes(match[3], match[4])
            )
        elif match := _CATEGORY.fullmatch(stripped):
            categories[match["name"]] = Committed(
                reserved_bytes=_bytes(match["reserved"], match["ru"]),
                committed_bytes=_bytes(match["committed"], match["cu"]),
            )
    if total is None:
        raise InputError(
            "no total of native memory", found=next((line for line in text.splitlines() if line.strip()), "")[:80],
            allowed="jcmd PID VM.native_memory summary of a JVM started with -XX:NativeMemoryTracking=summary",
        )  # fmt: skip
    return NativeMemory(total=total, categories=categories)


def _bytes(number: str, unit: str) -> int:
    return int(number) * _UNITS[unit]
