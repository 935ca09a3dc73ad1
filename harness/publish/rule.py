# SPDX-License-Identifier: Apache-2.0
"""The limits of the rule that decides what a comparison says, as values that the text of the paper uses."""

from __future__ import annotations

from harness.analysis.stats.verdicts import (
    ALPHA,
    DEFAULT_MARGIN,
    FEWEST_FOR_P,
    MEMORY_MARGIN,
    MOST_NOISE,
    TAIL_MARGIN,
)
from harness.model.digits import fixed, whole_percent
from harness.publish.results import Tree


def rule() -> Tree:
    """Return the constants of the analysis as a reader writes them; ``inner_level`` is that of the interval of two
    one-sided tests."""
    return {
        "alpha": fixed(ALPHA, 2),
        "level": whole_percent(1 - ALPHA),
        "inner_level": whole_percent(1 - 2 * ALPHA),
        "margin": whole_percent(DEFAULT_MARGIN),
        "tail_margin": whole_percent(TAIL_MARGIN),
        "most_noise": whole_percent(MOST_NOISE),
        "memory_margin": whole_percent(MEMORY_MARGIN),
        "fewest_blocks": str(FEWEST_FOR_P),
    }
