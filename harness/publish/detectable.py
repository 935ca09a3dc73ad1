# SPDX-License-Identifier: Apache-2.0
"""What is said of the smallest ratios that a session tells from 1: numbers of each pair, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.analysis.stats.detectable import BLOCKS, POWER, PowerCurve
from harness.model import Estimate
from harness.model.digits import percent, whole_percent
from harness.publish.results import NO_TEXT, Leaf, Words

#: In the sentence, in this order.
_WORDS = {
    "throughput_per_s": "throughput",
    "cpu_s_per_request": "CPU time per request",
    "rss_after_bytes": "memory",
    "time_to_first_response_s": "time to first answer",
    "latency_p99_s": "99th percentile of latency",
}


def detectable_sentence(found: Mapping[str, Sequence[PowerCurve]], variants: Mapping[str, str]) -> Leaf:
    """Return from which differences on 5, 10 and 20 blocks find one in 80 % of sessions, one sentence a metric."""
    said = [sentence for curves in found.values() if (sentence := _of_metric(curves, variants))]
    if not said:
        return NO_TEXT
    inputs = dict.fromkeys(
        path for curves in found.values() for one in curves for path in one.smallest[0].ratio.inputs
    )
    head = (
        f"The smallest differences that {_and(map(str, BLOCKS))} blocks like those of this session find in "
    )
    head += f"{whole_percent(POWER)} of sessions, in "
    return Words(head + ". In ".join(said) + ".", tuple(inputs))


def smallest_differences(curve: PowerCurve) -> list[str]:
    """Return the smallest difference at each number of blocks, as a share of the reference; a dash: cannot be said."""
    return [_difference(one.ratio) for one in curve.smallest]


def _of_metric(curves: Sequence[PowerCurve], variants: Mapping[str, str]) -> str | None:
    told = [one for one in curves if all(point.ratio.value is not None for point in one.smallest)]
    twice = [one for one in told if one.twice]
    others = sorted(
        (one for one in told if not one.twice), key=lambda one: one.smallest[-1].ratio.value or 0.0
    )
    parts = [f"equal processes {_and(smallest_differences(one))}" for one in twice[:1]]
    parts += [
        f"{variants.get(one.variant, one.variant)} {_and(smallest_differences(one))}"
        for one in (*others[:1], *others[1:][-1:])
    ]
    if not parts:
        return None
    metric, reference = curves[0].metric, curves[0].reference
    against = f" against {variants.get(reference, reference)}" if others else ""
    return f"{_WORDS.get(metric, metric)}{against}: {'; '.join(parts)}"


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _difference(ratio: Estimate) -> str:
    return "–" if ratio.value is None else percent(ratio.value - 1)
