# SPDX-License-Identifier: Apache-2.0
"""What became of what articles claim: every claim of the ledgers with its verdicts, from rows."""

from harness.questions.claims.dataset import (
    as_table,
    data_set,
    experiments,
    judge_all,
    of_bundled,
    results,
)
from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, counts, judge_claims
from harness.questions.claims.rows import PublishedTables, newest_sessions

__all__ = [
    "JudgedClaim", "JudgedTest", "PublishedTables", "as_table", "counts", "data_set", "experiments", "judge_all",
    "judge_claims", "newest_sessions", "of_bundled", "results",
]  # fmt: skip
