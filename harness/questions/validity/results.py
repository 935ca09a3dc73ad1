# SPDX-License-Identifier: Apache-2.0
"""What the paper says of its own trustworthiness: coverage, equal arms, drift, sample size, arithmetic, generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used

from harness.analysis.audit.adequacy import EqualCell
from harness.analysis.audit.drift_and_order import drift, equal_arms
from harness.analysis.audit.littles_law import LAW
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.effective_sample import Worth
from harness.analysis.stats.means import mean_within
from harness.analysis.stats.pairing import inputs_of
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, as_is, for_each
from harness.questions.validity.adequacy import Enough, Measured
from harness.questions.validity.audit import NONE_FAILED, PARTS, Audit
from harness.questions.validity.generators import CALIBRATED
from harness.verify.simulated.result import VerifyResult
from harness.verify.simulated.stall_curves import PrecisionRecall

_LEVEL = 0.95
_AA = {"blocked": "share", "ordered": "ratio", "spread": "relative"}
#: part of the key, field of ``BlocksNeeded``, unit, what it is
_BLOCKS = (
    ("made", "n_blocks", "1", "blocks of the comparison that has the fewest"),
    ("half_width", "half_width", "relative", "half-width of a ratio's interval, median"),
    ("needed", "needed", "1", "blocks for +-2 %, median comparison"),
    ("unseen", "unseen_share", "share", "a mode rarer than this may be unseen"),
)
#: part of the key -> (field of ``Worth``, unit)
_WORTH = {
    "requests": ("n_requests", "1"),
    "effective": ("effective", "1"),
    "independent": ("as_if_independent", "relative"),
    "batches": ("batch_means", "relative"),
    "bootstrap": ("block_bootstrap", "relative"),
}


def coverage_results(found: VerifyResult) -> Tree:
    """Return the lowest and highest coverage over all laws, that of the control, and how many were simulated."""
    held = [cell.value for cell in found.cells if not cell.control]
    control = [cell.value for cell in found.cells if cell.control]
    what = "coverage of nominal 95 % intervals over simulated experiments"
    return {
        "low": as_is(min(held), "share", f"lowest {what}"),
        "high": as_is(max(held), "share", f"highest {what}"),
        "control": as_is(max(control), "share", f"of intervals over requests: {what}"),
        "sims": as_is(found.sims, "1", "simulated experiments a cell"),
    }


def stall_results(curves: Sequence[PrecisionRecall]) -> Tree:
    """Return precision and recall of the first finder as it is used, and the F1 of every finder: of the others at
    the threshold that suits them best."""
    ours, *others = curves
    what = "of simulated stalls on loads that the detector was not tuned on"
    return {
        "precision": as_is(ours.in_use.precision, "share", f"precision {what}"),
        "recall": as_is(ours.in_use.recall, "share", f"recall {what}"),
        "pauses": as_is(ours.n_pauses, "1", "simulated pauses that could be seen"),
        "f1": {
            ours.finder: as_is(ours.in_use.f1, "1", f"F1 {what}"),
            **{one.finder: as_is(one.best_f1, "1", f"best F1 {what}") for one in others},
        },
    }


def equal_arms_results(evidence: Evidence | None, metrics: Sequence[str]) -> Tree:
    """Return what equal trials say of each metric: ``{blocked,ordered,spread}.<metric>``."""
    found = {metric: _equal_arms(evidence, metric) for metric in metrics}
    return {
        part: {metric: arms.get(part, Absent(unit=unit, why=why)) for metric, (arms, why) in found.items()}
        for part, unit in _AA.items()
    }


def drifts(measured: Measured, metric: str) -> dict[str, Estimate]:
    """Return experiment -> the factor by which a metric moved over its session, of those measured."""
    return {
        name: drift(evidence.trials, metric).over_session
        for name, evidence in measured.items()
        if evidence is not None and evidence.trials[metric].notna().any()
    }


def drift_results(measured: Measured, found: Mapping[str, Estimate]) -> Tree:
    """Return the factor of each experiment, measured or not."""
    return for_each(measured, found, Absent())


def adequacy_results(found: Enough) -> Tree:
    """Return ``blocks.<part>.<experiment>``, ``equal``: how often the reference differed from its own duplicate,
    ``worth.<part>.<experiment>``, medians of trials, and ``pooled``: by what the cluster bootstrap's intervals are
    narrower, and of how many variants p99.9 is refused."""
    return {
        "blocks": {
            part: {name: _blocks(found, name, field, unit, what) for name in found.measured}
            for part, field, unit, what in _BLOCKS
        },
        "equal": _equal(
            [cell for ones in found.equal.values() for cell in ones if cell.found.passed is not None]
        ),
        "worth": {
            part: {
                name: _worth(found.worth.get(name, ()), field, unit, part, measured=evidence is not None)
                for name, evidence in found.measured.items()
            }
            for part, (field, unit) in _WORTH.items()
        },
        "pooled": _pooled(found) | ({"measured": "measured"} if found.p99 else {}),
    }


def audit_results(found: Audit, measured: Measured) -> Tree:
    """Return ``audit``: checks made, held and failed, in all and by experiment, failures in words, and alterations
    noticed; ``law.{least,most}.<experiment>``: measured throughput over that of the law of the closed loop;
    ``between.<experiment>``: the share of a user's cycle that the generator takes for itself."""
    checks, control = found.checks, found.control
    made, any_failed = len(control), bool((checks["result"] == "failed").any())
    return {
        "audit": {
            **_counts(checks),
            **{name: _counts(checks[checks["experiment"] == name]) for name in measured},
            "altered": _counted(made or None, "alterations made"),
            "noticed": _counted(int(control["noticed"].sum()) if made else None, "alterations noticed"),
            "failures": failures_in_words(checks) if len(checks) else NO_TEXT,
        },
        "law": {
            part: {name: _law(checks[checks["experiment"] == name], place) for name in measured}
            for part, place in (("least", 0), ("most", -1))
        },
        "between": {
            name: mean_within(
                list(shares.values()), unit="share", inputs=tuple(shares),
                what="share of a user's cycle inside the generator",
            )
            if (shares := found.between[name])
            else Absent(unit="share", why=NOT_MEASURED if evidence is None else "no closed load with single requests")
            for name, evidence in measured.items()
        },
        **({"failures": {"measured": "measured"}} if any_failed else {}),
    }  # fmt: skip


