# SPDX-License-Identifier: Apache-2.0
"""What a total owes to the labels that it sums up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from harness.audit.figures import Check, Figures, Printed
from harness.audit.laws import SAME, near
from harness.model.digits import plain

COUNTS = "the labels add up to the total"
MEAN = "the mean of the total is that of its labels, weighted by requests"
ENDS = "least and greatest of the total are those of its labels"
PERCENTILES = "a percentile of the total lies between the least and the greatest of its labels"
RATES = "the total's rate is no more than the labels' together"


def sums(total: Figures, parts: Sequence[Figures]) -> Iterator[Check]:
    """Yield every check of a total against its labels; nothing of what one of them does not say.

    Rates add up only roughly: tools divide each label by its own time, which is never longer than the total's.
    """
    if not parts:
        return
    for name in ("requests", "errors"):
        whole, each = getattr(total, name), _all(parts, name)
        if whole is not None and each is not None:
            added = Printed(value=sum(one.value for one in each), half=sum(one.half for one in each))
            yield near(COUNTS, added, whole, name)
    yield from _mean(total, parts)
    for name, field, choose in (("least", "min_s", min), ("greatest", "max_s", max)):
        whole, each = getattr(total, field), _all(parts, field)
        if whole is not None and each is not None:
            end = choose(each, key=attrgetter("value"))
            yield near(ENDS, _in_ms(end), _in_ms(whole), f"{name} latency in ms")
    for share, quantile in sorted(total.quantiles_s.items()):
        each = [part.quantiles_s[share] for part in parts if share in part.quantiles_s]
        if len(each) == len(parts):
            yield _percentile(share, quantile, each)
    rates = _all(parts, "rate_per_s")
    if total.rate_per_s is not None and rates is not None:
        together = sum(rate.high for rate in rates)
        fits = total.rate_per_s.low <= together * (1 + SAME)
        text = f"total {plain(total.rate_per_s.value, 5)}/s, labels {plain(together, 5)}/s"
        yield Check(law=RATES, outcome="holds" if fits else "contradiction", text=text)


def _mean(total: Figures, parts: Sequence[Figures]) -> Iterator[Check]:
    means, counts = _all(parts, "mean_s"), _all(parts, "requests")
    if total.mean_s is None or means is None or counts is None:
        return
    n = sum(count.value for count in counts)
    if n <= 0:
        return
    weighted = sum(one.value * count.value for one, count in zip(means, counts, strict=True)) / n
    half = sum(one.half * count.value for one, count in zip(means, counts, strict=True)) / n
    yield near(
        MEAN,
        Printed(value=weighted * 1e3, half=half * 1e3),
        _in_ms(total.mean_s),
        "mean in ms",
        tolerance=1e-6,
    )


def _percentile(share: float, whole: Printed, each: Sequence[Printed]) -> Check:
    low, high = min(one.low for one in each), max(one.high for one in each)
    fits = whole.high >= low and whole.low <= high
    name = f"p{100 * share:.6g}"
    ends = f"{plain(low * 1e3)} to {plain(high * 1e3)} ms"
    said = f"{name} of the total {plain(whole.value * 1e3)} ms, of its labels {ends}"
    if not fits:
        said += ": it is not that of the same requests"
    return Check(law=PERCENTILES, outcome="holds" if fits else "contradiction", text=said)


def _all(parts: Sequence[Figures], name: str) -> list[Printed] | None:
    """One number of every part; ``None``: one of them does not say it."""
    numbers = [getattr(part, name) for part in parts]
    return None if None in numbers else numbers


def _in_ms(number: Printed) -> Printed:
    return Printed(value=number.value * 1e3, half=number.half * 1e3)
