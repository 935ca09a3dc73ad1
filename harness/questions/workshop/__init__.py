# SPDX-License-Identifier: Apache-2.0
"""How much does one trial tell, and five more questions: the units of the workshop, with exercises and their checks."""

from harness.questions.workshop.comparing import comparing_unit
from harness.questions.workshop.latency import latency_unit
from harness.questions.workshop.loops import loops_unit
from harness.questions.workshop.peaks import paused_s, peaks_unit
from harness.questions.workshop.replication import replication_unit
from harness.questions.workshop.showing import cumulative, curve, show_figure
from harness.questions.workshop.tables import noise_words, ratio_table, trial_values, verdict_table
from harness.questions.workshop.warming import warming_unit

__all__ = [
    "comparing_unit",
    "cumulative",
    "curve",
    "latency_unit",
    "loops_unit",
    "noise_words",
    "paused_s",
    "peaks_unit",
    "ratio_table",
    "replication_unit",
    "show_figure",
    "trial_values",
    "verdict_table",
    "warming_unit",
]
