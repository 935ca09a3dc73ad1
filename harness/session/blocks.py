# SPDX-License-Identifier: Apache-2.0
"""How many blocks fit into a time, by the estimate of the dry run."""

from __future__ import annotations

import math

from harness.errors import InputError
from harness.session.dry_run import session_s
from harness.session.planning import MOST_BLOCKS, Prepared, with_blocks
from harness.session.wiring import Assembly


def within_minutes(assembly: Assembly, prepared: Prepared, minutes: float) -> Prepared:
    """Return the same plan with as many whole blocks as fit into ``minutes``, and one at least.

    What comes once (headroom, memory) is counted; builds are not, as in every estimate.

    Raises:
        InputError: ``minutes`` is not a time.
    """
    if not (math.isfinite(minutes) and minutes > 0):
        raise InputError(
            "not a time to measure for", place="--minutes", found=minutes, allowed="more than 0 minutes"
        )
    one, two = with_blocks(prepared, 1), with_blocks(prepared, 2)
    one_s = session_s(assembly, one)
    block_s = session_s(assembly, two) - one_s
    more = math.floor((minutes * 60.0 - one_s) / block_s)
    return with_blocks(prepared, min(MOST_BLOCKS, 1 + max(0, more)))
