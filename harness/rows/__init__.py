# SPDX-License-Identifier: Apache-2.0
"""Every result is a row: open a session as frames, compare, pivot, draw, publish (``docs/analyse.md``)."""

from harness.figures.style import log_scale
from harness.rows.drawing import intervals, page
from harness.rows.question import Question
from harness.rows.results import along, compare, count, counts, detectable, fact, means, of_estimate, pairs
from harness.rows.schema import stack, tidy
from harness.rows.session import Session, find_session, open_session
from harness.rows.tables import notes, pivot
from harness.rows.text import shown
from harness.rows.trials import dots, of_one_age, parts, used

__all__ = [
    "Question",
    "Session",
    "along",
    "compare",
    "count",
    "counts",
    "detectable",
    "dots",
    "fact",
    "find_session",
    "intervals",
    "log_scale",
    "means",
    "notes",
    "of_estimate",
    "of_one_age",
    "open_session",
    "page",
    "pairs",
    "parts",
    "pivot",
    "shown",
    "stack",
    "tidy",
    "used",
]
