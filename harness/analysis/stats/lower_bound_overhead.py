# SPDX-License-Identifier: Apache-2.0
"""At least how much a garbage collector costs: each variant against the cheapest program without its collector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import Field

from harness.analysis.stats.inputs import finite, fraction
from harness.analysis.stats.means import mean_within
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Estimate, Frozen


class CollectorOverhead(Frozen):
    """At least how much dearer one variant is than the same program without a collector."""

    variant: str
    overhead: Estimate = Field(description="total cost over the base, a ratio of 1 or more")
    base: str = Field(description="the variant whose cost without its collector is lowest")


def lower_bound_overhead(
    total: Mapping[str, Sequence[float]], collector: Mapping[str, Sequence[float]], *, level: float = 0.95
) -> tuple[CollectorOverhead, ...]:
    """Return, for each variant, at least how much dearer it is than the same program without a collector.

    Args:
        total: cost of each trial of each variant, in any one unit (seconds, cycles, joules).
        collector: the part of it that is known to be the collector's, such as its pauses.

    The cheapest ``total - collector`` of all variants still holds hidden costs (barriers,
    concurrent work), so it is an upper bound of the program's own cost and every ratio to it
    a lower bound of an overhead. Source: Cai et al., Distilling the real cost of production
    garbage collectors, ISPASS 2022.

    Raises:
        InputError: the variants differ, a variant has no trial, a number is not finite, or a part is larger than
            its whole.
    """
    fraction(level, "level")
    if set(total) != set(collector) or not total:
        raise InputError(
            "total and collector must name the same variants", found=sorted(set(total) ^ set(collector))
        )
    distilled: dict[str, float] = {}
    for name in total:
        whole, part = finite(total[name], f"total of {name}"), finite(collector[name], f"collector of {name}")
        if whole.shape != part.shape or not len(whole) or (part < 0).any() or (part >= whole).any():
            raise InputError(
                f"{name}: each trial needs a total and a smaller part of it", allowed="0 <= part < total"
            )
        distilled[name] = float(np.exp(np.log(whole - part).mean()))  # the mean that totals have, too
    cheapest = min(distilled, key=lambda name: distilled[name])
    return tuple(
        CollectorOverhead(
            variant=name,
            overhead=_overhead(np.asarray(total[name], dtype=float) / distilled[cheapest], cheapest, level),
            base=cheapest,
        )
        for name in total
    )


def _overhead(ratio: FloatArray, cheapest: str, level: float) -> Estimate:
    return mean_within(
        ratio, level=level, unit="ratio",
        what=f"total cost over the distilled cost of {cheapest}, held fixed: a lower bound of the overhead",
    )  # fmt: skip
