# SPDX-License-Identifier: Apache-2.0
"""What the paper says of places: one key for each variant and kind of place, measured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.evidence import Evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import sessions_read
from harness.model.digits import whole_percent
from harness.model.formatting import NOT_COMPARED, NOT_MEASURED, verdict_words
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug
from harness.publish.results import publish_names
from harness.questions.placement.analysis import PlaceRow, place_rows
from harness.store import Store

#: kinds of places that the text speaks of
KINDS = ("pinned", "again", "container", "far")
METRICS = {"throughput": "throughput_per_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}


def all_places(settings: StageParameters, evidence: Evidence | None) -> Evidence | None:
    """Return the evidence with every session of its experiment and profile: other hosts, launchers and seeds."""
    if evidence is None or evidence.bundled:
        return evidence
    found = [
        session
        for session in Store(evidence.root).sessions(evidence.experiment, bundled=False)
        if session.exists and session.header.plan.profile == evidence.profile
    ]
    return Evidence(root=evidence.root, experiment=evidence.experiment, sessions=tuple(found))


def compare_places(settings: StageParameters, evidence: Evidence | None) -> dict[str, tuple[PlaceRow, ...]]:
    """Return word of the metric -> rows, at the last combination of the other factors that was measured.

    ``evidence`` is what :func:`all_places` returned; the first place is that of the notebook's parameters.
    """
    if evidence is None:
        return {}
    base = sessions_read(evidence.root, settings, evidence.experiment)[0].folder.name
    others = {factor: level for factor, level in evidence.cells()[-1].items() if factor != "pinning"}
    trials = evidence.cell(**others)
    return {word: place_rows(trials, metric, base_session=base) for word, metric in METRICS.items()}


def publish_places(
    publisher: Publisher,
    found: Mapping[str, Sequence[PlaceRow]],
    variants: Mapping[str, str],
    *,
    prefix: str = "placement",
) -> Published:
    """Publish ``<prefix>.<metric>.<kind>.{ratio,verdict}.<variant>``; a place that was not measured: absent.

    Also ``<prefix>.margin.<metric>`` and ``<prefix>.places`` in words.
    """
    with publisher.together() as published:
        publish_names(publisher, variants, prefix=prefix)
        for word in METRICS:
            rows = found.get(word, ())
            publisher.text(f"{prefix}.margin.{word}", _margin_words(rows))
            for kind in KINDS:
                for name in variants:
                    row = next((r for r in rows if r.variant == name and r.kind == kind), None)
                    _publish(publisher, f"{prefix}.{word}.{kind}", name, row)
        words = list(dict.fromkeys(row.place for rows in found.values() for row in rows))
        publisher.text(f"{prefix}.places", "; ".join(words) or NOT_MEASURED)
        if words:
            publisher.text(f"{prefix}.measured", "measured")
    return published


def place_cells(found: Mapping[str, Sequence[PlaceRow]]) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and place: the ratio of each metric and what it says."""
    rows: list[Mapping[str, Cell] | None] = []
    by_place = {(word, row.variant, row.place): row for word, some in found.items() for row in some}
    every = {(row.variant, row.place): row for some in found.values() for row in some}
    for (name, place), row in every.items():
        if rows and rows[-1] is not None and rows[-1]["variant"] != row.label:
            rows.append(None)
        cells: dict[str, Cell] = {"variant": row.label, "place": place, "trials": row.n_trials}
        for word in found:
            same = by_place.get((word, name, place))
            said = None if same is None else str(same.verdict).replace("_", " ")
            cells |= {word: same.ratio if same else None, f"{word}_verdict": said}
        rows.append(cells)
    return rows


def _margin_words(rows: Sequence[PlaceRow]) -> str:
    if not rows:
        return NOT_MEASURED
    margins = sorted({row.margin for row in rows if row.margin is not None})
    if not margins:
        return "none, as this machine is too noisy to call anything equivalent"
    words = list(dict.fromkeys(whole_percent(margin) for margin in (margins[0], margins[-1])))
    return " to ".join(words)


def _publish(publisher: Publisher, prefix: str, name: str, row: PlaceRow | None) -> None:
    if row is None:
        publisher.absent(f"{prefix}.ratio.{slug(name)}", "ratio", NOT_MEASURED)
        publisher.text(f"{prefix}.verdict.{slug(name)}", NOT_COMPARED)
        return
    publisher.number(f"{prefix}.ratio.{slug(name)}", row.ratio)
    publisher.text(
        f"{prefix}.verdict.{slug(name)}",
        verdict_words(row.verdict, row.ratio, row.margin),
        inputs=row.ratio.inputs,
    )


__all__ = [
    "KINDS",
    "METRICS",
    "all_places",
    "compare_places",
    "place_cells",
    "publish_places",
]
