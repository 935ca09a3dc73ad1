# SPDX-License-Identifier: Apache-2.0
"""How much was measured: blocks, unseen modes, equal cells, and what the requests of experiments are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.analysis.audit.adequacy import BlocksNeeded, EqualCell, blocks_needed, equal_cells
from harness.analysis.stats.effective_sample import PooledPercentile, Worth, pooled_percentile, worth_of
from harness.analysis.stats.pairing import counting, inputs_of
from harness.evidence import Evidence

Floats = NDArray[np.float64]
Measured = Mapping[str, Evidence | None]
#: Variant -> one array of latencies a trial, and the trials.
Latencies = dict[str, tuple[list[Floats], tuple[str, ...]]]


class Enough(NamedTuple):
    """How much was measured, in every way that is told; by experiment, the percentiles by label of a variant."""

    measured: Measured
    blocks: dict[str, BlocksNeeded]
    equal: dict[str, tuple[EqualCell, ...]]
    worth: dict[str, tuple[Worth, ...]]
    p99: dict[str, PooledPercentile]
    p999: dict[str, PooledPercentile]
    step_s: float | None


def how_much(measured: Measured, *, pooled: str = "gc-peaks") -> Enough:
    """Return what the blocks, the duplicates and the requests of these experiments can tell.

    Args:
        pooled: the experiment whose percentiles over the requests of all trials are told.
    """
    there = {name: evidence for name, evidence in measured.items() if evidence is not None}
    blocks = {name: blocks_needed(one.trials, one.reference, one.factors) for name, one in there.items()}
    worth = {name: _worth(one) for name, one in there.items()}
    of_all, step_s = _latencies_of(measured.get(pooled)), _step_s(measured.get(pooled))
    return Enough(
        measured=measured,
        blocks={name: one for name, one in blocks.items() if one is not None},
        equal={name: equal_cells(one.trials, one.factors) for name, one in there.items()},
        worth={name: ones for name, ones in worth.items() if ones},
        p99={name: pooled_percentile(values, 0.99, inputs=keys) for name, (values, keys) in of_all.items()},
        p999={name: pooled_percentile(values, 0.999, inputs=keys) for name, (values, keys) in of_all.items()},
        step_s=step_s,
    )


def _worth(evidence: Evidence) -> tuple[Worth, ...]:
    """Of the first kept trial of each variant."""
    return tuple(
        worth_of(values[0], keys[0]) for values, keys in _latencies(evidence, first_only=True).values()
    )


def _latencies_of(evidence: Evidence | None) -> Latencies:
    """By label of the variant; none shorter than the tool's step, which is the most that is known of a zero."""
    if evidence is None:
        return {}
    step_s = _step_s(evidence) or 0.0
    return {
        evidence.variants[name]: ([np.maximum(one, step_s) for one in values], keys)
        for name, (values, keys) in _latencies(evidence).items()
    }


def _step_s(evidence: Evidence | None) -> float | None:
    """The coarsest step of the tools that wrote these latencies; ``None``: not measured, or not known."""
    steps = [] if evidence is None else evidence.trials["latency_resolution_s"].dropna().tolist()
    return max(steps) if steps else None


def _latencies(evidence: Evidence, *, first_only: bool = False) -> Latencies:
    """Variant -> latencies of correct answers in the order of their starts, one array a trial, of one
    cell: the last warmed-up one without a log line whose tool writes single requests."""
    last_first = list(reversed(evidence.cells()))
    for levels in sorted(last_first, key=lambda cell: cell.get("logging") == "on"):
        found: Latencies = {}
        trials = evidence.cell(**levels)
        kept = counting(trials)
        for (_, row), key in zip(kept.iterrows(), inputs_of(kept), strict=True):
            arrays, keys = found.get(str(row["variant"]), ([], ()))
            if first_only and arrays:
                continue
            requests = evidence.requests(str(row["session_id"]), str(row["trial_id"]))
            if requests is None or int(requests["ok"].sum()) < 2:
                continue
            ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
            values = ok["latency_s"].to_numpy(dtype=np.float64)
            found[str(row["variant"])] = ([*arrays, values], (*keys, key))
        if found:
            return found
    return {}
