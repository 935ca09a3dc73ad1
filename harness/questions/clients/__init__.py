# SPDX-License-Identifier: Apache-2.0
"""Connection reuse and memory of clients of an upstream API."""

from harness.questions.clients.figures import by_part
from harness.questions.clients.published import percentiles_beside, published_clients, published_rows
from harness.questions.clients.results import (
    branch_results,
    cold_results,
    face_results,
    face_rows,
    open_cases,
    parts_results,
    parts_rows,
    results,
    use_rows,
)

__all__ = [
    "branch_results", "by_part", "cold_results", "face_results", "face_rows", "open_cases", "parts_results",
    "parts_rows", "percentiles_beside", "published_clients", "published_rows", "results", "use_rows",
]  # fmt: skip
