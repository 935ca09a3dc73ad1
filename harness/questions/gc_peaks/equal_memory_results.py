# SPDX-License-Identifier: Apache-2.0
"""What the paper says of memory that was measured: least heaps, what variants were given, and pairs at equal memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.attribution.memory_labels import memory_fit
from harness.analysis.attribution.rows import AttributionRow
from harness.evidence import Evidence
from harness.model import MemoryFit
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug
from harness.questions.gc_peaks.equal_memory import MemoryPair

_COLLECTORS = {"serial": "Serial", "parallel": "Parallel", "g1": "G1", "z": "ZGC", "shenandoah": "Shenandoah"}
_GENERATORS = {"jmeter": "JMeter", "locust": "Locust"}


def publish_memory(
    publisher: Publisher,
    evidence: Evidence | None,
    rows: Sequence[AttributionRow],
    variants: Mapping[str, str],
    *,
    prefix: str = "gc",
) -> Published:
    """Publish what bounded every variant of the definition, ``<prefix>.set.<variant>``, the least heaps,
    ``<prefix>.least``, and how programs were asked in them, ``<prefix>.least_asked``.
    """
    words = {row.variant: row.memory for row in rows}
    fit = None if evidence is None else memory_fit(evidence.header)
    least, asked = NOT_MEASURED, NOT_MEASURED
    if fit is not None and fit.least:
        least, asked = least_words(fit), asked_words(fit)
    with publisher.together() as published:
        for name in variants:
            publisher.text(f"{prefix}.set.{slug(name)}", words.get(name) or NOT_MEASURED)
        publisher.text(f"{prefix}.least", least)
        publisher.text(f"{prefix}.least_asked", asked)
    return published


def least_words(fit: MemoryFit) -> str:
    """Return ``8 MiB with Serial, 10 MiB with G1``; a search whose outcomes contradict each other says so."""
    return ", ".join(
        f"{one.least_mib} MiB with {_COLLECTORS.get(one.collector or '', one.collector or 'the default')}"
        + ("" if one.steady else " (at least: repeated attempts disagreed)")
        for one in fit.least
    )


def asked_words(fit: MemoryFit) -> str:
    """Return how programs were asked while their least heaps were searched: from within, and who had the last word."""
    within = "from within the harness, in bursts and at the rate of the load"
    if fit.tried is None:
        return f"{within}, and by no load generator"
    by = _GENERATORS.get(fit.tried.generator, fit.tried.generator)
    return f"{within}, and then by {by} in short trials, of which two in a row had to hold"


def publish_memory_pairs(
    publisher: Publisher, pairs: Sequence[MemoryPair], defined: Mapping[str, str], *, prefix: str = "gc.equal"
) -> Published:
    """Publish of every pair of the definition, by the Go variant's name: the ratio of memory and of p99, Go over
    Java (``<prefix>.{memory,p99}.{ratio,verdict}.<variant>``), and whether memory was equal (``<prefix>.words...``).
    """
    by_name = {pair.go: pair for pair in pairs}
    with publisher.together():
        for name in defined:
            pair = by_name.get(name)
            publisher.comparison(f"{prefix}.memory", name, None if pair is None else pair.memory)
            publisher.comparison(f"{prefix}.p99", name, None if pair is None else pair.p99)
            publisher.text(f"{prefix}.words.{slug(name)}", NOT_MEASURED if pair is None else pair.words)
        if pairs:
            publisher.text(f"{prefix}.measured", "measured")
    return Published(
        "\n".join(f"{pair.go_label} beside {pair.java_label}: memory {pair.words}" for pair in pairs)
        or NOT_MEASURED
    )


def pair_cells(pairs: Sequence[MemoryPair]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: both variants, what each held, both ratios and what they say."""
    return [
        {
            "go": pair.go_label,
            "java": pair.java_label,
            "java_rss": pair.java_rss_bytes,
            "go_rss": pair.go_rss_bytes,
            "memory": pair.memory.ratio,
            "equal": pair.words,
            "p99": pair.p99.ratio,
            "verdict": str(pair.p99.verdict).replace("_", " "),
        }
        for pair in pairs
    ]
