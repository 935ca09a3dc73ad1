# SPDX-License-Identifier: Apache-2.0
"""What the paper says of how much was measured: blocks, unseen modes, equal cells, and what requests are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from harness.analysis.audit.adequacy import BlocksNeeded, EqualCell
from harness.analysis.stats.effective_sample import PooledPercentile, Worth
from harness.model import Estimate
from harness.model.digits import percent, plain, span, spoken
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.questions.validity.adequacy import Enough, Measured

_LEVEL = 0.95
#: part of the key, field of ``BlocksNeeded``, unit, what it is
_BLOCKS = (
    ("made", "n_blocks", "1", "blocks of the comparison that has the fewest"),
    ("half_width", "half_width", "relative", "half-width of a ratio's interval, median"),
    ("needed", "needed", "1", "blocks for +-2 %, median comparison"),
    ("unseen", "unseen_share", "share", "a mode rarer than this may be unseen"),
)
_NO_PAIR = "nothing to compare block by block"


def publish_enough(publisher: Publisher, found: Enough) -> Published:
    """Publish ``validity.{blocks,equal,worth,pooled}...``, absent where not measured."""
    with publisher.together():
        said = (
            publish_blocks(publisher, found.measured, found.blocks),
            publish_equal(publisher, found.equal),
            publish_worth(publisher, found.measured, found.worth),
            publish_pooled(publisher, found.p99, found.p999),
        )
        if found.blocks:
            publisher.text("validity.blocks.measured", "measured")
        if found.worth:
            publisher.text("validity.worth.measured", "measured")
        if found.p99:
            publisher.text("validity.pooled.measured", "measured")
    return joined(said)


def publish_blocks(publisher: Publisher, measured: Measured, found: Mapping[str, BlocksNeeded]) -> Published:
    """Publish ``validity.blocks.{made,half_width,needed,unseen}.<experiment>``, absent where not measured."""
    said = []
    for name, evidence in measured.items():
        one, why = found.get(name), NOT_MEASURED if evidence is None else _NO_PAIR
        for part, field, unit, what in _BLOCKS:
            key = f"validity.blocks.{part}.{slug(name)}"
            value: float | None = None if one is None else getattr(one, field)
            if value is None:
                reason = why if one is None else "no practical number of blocks is enough"
                said.append(publisher.absent(key, unit, reason))
            else:
                said.append(publisher.value(key, float(value), unit, what))
    return joined(said)


def block_cells(found: Enough) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: one an experiment that compares anything."""
    rows: list[Mapping[str, Cell] | None] = []
    for name, one in found.blocks.items():
        noise = [cell.found.noise for cell in found.equal[name] if cell.found.noise is not None]
        rows.append(
            {
                "experiment": name,
                "metric": {"throughput_per_s": "throughput", "latency_mean_s": "mean latency"}[one.metric],
                "comparisons": one.n_comparisons,
                "blocks": one.n_blocks,
                "half_width": percent(one.half_width),
                "needed": "beyond any practical number" if one.needed is None else one.needed,
                "needed_most": "beyond any practical number" if one.needed_most is None else one.needed_most,
                "unseen": percent(one.unseen_share),
                "noise": percent(max(noise)) if noise else None,
            }
        )
    return rows


def publish_equal(publisher: Publisher, equal: Mapping[str, Sequence[EqualCell]]) -> Published:
    """Publish ``validity.equal.{cells,different,rate}``: how often the reference differed from its own duplicate."""
    cells = [cell for found in equal.values() for cell in found if cell.found.passed is not None]
    different = sum(cell.found.passed is False for cell in cells)
    if not cells:
        return joined(
            publisher.absent(f"validity.equal.{part}", unit, NOT_MEASURED)
            for part, unit in (("cells", "1"), ("different", "1"), ("rate", "share"))
        )
    low, high = stats.binomtest(different, len(cells)).proportion_ci(_LEVEL, method="wilson")
    rate = Estimate(
        value=different / len(cells), low=float(low), high=float(high), level=_LEVEL, unit="share",
        method="Wilson's interval over cells", estimand="share of cells in which the reference differs from itself",
        n_trials=sum(2 * cell.n_blocks for cell in cells),
        inputs=tuple(dict.fromkeys(key for cell in cells for key in cell.found.ratio.inputs)),
    )  # fmt: skip
    said = [
        publisher.value(
            "validity.equal.cells", len(cells), "1", "cells with the reference twice in each block"
        ),
        publisher.value("validity.equal.different", different, "1", "of these, cells that call it different"),
        publisher.number("validity.equal.rate", rate),
    ]
    return joined(said)


