# SPDX-License-Identifier: Apache-2.0
"""One trial of one instance: brought up, warmed, loaded, sampled, stopped, and what it came to."""

from harness.runner.context import Limits, TrialContext, TrialSpec
from harness.runner.duet import run_duet
from harness.runner.trial import LoadAgain, Then, run_trials

__all__ = [
    "Limits",
    "LoadAgain",
    "Then",
    "TrialContext",
    "TrialSpec",
    "run_duet",
    "run_trials",
]
