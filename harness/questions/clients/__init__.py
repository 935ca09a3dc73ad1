# SPDX-License-Identifier: Apache-2.0
"""Connection reuse and memory of clients of an upstream API."""

from harness.questions.clients.figures import by_part
from harness.questions.clients.published import (
    histogram_rows,
    percentiles_beside,
    published_clients,
    published_histograms,
    published_rows,
)
from harness.questions.clients.results import (
    branch_results,
    calls_results,
    cold_results,
    craft_results,
    face_results,
    face_rows,
    open_cases,
    parts_results,
    parts_rows,
    results,
    tool_results,
    tool_rows,
    use_rows,
)

__all__ = [
    "branch_results", "by_part", "calls_results", "cold_results", "craft_results", "face_results", "face_rows",
    "histogram_rows", "open_cases", "parts_results", "parts_rows", "percentiles_beside", "published_clients",
    "published_histograms", "published_rows", "results", "tool_results", "tool_rows", "use_rows",
]  # fmt: skip
