# SPDX-License-Identifier: Apache-2.0
"""How long does a service take to its first correct answer, and what does it hold in memory?"""

from harness.evidence.requests import pauses_of_first_trials
from harness.publish.results import means
from harness.questions.startup.figures import memory_timeline, startup
from harness.questions.startup.results import results

__all__ = ["means", "memory_timeline", "pauses_of_first_trials", "results", "startup"]
