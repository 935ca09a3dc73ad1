# SPDX-License-Identifier: Apache-2.0
"""What the paper says of its own trustworthiness: coverage, equal arms, drift, arithmetic, generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.audit.drift_and_order import Drift, EqualArms, drift, equal_arms
from harness.analysis.stats.comparisons import Comparison, compare
from harness.errors import InputError
from harness.evidence import Evidence
from harness.formats.wrk_histogram import UNDONE
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.verify.simulated.result import VerifyResult
from harness.verify.simulated.stall_curves import PrecisionRecall

GENERATOR = "factor_generator"
#: The generators that others are held against: under users, and at a rate.
BASES = ("wrk", "k6-open")
_AA = {"blocked": "share", "ordered": "ratio", "spread": "relative"}


def publish_coverage(publisher: Publisher, found: VerifyResult) -> Published:
    """Publish the lowest and highest coverage over all laws, that of the control, and how many were simulated."""
    held = [cell.value for cell in found.cells if not cell.control]
    control = [cell.value for cell in found.cells if cell.control]
    what = "coverage of nominal 95 % intervals over simulated experiments"
    said = [
        publisher.value("validity.coverage.low", min(held), "share", f"lowest {what}"),
        publisher.value("validity.coverage.high", max(held), "share", f"highest {what}"),
        publisher.value(
            "validity.coverage.control", max(control), "share", f"of intervals over requests: {what}"
        ),
        publisher.value("validity.coverage.sims", found.sims, "1", "simulated experiments a cell"),
    ]
    return joined(said)


def publish_precision_recall(publisher: Publisher, curves: Sequence[PrecisionRecall]) -> Published:
    """Publish the first finder's precision and recall as it is used, and every finder's F1: of the first as it is
    used, of the others at the threshold that suits them best."""
    ours, *others = curves
    point, what = ours.in_use, "of simulated stalls on loads that the detector was not tuned on"
    said = [
        publisher.value("validity.stalls.precision", point.precision, "share", f"precision {what}"),
        publisher.value("validity.stalls.recall", point.recall, "share", f"recall {what}"),
        publisher.value("validity.stalls.pauses", ours.n_pauses, "1", "simulated pauses that could be seen"),
        publisher.value(f"validity.stalls.f1.{slug(ours.finder)}", point.f1, "1", f"F1 {what}"),
    ]
    said += [
        publisher.value(f"validity.stalls.f1.{slug(one.finder)}", one.best_f1, "1", f"best F1 {what}")
        for one in others
    ]
    return joined(said)


def publish_equal_arms(publisher: Publisher, evidence: Evidence | None, metric: str) -> Published:
    """Publish what equal trials say of a metric: ``validity.aa.{blocked,ordered,spread}.<metric>``."""
    found: EqualArms | None = None
    why = NOT_MEASURED
    if evidence is not None:
        try:
            found = equal_arms(evidence.trials, metric)
        except InputError as error:
            why = str(error)
    said = []
    for part, unit in _AA.items():
        key = f"validity.aa.{part}.{slug(metric)}"
        said.append(
            publisher.absent(key, unit, why) if found is None else publisher.number(key, getattr(found, part))
        )
    if found is not None:
        publisher.text("validity.aa.measured", "measured")
    return joined(said)


def drifts(measured: Mapping[str, Evidence | None], metric: str) -> dict[str, Estimate]:
    """Return experiment -> the factor by which the metric moved over its session, of those measured."""
    found: dict[str, Drift] = {}
    for name, evidence in measured.items():
        if evidence is not None and evidence.trials[metric].notna().any():
            found[name] = drift(evidence.trials, metric)
    return {name: one.over_session for name, one in found.items()}


def publish_drifts(publisher: Publisher, measured: Mapping[str, Evidence | None], metric: str) -> Published:
    """Publish ``validity.drift.<experiment>``, absent for those that were not measured."""
    found = drifts(measured, metric)
    said = []
    for name in measured:
        key = f"validity.drift.{slug(name)}"
        said.append(
            publisher.number(key, found[name])
            if name in found
            else publisher.absent(key, "ratio", NOT_MEASURED)
        )
    return joined(said)


def compare_generators(
    evidence: Evidence | None, metric: str, *, bases: Sequence[str] = BASES
) -> tuple[Comparison, ...]:
    """Compare the load generators on one service, block by block: each against that of ``bases`` which offers the
    same kind of load. Where a base was not measured its kind is left out; so is a latency of wrk's that counts
    requests which were never sent."""
    if evidence is None:
        return ()
    mine = evidence.trials[~evidence.trials["duplicate"].astype(bool)]
    if metric.startswith("latency_"):
        mine = mine[(mine["generator"] != "wrk") | (mine["latency_method"] == UNDONE)]
    found: list[Comparison] = []
    for base in bases:
        kinds = set(mine.loc[mine[GENERATOR] == base, "load_model"])
        same = mine[mine["load_model"].isin(kinds)]
        if not same.empty and same[metric].notna().any():
            found += compare(same.assign(variant=same[GENERATOR]), metric, reference=base)
    return tuple(found)


#: The generators beside the bases that ``headroom`` measures.
CALIBRATED = (
    *("jmeter", "locust", "k6", "oha"),
    *("jmeter-open", "locust-open", "oha-open", "vegeta-open", "wrk2-open"),
)


def publish_generators(publisher: Publisher, found: Mapping[str, tuple[Comparison, ...]]) -> Published:
    """Publish ``validity.generators.<metric>.ratio.<generator>`` and the verdict, for every generator of the
    experiment ``headroom``: absent where it was not measured."""
    said = []
    with publisher.together():
        for metric, comparisons in found.items():
            by_name = {comparison.variant: comparison for comparison in comparisons}
            said += [
                publisher.comparison(f"validity.generators.{slug(metric)}", name, by_name.get(name))
                for name in dict.fromkeys((*CALIBRATED, *sorted(by_name)))
            ]
            if comparisons:
                publisher.text("validity.generators.measured", "measured")
    return joined(said)