def generator_results(found: Mapping[str, Sequence[Comparison]]) -> Tree:
    """Return ``<metric>.<generator>`` for every generator of the experiment ``headroom``, measured or not.

    Args:
        found: metric -> comparisons of generators.
    """
    by_name = {metric: {one.variant: one for one in ones} for metric, ones in found.items()}
    return {
        metric: for_each(dict.fromkeys((*CALIBRATED, *sorted(ones))), ones, NO_COMPARISON)
        for metric, ones in by_name.items()
    }


def failures_in_words(checks: pd.DataFrame) -> str:
    """Return what failed, by tool: how many checks of how many trials."""
    failed = checks[checks["result"] == "failed"]
    parts = [
        f"{len(mine)} of {tool} ({'; '.join(mine['check'].unique())})"
        for tool, mine in failed.groupby("generator", sort=False)
    ]
    return ", ".join(parts) or NONE_FAILED


def _equal_arms(evidence: Evidence | None, metric: str) -> tuple[dict[str, Estimate], str]:
    if evidence is None:
        return {}, NOT_MEASURED
    try:
        arms = equal_arms(evidence.trials, metric)
    except InputError as error:
        return {}, str(error)
    return {part: getattr(arms, part) for part in _AA}, ""


def _blocks(found: Enough, name: str, field: str, unit: str, what: str) -> Leaf:
    one = found.blocks.get(name)
    if one is None:
        unpaired = found.measured[name] is not None
        return Absent(unit=unit, why="nothing to compare block by block" if unpaired else NOT_MEASURED)
    value = getattr(one, field)
    if value is None:
        return Absent(unit=unit, why="no practical number of blocks is enough")
    return as_is(float(value), unit, what)


