# SPDX-License-Identifier: Apache-2.0
"""The service's pauses laid over its requests, there and as far off to either side as they may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.attribution.attribute import Attribution, attributable_fraction
from harness.analysis.attribution.request_overlap import lived
from harness.analysis.attribution.share_of_quantile import WithoutPauses, without_pauses
from harness.analysis.attribution.spans import CauseName, Paused, Span
from harness.formats.arrays import FloatArray
from harness.model import Estimate

#: Intervals over trials come from the trials; within one, these are enough for a look.
RESAMPLES = 200


@dataclass(frozen=True)
class LaidPauses:
    """The service's pauses over its requests, which may all be off by ``within_s``.

    ``step_s``: the load tool's resolution.
    """

    start: FloatArray
    latency: FloatArray
    pauses: Paused
    within_s: float
    seed: int
    step_s: float = 0.0

    @property
    def off_by_s(self) -> tuple[float, ...]:
        """How far off the pauses are laid: nowhere, and to both sides where they are short against that."""
        lengths = [high - low for spans in self.pauses.values() for low, high in spans]
        known = not lengths or float(np.median(lengths)) / 2 >= self.within_s
        return (0.0,) if known else (0.0, -self.within_s, self.within_s)

    def without(self) -> tuple[WithoutPauses, ...]:
        """Count the latencies as they would be without the service's pauses, for each place in ``off_by_s``."""
        return tuple(
            without_pauses(lived(self.start, self.latency, self._moved(by)), self.step_s)
            for by in self.off_by_s
        )

    def apart(self, quantile: float, own: Paused, connect: FloatArray | None = None) -> Attribution:
        """Take the tail apart by the service's pauses, ``own``, those of the generator, and the times to connect."""
        found, *moved = (self._with_pauses_moved(by, quantile, own, connect) for by in self.off_by_s)
        if not moved:
            return found
        shares = ("quantile_share", "quantile_share_lower", "quantile_share_upper")
        causes = (
            part.model_copy(
                update={
                    "share_of_tail": over_all_places(
                        part.share_of_tail, [other.causes[place].share_of_tail for other in moved]
                    )
                }
            )
            for place, part in enumerate(found.causes)
        )
        return found.model_copy(
            update={
                **{
                    name: over_all_places(getattr(found, name), [getattr(other, name) for other in moved])
                    for name in shares
                },
                "causes": tuple(causes),
            }
        )

    def _with_pauses_moved(
        self, by_s: float, quantile: float, own: Paused, connect: FloatArray | None
    ) -> Attribution:
        return attributable_fraction(
            self.start,
            self.latency,
            self._moved(by_s) | own,
            quantile=quantile,
            resamples=RESAMPLES,
            seed=self.seed,
            connect_s=connect,
        )

    def _moved(self, by_s: float) -> dict[CauseName, tuple[Span, ...]]:
        return {
            cause: tuple((low + by_s, high + by_s) for low, high in spans)
            for cause, spans in self.pauses.items()
        }


def over_all_places(estimate: Estimate, others: Sequence[Estimate]) -> Estimate:
    """Widen an interval until it covers those of the others."""
    every = [estimate, *others]
    lows, highs = [e.low for e in every if e.low is not None], [e.high for e in every if e.high is not None]
    if estimate.low is None or estimate.high is None:
        return estimate
    return estimate.model_copy(
        update={
            "low": min(lows),
            "high": max(highs),
            "method": f"{estimate.method}, over all places that the pauses may have",
        }
    )
