# SPDX-License-Identifier: Apache-2.0
"""Made-up tables of trials: what every row has is filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

_USUAL = {
    "experiment": "e", "source": "measured", "session_id": "s", "duplicate": False, "excluded": False, "flags": "",
}  # fmt: skip


def trial_table(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return a table of trials in the order of their session; ``rows``: block, variant, and what differs."""
    return pd.DataFrame(
        _USUAL | {"trial_id": f"{n:04d}-{row['variant']}", "position": n, "configuration": row["variant"]} | dict(row)
        for n, row in enumerate(rows, 1)
    )  # fmt: skip