def publish_worth(
    publisher: Publisher, measured: Measured, found: Mapping[str, Sequence[Worth]]
) -> Published:
    """Publish ``validity.worth.{requests,effective,independent,batches,bootstrap}.<experiment>``, medians of trials."""
    said = []
    for name, evidence in measured.items():
        ones = found.get(name, ())
        why = NOT_MEASURED if evidence is None else "its tool writes no single requests"
        for part, unit, values in (
            ("requests", "1", [one.n_requests for one in ones]),
            ("effective", "1", [one.effective for one in ones]),
            ("independent", "relative", [one.as_if_independent for one in ones]),
            ("batches", "relative", [one.batch_means for one in ones]),
            ("bootstrap", "relative", [one.block_bootstrap for one in ones]),
        ):
            key, told = f"validity.worth.{part}.{slug(name)}", [v for v in values if v is not None]
            if not told:
                said.append(publisher.absent(key, unit, why))
                continue
            middle = float(np.median(told))
            said.append(
                publisher.value(
                    key, round(middle) if unit == "1" else middle, unit, f"{part}, median of trials"
                )
            )
    return joined(said)


def worth_cells(found: Enough) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: one an experiment, medians over the first trial of each variant."""
    return [
        {
            "experiment": name,
            "trials": len(ones),
            "requests": round(float(np.median([one.n_requests for one in ones]))),
            "effective": _spread([one.effective for one in ones]),
            "independent": _median_percent([one.as_if_independent for one in ones]),
            "batches": _median_percent([one.batch_means for one in ones]),
            "bootstrap": _median_percent([one.block_bootstrap for one in ones]),
        }
        for name, ones in found.worth.items()
    ]


def pooled_cells(found: Enough) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: one a variant; the cluster bootstrap's interval as text."""
    return [
        {
            "variant": label,
            "trials": one.jackknife.n_trials,
            "p99": one.jackknife,
            "cluster": None
            if one.cluster_low is None or one.cluster_high is None
            else span(one.cluster_low * 1e3, one.cluster_high * 1e3, " ms"),
            # the reason is the same for all, and stands below the table once
            "p999": "refused" if found.p999[label].jackknife.value is None else found.p999[label].jackknife,
            "step": None if found.step_s is None else f"{plain(found.step_s * 1e3)} ms",
        }
        for label, one in found.p99.items()
    ]


def publish_pooled(
    publisher: Publisher, found: Mapping[str, PooledPercentile], extreme: Mapping[str, PooledPercentile]
) -> Published:
    """Publish ``validity.pooled.{variants,narrower,refused}``: by what the cluster bootstrap's intervals are
    narrower, and of how many variants p99.9 is refused."""
    ratios = [
        float((one.cluster_high - one.cluster_low) / (one.jackknife.high - one.jackknife.low))
        for one in found.values()
        if one.cluster_low is not None
        and one.cluster_high is not None
        and one.jackknife.low is not None
        and one.jackknife.high is not None
    ]
    if not ratios:
        said = [
            publisher.absent("validity.pooled.variants", "1", NOT_MEASURED),
            publisher.absent("validity.pooled.narrower", "ratio", NOT_MEASURED),
            publisher.absent("validity.pooled.refused", "1", NOT_MEASURED),
        ]
    else:
        what = "width of the cluster bootstrap's interval over that of the jackknife's, median of variants"
        said = [
            publisher.value("validity.pooled.variants", len(ratios), "1", "variants with both intervals"),
            publisher.value("validity.pooled.narrower", float(np.median(ratios)), "ratio", what),
            publisher.value(
                "validity.pooled.refused",
                sum(one.jackknife.value is None for one in extreme.values()),
                "1",
                "variants whose p99.9 is refused: too few requests beyond it in a trial",
            ),
        ]
    return joined(said)


def _median_percent(values: Sequence[float | None]) -> str | None:
    told = [value for value in values if value is not None]
    return percent(float(np.median(told))) if told else None


def _spread(values: Sequence[float | None]) -> str | None:
    told = sorted(value for value in values if value is not None)
    if not told:
        return None
    return spoken(float(np.median(told)), told[0], told[-1])
