# SPDX-License-Identifier: Apache-2.0
"""Go's ``runtime/metrics`` as a service's ``/metrics`` gives them, in the Prometheus text format.

Pauses come as a histogram since the process started: two scrapes, one subtracted from the
other, tell how many pauses of which length fell between, but not when.

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
        return PauseHistogram(
            upper_s=self.upper_s,
            counts=counts,
            sum_s=(self.sum_s or 0.0) - (earlier.sum_s or 0.0) if pair else None,
        )


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
    n_unknown: int = Field(description="lines that could not be read; shown, never fatal")
    unknown_examples: tuple[str, ...] = ()


def parse_runtime_metrics(text: str) -> RuntimeMetrics:
    """Parse one scrape of a Go process; what is not exported is None, never 0."""
    plain: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, int]]] = {}
    unknown: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line.strip())
        try:
            if match is None:
                raise ValueError(line)
            value = float(match["value"])
            if match["labels"] is None:
                if not math.isfinite(value) and (
                    match["name"] in _COUNTED or match["name"].startswith(_HEAP)
                ):
                    raise ValueError(line)  # a count that is not a number
                plain[match["name"]] = value
            elif match["name"].endswith("_bucket"):
                edge = float(dict(_LABEL.findall(match["labels"]))["le"])
                buckets.setdefault(match["name"].removesuffix("_bucket"), []).append((edge, int(value)))
        except (ValueError, KeyError, OverflowError):
            unknown.append(line[:200])
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
        n_unknown=len(unknown),
        unknown_examples=tuple(unknown[:3]),
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
