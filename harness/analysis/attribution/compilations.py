# SPDX-License-Identifier: Apache-2.0
"""When a JVM's compilers were at work, where the trial left a flight recording of them.

They work in threads of their own, so a compilation takes CPU from a request or leaves it in slow code, and
by how much nobody records. A deoptimisation is a moment without a length; where one stops the program
for everybody, the safepoint's log has it under ``other_safepoint``.
"""

from __future__ import annotations

from harness.analysis.attribution.bounded_causes import Beside
from harness.analysis.attribution.log_clock import clock_shift
from harness.analysis.attribution.spans import Span, covered_s, inside, joined
from harness.errors import InputError
from harness.formats.jfr_json import read_jfr_json
from harness.model import TrialRecord
from harness.store import SessionFolder

#: As ``harness.runner.recordings`` names it.
RECORDING = "recording.json"
#: Where compilers are at work for longer than this, no moment of theirs stands out.
MOST_OF_THE_TIME = 0.5


def compiling(session: SessionFolder, record: TrialRecord, window: Span) -> Beside | str:
    """Return when compilers were at work, in epoch seconds; or why that is not known.

    Args:
        window: whether compiling stands out is judged within it.
    """
    trial = record.planned.trial_id
    if not session.has(trial, RECORDING):
        return "no flight recording: a variant asks for one with runtime.flight_recording"
    try:
        recording = read_jfr_json(session.path(trial, RECORDING))
    except InputError as error:
        return str(error)
    if "jdk.Compilation" not in recording.n_by_type:
        return "the flight recording has no jdk.Compilation in it: was it asked for?"
    by_s = clock_shift(record, "service").shift_s
    spans = joined((low + by_s, high + by_s) for low, high in recording.compilations)
    near = inside({"jit": spans}, window)["jit"]
    share = covered_s(near) / max(window[1] - window[0], 1e-9)
    n_deoptimised = sum(window[0] <= at + by_s <= window[1] for at in recording.deoptimisations)
    words = f"flight recording: compilers at work {min(share, 1.0):.0%} of the time, {n_deoptimised} deoptimisations"
    return Beside(
        cause="jit",
        spans=spans,
        lost_s=tuple(high - low for low, high in spans),
        standing_out=near if share < MOST_OF_THE_TIME else (),
        words=words,
    )
