# SPDX-License-Identifier: Apache-2.0
"""How do string services compare when they have warmed up, each on CPUs of its own, and what did that take?"""

from harness.evidence.other_sessions import other_machine
from harness.evidence.warm import cold_windows, warm_services
from harness.figures.cold import cold_curves
from harness.publish.session_agreement import agreement_counts, agreement_rows
from harness.publish.warm_results import notes
from harness.questions.strings_warm.duet import duet_results
from harness.questions.strings_warm.generator_cpus import generator_levels, generator_results, generator_rows
from harness.questions.strings_warm.results import quantities, results
from harness.questions.strings_warm.settings import settings_results

__all__ = [
    "agreement_counts",
    "agreement_rows",
    "cold_curves",
    "cold_windows",
    "duet_results",
    "generator_levels",
    "generator_results",
    "generator_rows",
    "notes",
    "other_machine",
    "quantities",
    "results",
    "settings_results",
    "warm_services",
]
