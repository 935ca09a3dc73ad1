# SPDX-License-Identifier: Apache-2.0
"""What a load that offers a rate, and one that is a fixed amount of work, each say of a service.

A fixed amount of work ends with its slowest user, so right answers over that time are no rate that a service could
keep up. Such a load says how long the work took. A load that offers a rate for a time says which rate of right answers
the service kept up in that time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad

#: Answers count from here on, as a share of the time in which requests are offered: before, first passes are under way.
STEADY_FROM = 0.5


def offered_for_s(profile: LoadProfile) -> float | None:
    """Return for how long a load offers a rate, in seconds; ``None``: it offers none, or with pauses between.

    Users who come once, spread over a ramp, are arrivals.
    """
    if isinstance(profile, OpenLoad):
        return profile.duration_s if profile.parts == 1 else None
    return profile.ramp_up_s if profile.loops == 1 and profile.ramp_up_s > 0 else None


def sustained_per_s(start_epoch_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike, offered_s: float) -> float:
    """Return right answers per second in the second half of the time in which requests were offered.

    Args:
        start_epoch_s, latency_s, ok: of every request of the load, shape (n,), n above zero.
        offered_s: for how long requests were offered, from the first one on.
    """
    start = np.asarray(start_epoch_s, dtype=np.float64)
    answered_s = start - start.min() + np.asarray(latency_s, dtype=np.float64)
    from_s = STEADY_FROM * offered_s
    within = (answered_s > from_s) & (answered_s <= offered_s) & np.asarray(ok, dtype=np.bool_)
    return float(np.count_nonzero(within) / (offered_s - from_s))


def serve_s(profile: LoadProfile, load: LoadSummary) -> float | None:
    """Return the time to serve a fixed amount of work, in seconds: first request to last answer.

    ``None``: the load is no fixed amount of work, or not all of it was answered rightly. A service that refuses is done
    sooner, and has served nothing.
    """
    if not isinstance(profile, ClosedLoad) or profile.loops is None or load.duration_s <= 0:
        return None
    lost = load.n_errors or load.n_dropped or (load.n_flows_right != load.n_flows)
    return None if lost else load.duration_s