def _equal(cells: Sequence[EqualCell]) -> Tree:
    if not cells:
        return {"cells": Absent(unit="1"), "different": Absent(unit="1"), "rate": Absent(unit="share")}
    different = sum(cell.found.passed is False for cell in cells)
    low, high = scipy.stats.binomtest(different, len(cells)).proportion_ci(_LEVEL, method="wilson")
    return {
        "cells": as_is(len(cells), "1", "cells with the reference twice in each block"),
        "different": as_is(different, "1", "of these, cells that call it different"),
        "rate": Estimate(
            value=different / len(cells), low=float(low), high=float(high), level=_LEVEL, unit="share",
            method="Wilson's interval over cells", estimand="share of cells in which the reference differs from itself",
            n_trials=sum(2 * cell.n_blocks for cell in cells),
            inputs=tuple(dict.fromkeys(key for cell in cells for key in cell.found.ratio.inputs)),
        ),
    }  # fmt: skip


def _worth(ones: Sequence[Worth], field: str, unit: str, part: str, *, measured: bool) -> Leaf:
    told = [value for one in ones if (value := getattr(one, field)) is not None]
    if not told:
        return Absent(unit=unit, why="its tool writes no single requests" if measured else NOT_MEASURED)
    middle = float(np.median(told))
    return as_is(round(middle) if unit == "1" else middle, unit, f"{part}, median of trials")


def _pooled(found: Enough) -> dict[str, Leaf]:
    ratios = [
        float((one.cluster_high - one.cluster_low) / (one.jackknife.high - one.jackknife.low))
        for one in found.p99.values()
        if one.cluster_low is not None
        and one.cluster_high is not None
        and one.jackknife.low is not None
        and one.jackknife.high is not None
    ]
    if not ratios:
        return {"variants": Absent(unit="1"), "narrower": Absent(), "refused": Absent(unit="1")}
    what = "width of the cluster bootstrap's interval over that of the jackknife's, median of variants"
    refused = sum(one.jackknife.value is None for one in found.p999.values())
    return {
        "variants": as_is(len(ratios), "1", "variants with both intervals"),
        "narrower": as_is(float(np.median(ratios)), "ratio", what),
        "refused": as_is(
            refused, "1", "variants whose p99.9 is refused: too few requests beyond it in a trial"
        ),
    }


def _law(checks: pd.DataFrame, place: int) -> Leaf:
    mine = checks[(checks["check"] == LAW) & checks["expected"].notna()]
    ratios = np.sort((mine["found"] / mine["expected"]).to_numpy(dtype=np.float64))
    if not ratios.size:
        return Absent()
    return Estimate(
        value=float(ratios[place]), unit="ratio", method="over trials", n_trials=ratios.size,
        estimand="measured throughput over that of the law of the closed loop", inputs=inputs_of(mine),
    )  # fmt: skip


def _counts(rows: pd.DataFrame) -> dict[str, Leaf]:
    results = rows["result"].value_counts()
    counts = {
        "trials": (len(rows[["experiment", "trial_id"]].drop_duplicates()), "trials audited"),
        "made": (len(rows) - int(results.get("not applicable", 0)), "checks made"),
        **{part: (int(results.get(word, 0)), f"checks: {word}") for part, word in PARTS.items()},
    }
    return {part: _counted(n if len(rows) else None, what) for part, (n, what) in counts.items()}


def _counted(count: int | None, what: str) -> Leaf:
    if count is None:
        return Absent(unit="1")
    return Estimate(value=count, unit="1", method="counted", estimand=what, n_trials=0)
