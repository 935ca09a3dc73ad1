# SPDX-License-Identifier: Apache-2.0
"""What does a log line per request cost, by logger and by where it goes, and how many lines are lost?"""

from harness.questions.logging.analysis import logged_services
from harness.questions.logging.figures import cost_by_logger
from harness.questions.logging.results import notes, results

__all__ = ["cost_by_logger", "logged_services", "notes", "results"]
