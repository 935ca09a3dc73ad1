# SPDX-License-Identifier: Apache-2.0
"""Whether a service's pauses are placed well enough to be laid over its requests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.clock_offset import ClockOffset, estimate_clock_offset
from harness.analysis.attribution.log_clock import PlacedLog
from harness.analysis.attribution.spans import Paused
from harness.model import TrialRecord

FloatArray = npt.NDArray[np.float64]

#: Nothing is placed better than the requests themselves are: most load generators write whole milliseconds.
FINEST_S = 1e-3


def why_not_laid(
    service: PlacedLog,
    pauses: Paused,
    record: TrialRecord,
    start: FloatArray,
    latency: FloatArray,
    in_question_s: float,
) -> tuple[ClockOffset | None, str | None]:
    """Return what the latencies tell of the clocks, and why attribution would be a guess (``None``: it is not)."""
    if service.placed_within_s is None:
        return None, service.refused
    spans = sorted(span for spans in pauses.values() for span in spans)
    if not spans:
        return None, None  # the log is this very process's, so no pause in it is a finding
    typical = float(np.median([high - low for low, high in spans]))
    moved = wall_step_s(record)
    if moved > max(typical / 2, 2e-3):
        return None, f"the wall clock was moved by {moved * 1e3:.1f} ms during the trial"
    if service.placed_within_s > max(typical / 2, in_question_s / 2, FINEST_S):
        return None, (
            f"the median pause of {typical * 1e3:.2g} ms cannot be placed: by {service.placed_by} it is known "
            f"to {service.placed_within_s * 1e3:.2g} ms, more than half of the {in_question_s * 1e3:.2g} ms that "
            "are to be explained"
        )
    ordinary = float(np.median(latency))
    visible = [span for span in spans if span[1] - span[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    wrong = offset.offset_s is not None and not offset.supports_attribution
    return offset, offset.why if wrong else None


def wall_step_s(record: TrialRecord) -> float:
    """Return how far the wall clock moved against the monotonic one during the trial, in seconds.

    Each reading of the two is disturbed by whatever runs in between, so the middle of the first three
    is held against the middle of the last three.
    """
    readings = [record.started, *record.anchors, record.ended]
    readings += [clock for phase in record.phases for clock in (phase.start, phase.end)]
    readings.sort(key=lambda clock: clock.monotonic_s)
    apart = [clock.wall_epoch_s - clock.monotonic_s for clock in readings]
    return abs(float(np.median(apart[-3:]) - np.median(apart[:3])))
