# SPDX-License-Identifier: Apache-2.0
"""Do Java services of the bank bear the load that Go ones bear?"""

from harness.questions.bank.analysis import knees, saturations
from harness.questions.bank.connections import at_one_load, first_with_several
from harness.questions.bank.connections_results import connection_results, connection_rows, passes_words
from harness.questions.bank.figures import completed_passes, throughput_latency, under_load
from harness.questions.bank.published import published_bank, published_results, published_rows
from harness.questions.bank.published_rematch import (
    published_2019,
    published_rematch,
    published_rematch_results,
)
from harness.questions.bank.results import (
    admission_results,
    craft_results,
    open_cases,
    original_results,
    pooled_levels,
    rematch_results,
    rematch_rows,
    response_rows,
    results,
    table_results,
)

__all__ = [
    "admission_results", "at_one_load", "completed_passes", "connection_results", "connection_rows",
    "craft_results", "first_with_several", "knees", "open_cases", "original_results", "passes_words",
    "pooled_levels", "published_2019", "published_bank", "published_rematch", "published_rematch_results",
    "published_results", "published_rows", "rematch_results", "rematch_rows", "response_rows", "results",
    "saturations", "table_results", "throughput_latency", "under_load",
]  # fmt: skip
