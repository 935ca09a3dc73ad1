# SPDX-License-Identifier: Apache-2.0
"""Is a log line per request the bottleneck of the articles' programs, and is it the lock of ``java.util.logging``?"""

from harness.questions.strings_published.analysis import programs_as_published
from harness.questions.strings_published.results import notes, results

__all__ = ["notes", "programs_as_published", "results"]
