# SPDX-License-Identifier: Apache-2.0
"""The published comparison of string services, measured again."""

from harness.publish.comparisons import comparison_columns, comparison_notes, margin_note, noise_results
from harness.questions.strings.figures import published_arithmetic
from harness.questions.strings.headline import headline
from harness.questions.strings.published import published_results, published_rounds, published_rows
from harness.questions.strings.results import finding_of, payload_sizes, results
from harness.questions.strings.sequels import (
    published_round3,
    published_sequel,
    round3_results,
    sequel_results,
)

__all__ = [
    "comparison_columns",
    "comparison_notes",
    "finding_of",
    "headline",
    "margin_note",
    "noise_results",
    "payload_sizes",
    "published_arithmetic",
    "published_results",
    "published_round3",
    "published_rounds",
    "published_rows",
    "published_sequel",
    "results",
    "round3_results",
    "sequel_results",
]
