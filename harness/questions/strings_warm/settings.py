# SPDX-License-Identifier: Apache-2.0
"""Warm services with settings that either side would ask for: what each moves, and whether the comparison holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Experiment
from harness.model.formatting import ratio_words
from harness.publish.range_words import in_a_range
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, for_each, means
from harness.publish.warm_results import compared, metric_branch

THROUGHPUT, CPU, KERNEL, MEMORY = (
    "throughput_per_s", "cpu_s_per_request", "kernel_cpu_s_per_request", "rss_after_bytes",
)  # fmt: skip
#: The service of the other side, with the settings of the headline; and each server with a constant answer.
RIVAL, LEAN = "java-helidon", ("go-lean", "helidon-lean")
#: The same service with a small heap: what it holds is a matter of how much it is allowed.
SMALL = "helidon-small"


def settings_results(trials: pd.DataFrame | None, definition: Experiment) -> Tree:
    """Return ``settings.{throughput,cpu,memory}`` with means and comparisons with the reference, and beside them

    - ``kernel.<variant>``, the part of the CPU time per request that the kernel spent for the service;
    - ``own.<variant>``, the throughput of a setting of the other service over that service as in the headline;
    - ``over.<variant>``, the throughput of that service, as in the headline, over each setting of the reference;
    - ``lean.<variant>``, of one server with a constant answer over the other, and in words ``short``, the range of
      ``over``, and ``small``, what the other service held and answered with a small heap;

    measured or not. ``trials``: those of ``strings-settings``; ``None``: not measured.
    """
    variants, reference = definition.labels, definition.reference
    programs = {} if trials is None else _programs(trials)
    own = [_ratio(trials, name, RIVAL) for name in _of_program(programs, RIVAL)]
    alone = _ratio(trials, LEAN[1], LEAN[0])
    over = {name: _ratio(trials, RIVAL, name) for name in _of_program(programs, reference)}
    others = [name for name in variants if name != reference]
    absent = Absent(unit="s")
    return {
        "settings": {
            **{
                branch: metric_branch(trials, variants, others, metric, _compared(trials, metric, reference))
                for branch, metric in (("throughput", THROUGHPUT), ("cpu", CPU), ("memory", MEMORY))
            },
            "kernel": for_each(variants, {}, absent) if trials is None else _kernel(trials, variants),
            "own": compared(others, [one for one in own if one is not None]),
            "over": for_each(variants, over, NO_COMPARISON),
            "lean": compared(LEAN[1:], [] if alone is None else [alone]),
            "short": _short(over, variants) or NO_TEXT,
            "small": _small(trials, variants, reference) or NO_TEXT,
        }
    }


def _programs(trials: pd.DataFrame) -> Mapping[str, str]:
    """Variant -> its program; those with a constant answer are left out."""
    mine = trials[~trials["variant"].isin(LEAN)]
    return dict(zip(mine["variant"].astype(str), mine["implementation"].astype(str), strict=True))


def _of_program(programs: Mapping[str, str], variant: str) -> Sequence[str]:
    """All variants of the program of this one."""
    return [name for name, program in programs.items() if program == programs.get(variant)]


def _compared(trials: pd.DataFrame | None, metric: str, reference: str) -> Sequence[Comparison]:
    if trials is None or trials[metric].isna().all():
        return ()
    return tuple(compare(trials, metric, reference=reference))


def _ratio(trials: pd.DataFrame | None, variant: str, reference: str) -> Comparison | None:
    """Throughput of one variant over another, block by block; ``None``: one of them was not measured."""
    if trials is None or variant == reference or not {variant, reference} <= set(trials["variant"]):
        return None
    return next(one for one in compare(trials, THROUGHPUT, reference=reference) if one.variant == variant)


def _kernel(trials: pd.DataFrame, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    return means(trials.dropna(subset=[KERNEL]), variants, KERNEL)


def _small(trials: pd.DataFrame | None, labels: Mapping[str, str], reference: str) -> Words | None:
    """What the rival held and answered with a small heap, over the reference; None: it was not measured."""
    found = [
        next((one for one in _compared(trials, metric, reference) if one.variant == SMALL), None)
        for metric in (MEMORY, THROUGHPUT)
    ]
    told = [one for one in found if one is not None and one.ratio.value is not None and one.about_services]
    if len(told) < len(found):
        return None
    memory, throughput = (ratio_words(one, rounded=True) for one in told)
    return Words(
        f"With a small heap, in another session of {min(one.n_blocks for one in told)} blocks, {labels[SMALL]} had "
        f"{memory} times the memory of {labels[reference]}, and {throughput} times its requests per second.",
        tuple(dict.fromkeys(path for one in told for path in one.ratio.inputs)),
    )


def _short(over: Mapping[str, Comparison | None], labels: Mapping[str, str]) -> Words | None:
    """The range of the rival's throughput over the reference's, by the reference's settings."""
    told = [(labels[name], one) for name, one in over.items() if one is not None and name in labels]
    said = in_a_range(told)
    if not said:
        return None
    inputs = tuple(dict.fromkeys(path for _, one in told for path in one.ratio.inputs))
    blocks = told[0][1].n_blocks
    return Words(
        f"Over {blocks} blocks, the ratio of {labels[RIVAL]}'s throughput to Go's, by Go's settings, is {said}.",
        inputs,
    )
