# SPDX-License-Identifier: Apache-2.0
"""Every result is a row: open a session as frames, compare, pivot, draw, publish (``docs/analyse.md``)."""

from harness.analysis.audit.session_checks import slope_within, speed_response
from harness.publish.figures.style import log_scale
from harness.rows.drawing import forest, intervals, page
from harness.rows.effects import block_mean, contrast, elasticities, interactions, scaling_law
from harness.rows.equal_speed import at_equal_speed, beside_neighbours
from harness.rows.latency_peaks import attribute, attribution, latency_over_time, slow_requests
from harness.rows.places import between, over_sessions
from harness.rows.question import Question
from harness.rows.results import (
    along,
    behind,
    compare,
    count,
    counts,
    detectable,
    fact,
    means,
    of_estimate,
    pairs,
)
from harness.rows.schema import stack, tidy
from harness.rows.session import Session, find_session, open_session, sessions_of
from harness.rows.session_results import overview
from harness.rows.text import notes, pivot, shown
from harness.rows.trials import at_levels, builds, dots, of_one_age, parts, used
from harness.rows.warming import even, leads, races, warm_up, warm_up_curves, warm_up_windows

__all__ = [
    "Question", "Session", "along", "at_equal_speed", "at_levels", "attribute", "attribution",
    "behind", "beside_neighbours", "between", "block_mean", "builds", "compare", "contrast", "count",
    "counts", "detectable", "dots", "elasticities", "even", "fact", "find_session", "forest", "interactions",
    "intervals", "latency_over_time", "leads", "log_scale", "means", "notes", "of_estimate", "of_one_age",
    "open_session", "over_sessions", "overview", "page", "pairs", "parts", "pivot", "races", "scaling_law",
    "sessions_of", "shown", "slope_within", "slow_requests", "speed_response", "stack", "tidy", "used",
    "warm_up", "warm_up_curves", "warm_up_windows",
]  # fmt: skip
