# SPDX-License-Identifier: Apache-2.0
"""What is said of the smallest ratios that a session tells from 1: numbers of each pair, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.detectable import BLOCKS, POWER, PowerCurve
from harness.model import Estimate
from harness.model.digits import percent, whole_percent
from harness.publish.results import NO_TEXT, Absent, Leaf, Tree, Words, for_each

#: In the sentence, in this order.
_WORDS = {
    "throughput_per_s": "throughput",
    "cpu_s_per_request": "CPU time per request",
    "rss_after_bytes": "memory",
    "time_to_first_response_s": "time to first answer",
    "latency_p99_s": "99th percentile of latency",
}


def detectable_tree(
    found: Mapping[str, Sequence[PowerCurve]], variants: Mapping[str, str], *, reference: str
) -> Tree:
    """Return ``<branch>.blocks_<n>.<variant>``, the reference's own against its duplicate, and the sentence ``text``.

    Args:
        found: branch -> curves of one metric in one cell; empty: not measured.
    """
    return {
        **{
            branch: {
                f"blocks_{n}": for_each(
                    variants, {one.variant: one.at(n) for one in curves}, Absent(unit="ratio")
                )
                for n in BLOCKS
            }
            for branch, curves in found.items()
        },
        "text": detectable_sentence(found, variants, reference=reference),
    }


def detectable_sentence(
    found: Mapping[str, Sequence[PowerCurve]], variants: Mapping[str, str], *, reference: str
) -> Leaf:
    """Return one sentence a metric: from which difference on 5, 10 and 20 blocks find one in 80 % of sessions."""
    said = [sentence for curves in found.values() if (sentence := _of_metric(curves, variants, reference))]
    if not said:
        return NO_TEXT
    inputs = dict.fromkeys(
        path for curves in found.values() for one in curves for path in one.smallest[0].ratio.inputs
    )
    blocks = f"{', '.join(map(str, BLOCKS[:-1]))} and {BLOCKS[-1]}"
    head = f"Smallest differences that {blocks} blocks on this machine find in {whole_percent(POWER)} of sessions: "
    return Words(head + "; ".join(said) + ".", tuple(inputs))


def smallest_differences(curve: PowerCurve) -> list[str]:
    """Return the smallest difference at each number of blocks, as a share of the reference; a dash: cannot be said."""
    return [_difference(one.ratio) for one in curve.smallest]


def _of_metric(curves: Sequence[PowerCurve], variants: Mapping[str, str], reference: str) -> str | None:
    told = [one for one in curves if all(point.ratio.value is not None for point in one.smallest)]
    twice = [one for one in told if one.twice]
    others = sorted(
        (one for one in told if not one.twice), key=lambda one: one.smallest[-1].ratio.value or 0.0
    )
    parts = [f"{', '.join(smallest_differences(one))} between equal processes" for one in twice[:1]]
    named = dict.fromkeys((others[0].variant, others[-1].variant)) if others else {}
    ends = {one.variant: one for one in others}
    parts += [
        f"{', '.join(smallest_differences(ends[name]))} for {variants.get(name, name)}" for name in named
    ]
    if not parts:
        return None
    label = variants.get(reference, reference)
    against = f" against {label}" if others else f" of {label}"
    metric = curves[0].metric
    return f"{_WORDS.get(metric, metric)}{against}: {', '.join(parts)}"


def _difference(ratio: Estimate) -> str:
    return "–" if ratio.value is None else percent(ratio.value - 1)
