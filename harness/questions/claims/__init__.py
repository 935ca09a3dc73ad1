# SPDX-License-Identifier: Apache-2.0
"""What became of what articles claim: every claim of the ledgers with its verdict."""

from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, counts, judge_claims
from harness.questions.claims.published import PublishedTables
from harness.questions.claims.results import (
    COLUMNS,
    FRONT_COLUMNS,
    FRONT_WIDTHS,
    TABLES,
    WIDTHS,
    as_table,
    experiments,
    front_rows,
    judge_all,
    results,
    table_rows,
)
from harness.questions.claims.sessions import newest_evidence

__all__ = [
    "COLUMNS", "FRONT_COLUMNS", "FRONT_WIDTHS", "TABLES", "WIDTHS", "JudgedClaim", "JudgedTest", "PublishedTables",
    "as_table", "counts", "experiments", "front_rows", "judge_all", "judge_claims", "newest_evidence", "results",
    "table_rows",
]  # fmt: skip
