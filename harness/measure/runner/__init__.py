# SPDX-License-Identifier: Apache-2.0
"""One trial of one instance: brought up, warmed, loaded, sampled, stopped, and what it came to."""

from harness.measure.runner.context import Limits, TrialContext, TrialSpec
from harness.measure.runner.duet import run_duet
from harness.measure.runner.trial import LoadAgain, Then, run_trials

__all__ = [
    "Limits",
    "LoadAgain",
    "Then",
    "TrialContext",
    "TrialSpec",
    "run_duet",
    "run_trials",
]
