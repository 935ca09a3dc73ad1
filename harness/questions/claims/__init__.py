# SPDX-License-Identifier: Apache-2.0
"""What became of what articles claim: every claim of the ledgers with its verdict."""

from harness.questions.claims.evaluation import JudgedClaim, JudgedTest, counts, judge_claims
from harness.questions.claims.published import PublishedTables
from harness.questions.claims.results import as_table, experiments, judge_all, results
from harness.questions.claims.sessions import newest_evidence

__all__ = [
    "JudgedClaim", "JudgedTest", "PublishedTables", "as_table", "counts", "experiments", "judge_all", "judge_claims",
    "newest_evidence", "results",
]  # fmt: skip
