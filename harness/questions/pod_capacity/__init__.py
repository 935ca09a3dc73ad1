# SPDX-License-Identifier: Apache-2.0
"""Which rate does a number of pods carry within its goals, and how few pods does a rate need?"""

from harness.questions.pod_capacity.analysis import Searched, searched
from harness.questions.pod_capacity.figures import against_pods
from harness.questions.pod_capacity.results import notes, results

__all__ = ["Searched", "against_pods", "notes", "results", "searched"]
