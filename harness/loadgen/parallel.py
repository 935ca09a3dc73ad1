# SPDX-License-Identifier: Apache-2.0
"""One load offered by several generators: how it is divided, and how their reports become one.

Each generator has its own share, seed and folder. None commands the others: a master that collects rows over the
network (Locust's distributed mode, JMeter's remote engines) may itself be the limit, and puts rows on nobody's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from harness.errors import UnsupportedLoad
from harness.model import AnswerCount, ClosedLoad, LoadProfile, LoadSummary

#: Seeds of the generators of one trial lie this close, seeds of two trials never do.
_SEEDS_APART = 1009

Number = TypeVar("Number", int, float)


def shares(profile: LoadProfile, n: int) -> tuple[LoadProfile, ...]:
    """Return the load of each of ``n`` generators; together they offer ``profile``. Users are divided as evenly as
    whole users can be, a rate of random arrivals by ``n``.

    Raises:
        UnsupportedLoad: fewer users than generators, or evenly spaced arrivals, which several cannot space evenly.
    """
    if n == 1:
        return (profile,)
    if isinstance(profile, ClosedLoad):
        if profile.stages:
            raise UnsupportedLoad(f"stages of users are one generator's, and {n} were asked for")
        if profile.users < n:
            raise UnsupportedLoad(f"{profile.users} users cannot be divided among {n} load generators")
        least, more = divmod(profile.users, n)
        return tuple(profile.model_copy(update={"users": least + (i < more)}) for i in range(n))
    if profile.arrivals == "constant":
        raise UnsupportedLoad(
            f"{n} load generators cannot space arrivals evenly among them: choose arrivals = 'poisson', or one"
        )
    share = {"rate_per_s": profile.rate_per_s / n, "connections": -(-profile.connections // n)}
    return (profile.model_copy(update=share),) * n


def seed_of(seed: int, number: int, n: int) -> int:
    """Return the seed of one generator, counted from 1; a single one has the trial's own."""
    return seed if n == 1 else seed * _SEEDS_APART + number


def merge_summaries(parts: Sequence[LoadSummary]) -> LoadSummary:
    """Return one report of all generators: counts are sums, and the time is from the first start to the last end.

    A printed quantile cannot be merged and is left out: where there are rows, they tell.
    """
    known = [part.start_epoch_s for part in parts if part.start_epoch_s is not None]
    start = min(known) if len(known) == len(parts) else None
    duration_s = max(part.duration_s for part in parts)
    if start is not None:
        duration_s = max(begun + part.duration_s for begun, part in zip(known, parts, strict=True)) - start
    answers = sum(part.achieved_per_s * part.duration_s for part in parts)
    kinds: Counter[str] = Counter()
    for part in parts:
        kinds.update(part.errors_by_kind)
    counted = [part.n_requests if part.n_latencies is None else part.n_latencies for part in parts]
    checked = [part.bodies_checked for part in parts]
    return LoadSummary(
        n_requests=sum(part.n_requests for part in parts),
        n_errors=sum(part.n_errors for part in parts),
        start_epoch_s=start,
        duration_s=duration_s,
        offered_per_s=_sum([part.offered_per_s for part in parts]),
        achieved_per_s=answers / duration_s if duration_s > 0 else 0.0,
        latency_mean_s=_mean([part.latency_mean_s for part in parts], counted),
        n_latencies=None if all(part.n_latencies is None for part in parts) else sum(counted),
        latency_method="; ".join(dict.fromkeys(part.latency_method for part in parts if part.latency_method))
        or None,
        resolution_s=max(part.resolution_s for part in parts),
        has_requests=all(part.has_requests for part in parts),
        n_dropped=_sum([part.n_dropped for part in parts]),
        n_flows=_sum([part.n_flows for part in parts]),
        n_flows_right=_sum([part.n_flows_right for part in parts]),
        late_share=_mean([part.late_share for part in parts], [part.n_requests for part in parts]),
        bodies_checked=None if None in checked else all(checked),
        unreadable_lines=sum(part.unreadable_lines for part in parts),
        errors_by_kind=dict(kinds.most_common()),
        answers=_answers(parts),
    )


def _answers(parts: Sequence[LoadSummary]) -> dict[str, AnswerCount]:
    if not all(part.answers for part in parts):
        return {}
    sent: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for part in parts:
        for name, count in part.answers.items():
            sent[name] += count.n_requests
            right[name] += count.n_right
    return {name: AnswerCount(n_requests=n, n_right=right[name]) for name, n in sent.items()}


def _sum(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(means: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [mean * n for mean, n in zip(means, weights, strict=True) if mean is not None]
    total = sum(weights)
    return sum(known) / total if len(known) == len(means) and total else None
