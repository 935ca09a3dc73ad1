# SPDX-License-Identifier: Apache-2.0
"""What the place in a duet does to a metric: who is earlier in the plan, and on which half of the CPUs one begins.

Both are drawn for each pair, so neither can move the mean of a ratio; here it is shown how large they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing
from harness.model import DuetSeat, Estimate

#: Session and trial id.
TrialKey = tuple[str, str]
#: Name -> what the ratio is of.
PLACES = {
    "earlier": "the arm that is earlier in the plan over the other",
    "first_half": "the arm that begins on the first half of the CPUs over the other",
}
METHOD = "least squares of log ratios over pairs, one mean a pair of variants"


def position_effects(
    trials: pd.DataFrame, seats: Mapping[TrialKey, DuetSeat], metric: str, *, level: float = 0.95
) -> dict[str, Estimate]:
    """Return the ratio that each of ``PLACES`` makes of a metric, with an interval over pairs.

    The log ratio of a pair's earlier arm to the other one is the sum of what the two variants differ by, of being
    earlier, and of beginning on the first half. A pair counts once. Without a value where the pairs are too few, or
    one place always goes with the other.

    Args:
        trials: of duets. seats: where each trial began, from the plan. metric: a column of positive numbers.

    Raises:
        InputError: a column is missing, or the metric is no number.
    """
    require(trials, metric, ())
    kept, warnings = split_missing(split_excluded(trials)[0], metric)
    kept = kept[kept[metric] > 0]
    rows = {
        (str(s), str(t)): at
        for at, (s, t) in enumerate(zip(kept["session_id"], kept["trial_id"], strict=True))
    }
    pairs = [
        (rows[key], rows[key[0], seat.partner], seat)
        for key, seat in seats.items()
        if seat.leads and key in rows and (key[0], seat.partner) in rows
    ]
    used = kept.iloc[sorted({at for one, other, _ in pairs for at in (one, other)})]
    x = _design(kept, pairs)
    values = np.log(kept[metric].to_numpy(dtype=np.float64))
    y = np.array([values[one] - values[other] for one, other, _ in pairs])
    found = _least_squares(x, y, level) if len(y) else None
    if found is None:
        warnings = (*warnings, f"{len(pairs)} pairs do not tell the places apart")
    return {
        name: Estimate(
            value=None if found is None else float(np.exp(found[0][place])),
            low=None if found is None else float(np.exp(found[0][place] - found[1][place])),
            high=None if found is None else float(np.exp(found[0][place] + found[1][place])),
            level=level,
            unit="ratio",
            method=METHOD,
            estimand=f"{metric}: {words}",
            n_trials=len(used),
            inputs=inputs_of(used),
            warnings=warnings,
        )
        for place, (name, words) in enumerate(PLACES.items())
    }


def _design(kept: pd.DataFrame, pairs: Sequence[tuple[int, int, DuetSeat]]) -> Floats:
    """Columns: being earlier; beginning on the first half; for each pair of variants which of them is the earlier."""
    variants = kept["variant"].astype(str).tolist()
    cells = kept["configuration"].astype(str).tolist()
    differ = sorted({tuple(sorted((cells[a], cells[b]))) for a, b, _ in pairs if variants[a] != variants[b]})
    rows = [
        [
            1.0,
            1.0 if seat.side == 0 else -1.0,
            *(
                (1.0 if cells[a] == one[0] else -1.0) if tuple(sorted((cells[a], cells[b]))) == one else 0.0
                for one in differ
            ),
        ]
        for a, b, seat in pairs
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2 + len(differ))


def _least_squares(x: Floats, y: Floats, level: float) -> tuple[Floats, Floats] | None:
    """Return coefficients and half of their intervals; ``None``: they are not determined."""
    free = len(y) - x.shape[1]
    if free < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        return None
    inverse = np.linalg.inv(x.T @ x)
    found = inverse @ x.T @ y
    spread = float(np.sum((y - x @ found) ** 2)) / free
    half = float(t_critical(level, free)) * np.sqrt(spread * np.diag(inverse))
    return found, half
