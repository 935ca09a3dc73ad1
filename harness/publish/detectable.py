# SPDX-License-Identifier: Apache-2.0
"""What is said of the smallest ratios that a session tells from 1: numbers of each pair, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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


def detectable_tree(found: Mapping[str, Sequence[PowerCurve]], variants: Mapping[str, str]) -> Tree:
    """Return ``<branch>.blocks_<n>.<variant>``, the reference's own against its duplicate, and in words ``text`` of all
    branches, and ``short``: of the first, the least and the largest in one sentence.

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
        "text": detectable_sentence(found, variants),
        "short": _short(next(iter(found.values()), ()), variants),
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


def _short(curves: Sequence[PowerCurve], variants: Mapping[str, str]) -> Leaf:
    """The smallest differences from the reference that as many blocks as were measured find: of the variant that varies
    least and of the one that varies most."""
    pairs = [one for one in curves if not one.twice]
    if not pairs:
        return NO_TEXT
    n_blocks = max((n for n in BLOCKS if n <= max(one.n_pairs for one in pairs)), default=BLOCKS[0])
    at = [(found.value - 1, one) for one in pairs if (found := one.at(n_blocks)) and found.value is not None]
    if not at:
        return NO_TEXT
    at.sort(key=lambda each: each[0])
    (least, steady), (most, varying) = at[0], at[-1]
    names = [variants.get(one.variant, one.variant) for one in (steady, varying)]
    metric = _WORDS.get(steady.metric, steady.metric)
    text = f"The smallest difference in {metric} that {n_blocks} blocks like those of this session find in "
    text += f"{whole_percent(POWER)} of sessions is {percent(least)}"
    if len(at) > 1:
        text += f" for the service that varies least ({names[0]}) and {percent(most)} for the one that varies most"
    text += f" ({names[-1]})."
    inputs = dict.fromkeys(path for one in pairs for path in one.smallest[0].ratio.inputs)
    return Words(text, tuple(inputs))


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
