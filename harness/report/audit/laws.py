# SPDX-License-Identifier: Apache-2.0
"""The numbers of one load, as printed, each with what its rounding leaves open; and what they owe each other.

A law is broken only where no rounding of the printed numbers can save it, and by more than ``TOLERANCE`` where the
law takes users for alike. Throughput *below* what latencies allow contradicts nothing: users may have waited inside
the load generator, or a few of them much longer than the rest. That is remarkable, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from harness.analysis.stats.scaling import closed_loop_per_s
from harness.model import Frozen
from harness.model.digits import plain

#: Of laws that take users for alike, as a share.
TOLERANCE = 0.10
#: Of rates beside counts over times: tools take the two ends of a load a little apart.
SAME = 0.03
#: A wrong unit is wrong by a thousand; what is a little too much has other reasons.
_OTHER_UNIT = 5.0
#: A percentile of so many requests bounds what all but a few took.
_NEARLY_ALL = 0.98
#: What a mean may exceed its bound by, as a share: tools take percentiles and mean of histograms of two digits.
_ROUNDED = 0.02
ORDER = "latencies are in order: least, mean and percentiles, greatest"
ERRORS = "the share of errors is errors over requests"
PARTS = "a part is no more than the whole"
RATE = "the rate is requests over duration"
LITTLE = "Little's law: no more requests under way than users"
PLAN = "requests are users times loops"
RAMP = "the rate follows from users, loops, ramp and response time"
OFFERED = "no more was answered than was offered"
MEMORY = "memory at the end is no less than at the start"
UNITS = "latencies are in the unit that they are said to be in"
COUNTS = "the labels add up to the total"
MEAN = "the mean of the total is that of its labels, weighted by requests"
ENDS = "least and greatest of the total are those of its labels"
PERCENTILES = "a percentile of the total lies between the least and the greatest of its labels"
RATES = "the total's rate is no more than the labels' together"


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A number in SI units. ``half``: half a step of its last digit, so it stood for value - half to value + half."""

    value: float
    half: float = 0.0

    @property
    def low(self) -> float:
        """The least that prints like this; not below zero."""
        return max(self.value - self.half, 0.0)

    @property
    def high(self) -> float:
        """The most that prints like this."""
        return self.value + self.half


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The load that was to be offered. ``None``: not known.

    ``users``, ``loops``, ``ramp_up_s``: of a closed loop, where each user sends ``loops`` requests one after another.
    ``rate_per_s``: of an open loop.
    """

    users: int | None = None
    loops: int | None = None
    ramp_up_s: float | None = None
    rate_per_s: float | None = None

    def over(self, plan: Plan) -> Plan:
        """Return this plan, with what it does not say from another one."""
        return replace(plan, **{name: value for name, value in vars(self).items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is said of one load, or of the requests of one name in it. ``None``, or left out: not said.

    ``quantiles_s``: share from 0 to 1 -> seconds. ``most_active``: the most users that were under way at once.
    ``recorded``: of how many requests the latencies are. ``unanswered``: requests that had no answer; rates are of
    answers.
    """

    rate_per_s: Printed | None = None
    mean_s: Printed | None = None
    min_s: Printed | None = None
    max_s: Printed | None = None
    quantiles_s: Mapping[float, Printed] = field(default_factory=dict)
    requests: Printed | None = None
    recorded: Printed | None = None
    errors: Printed | None = None
    unanswered: float = 0.0
    error_share: Printed | None = None
    duration_s: Printed | None = None
    most_active: Printed | None = None
    rss_start: Printed | None = None
    rss_end: Printed | None = None

    @property
    def says_nothing_of_load(self) -> bool:
        """There is neither a rate nor a latency nor a count."""
        known = (self.rate_per_s, self.mean_s, self.min_s, self.max_s, self.requests)
        return all(item is None for item in known) and not self.quantiles_s


#: ``remarkable``: possible, but something that is not printed has to explain it.
Outcome = Literal["holds", "contradiction", "remarkable", "not checked"]


class Check(Frozen):
    """One law held against one row, or against a whole file."""

    law: str
    outcome: Outcome
    text: str
    row: str | None = None
    line: int | None = None

    def at(self, row: str | None, line: int | None) -> Check:
        """Return the same check with the row that it speaks of."""
        return self.model_copy(update={"row": row, "line": line})


class Audited(Frozen):
    """One file. ``kind``: what was found in it, in words."""

    path: Path
    kind: str
    rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Check, ...]:
        """Return the checks with one outcome, in the order of the file."""
        return tuple(check for check in self.checks if check.outcome == outcome)

    def as_json(self) -> dict[str, Any]:
        """The file as a program reads it."""
        plain = self.model_dump(mode="json", exclude={"path"})
        return {"path": str(self.path), **plain}


def n_contradictions(files: Sequence[Audited]) -> int:
    """Return how many checks of all files found a contradiction."""
    return sum(len(file.of("contradiction")) for file in files)


def laws(figures: Figures, plan: Plan) -> Iterator[Check]:
    """Yield every check of one row; nothing of what it does not say."""
    yield from _order(figures)
    yield from _parts(figures, plan)
    whole = _whole(figures, plan)
    yield from _errors(figures, whole)
    yield from _rate(figures, whole)
    if plan.rate_per_s is None:
        yield from _little(figures, plan)
        yield from _ramp(figures, plan)
    else:
        yield from _offered(figures, plan.rate_per_s)
    yield from _memory(figures)


def near(law: str, expected: Printed, printed: Printed, what: str, tolerance: float = 0.0) -> Check:
    """Return whether two printed numbers can be the same, beyond rounding by ``tolerance`` (a share)."""
    fits = expected.low * (1 - tolerance) <= printed.high and printed.low <= expected.high * (1 + tolerance)
    return judged(
        law, fits, f"{what}: printed {_number(printed.value)}, the other numbers say {_span(expected)}"
    )


def _order(figures: Figures) -> Iterator[Check]:
    least, mean, greatest = (
        [] if each is None else [(name, each)]
        for name, each in (
            ("the least", figures.min_s),
            ("the mean", figures.mean_s),
            ("the greatest", figures.max_s),
        )
    )
    steps = [*least, *((_name(q), figures.quantiles_s[q]) for q in sorted(figures.quantiles_s)), *greatest]
    pairs = [*combinations(steps, 2), *product(least, mean), *product(mean, greatest)]
    wrong = [
        f"{lower} {_ms(less)} is above {upper} {_ms(more)}"
        for (lower, less), (upper, more) in pairs
        if less.low > more.high
    ]
    mean_above = _mean_above(figures)
    if mean_above is not None and greatest:
        wrong.append(mean_above)
    if len(steps) + len(mean) > 1:
        yield judged(ORDER, not wrong, "; ".join(wrong) or "in order")
    if mean_above is not None and not greatest:
        yield Check(law=ORDER, outcome="remarkable", text=f"{mean_above}: only a very slow rest explains it")


def _mean_above(figures: Figures) -> str | None:
    """A mean that the greatest percentile and the greatest latency do not allow; ``None``: they do."""
    if figures.mean_s is None or not figures.quantiles_s:
        return None
    share = max(figures.quantiles_s)
    top = figures.quantiles_s[share]
    most = top.high if figures.max_s is None else share * top.high + (1 - share) * figures.max_s.high
    if figures.mean_s.low <= most * (1 + _ROUNDED):
        return None
    beyond = "" if figures.max_s is None else f" and the greatest latency {_ms(figures.max_s)}"
    return f"the mean {_ms(figures.mean_s)} cannot be of requests with {_name(share)} {_ms(top)}{beyond}"


def _parts(figures: Figures, plan: Plan) -> Iterator[Check]:
    whole = figures.requests
    for name, part in (("errors", figures.errors), ("requests with a latency", figures.recorded)):
        if part is not None and whole is not None:
            text = f"{_number(part.value)} {name} of {_number(whole.value)} requests"
            yield judged(PARTS, part.low <= whole.high, text)
    if figures.error_share is not None:
        share = figures.error_share
        yield judged(PARTS, share.low <= 1, f"{plain(100 * share.value)} % errors")
    if figures.most_active is not None and plan.users is not None:
        text = f"{_number(figures.most_active.value)} users under way of {plan.users:,}"
        yield judged(PARTS, figures.most_active.low <= plan.users, text)


def _whole(figures: Figures, plan: Plan) -> Printed | None:
    """All requests: as printed, or as planned."""
    if figures.requests is not None or plan.users is None or plan.loops is None:
        return figures.requests
    return Printed(value=plan.users * plan.loops)


def _errors(figures: Figures, requests: Printed | None) -> Iterator[Check]:
    errors, share = figures.errors, figures.error_share
    if errors is None or share is None or requests is None or requests.value <= 0:
        return
    expected = Printed(value=100 * errors.value / requests.value)
    printed = Printed(value=100 * share.value, half=100 * share.half)
    yield near(ERRORS, expected, printed, "% of errors", tolerance=0.001)


def _rate(figures: Figures, requests: Printed | None) -> Iterator[Check]:
    duration, rate = figures.duration_s, figures.rate_per_s
    if requests is None or duration is None or rate is None or duration.value <= 0:
        return
    low = (requests.low - figures.unanswered) / duration.high
    high = (requests.high - figures.unanswered) / max(duration.low, 1e-9)
    yield near(RATE, _between(low, high), rate, "requests per second", SAME)


def _little(figures: Figures, plan: Plan) -> Iterator[Check]:
    rate, mean = figures.rate_per_s, figures.mean_s
    yield from _idle(figures, plan)
    if rate is None or mean is None:
        return
    if plan.users is None:
        yield Check(law=LITTLE, outcome="not checked", text="the number of users is not known")
        return
    least, flight = rate.low * mean.low, rate.value * mean.value
    text = (
        f"{_number(rate.value)}/s x {_ms(mean)} = {plain(flight)} requests under way, of {plan.users:,} users"
    )
    yield judged(LITTLE, least <= plan.users * (1 + TOLERANCE), text)
    if least / 1e3 <= plan.users < least / _OTHER_UNIT:
        text = f"a thousandth of the latency would fit: {plain(flight / 1e3)} requests under way"
        yield judged(UNITS, False, text)


def _idle(figures: Figures, plan: Plan) -> Iterator[Check]:
    """Users who always wait need ``users / rate`` for a request, on average: no more than nearly all requests took."""
    rate, users = figures.rate_per_s, plan.users
    if rate is None or users is None or not figures.quantiles_s or rate.high <= 0 or plan.loops is not None:
        return
    share = max(figures.quantiles_s)
    most, each = figures.quantiles_s[share], Printed(value=users / rate.high)
    if share < _NEARLY_ALL or each.value <= most.high * (1 + TOLERANCE):
        return
    yield Check(
        law=LITTLE,
        outcome="remarkable",
        text=f"{users:,} users / {_number(rate.value)}/s = {_ms(each)} a request, above {_name(share)} "
        f"{_ms(most)}: users were not all busy, or the last {_number(100 - 100 * share)} % took very long",
    )


def _ramp(figures: Figures, plan: Plan) -> Iterator[Check]:
    users, loops, mean, rate = plan.users, plan.loops, figures.mean_s, figures.rate_per_s
    if users is None or loops is None:
        return
    if figures.requests is not None:
        yield near(PLAN, Printed(value=users * loops), figures.requests, "requests")
    if mean is None or rate is None or plan.ramp_up_s is None:
        return
    fastest, usual, slowest, in_seconds = (
        _predicted(users, loops, each_s, plan.ramp_up_s)
        for each_s in (mean.low, mean.value, mean.high, mean.value * 1e3)
    )
    if usual is None or slowest is None:
        yield Check(law=RAMP, outcome="not checked", text="neither the ramp nor a response takes any time")
        return
    text = (
        f"printed {_number(rate.value)}/s, predicted {_number(usual)}/s (ratio {plain(rate.value / usual)})"
    )
    outcome: Outcome = "holds"
    if fastest is not None and rate.low > fastest * (1 + TOLERANCE):
        outcome = "contradiction"
        text += ": more than these response times allow"
    elif rate.high < slowest * (1 - TOLERANCE):
        outcome = "remarkable"
        text += ": time went by outside of the printed response times, in the load generator or with a few slow users"
    yield Check(law=RAMP, outcome=outcome, text=text)
    if outcome == "remarkable" and in_seconds is not None and abs(rate.value / in_seconds - 1) <= TOLERANCE:
        text = f"a thousand times the latency would fit: predicted {_number(in_seconds)}/s"
        yield judged(UNITS, False, text)


def _predicted(users: int, loops: int, mean_s: float, ramp_up_s: float) -> float | None:
    """Throughput of a closed plan; ``None``: it takes no time at all."""
    if ramp_up_s * (users - 1) + mean_s <= 0:
        return None
    return closed_loop_per_s(users=users, loops=loops, mean_response_s=mean_s, ramp_up_s=ramp_up_s)


def _offered(figures: Figures, rate_per_s: float) -> Iterator[Check]:
    rate = figures.rate_per_s
    if rate is None:
        return
    text = f"{_number(rate.value)}/s answered of {_number(rate_per_s)}/s offered"
    if rate.high < rate_per_s * (1 - SAME):
        yield Check(law=OFFERED, outcome="remarkable", text=f"{text}: the rate was not kept")
    else:
        yield judged(OFFERED, rate.low <= rate_per_s * (1 + SAME), text)


def _memory(figures: Figures) -> Iterator[Check]:
    start, end = figures.rss_start, figures.rss_end
    if start is None or end is None:
        return
    text = f"{plain(start.value / 1e6)} MB at the start, {plain(end.value / 1e6)} MB at the end"
    yield Check(law=MEMORY, outcome="holds" if start.low <= end.high else "remarkable", text=text)


def sums(total: Figures, parts: Sequence[Figures]) -> Iterator[Check]:
    """Yield every check of a total against its labels; nothing of what one of them does not say.

    Rates add up only roughly: tools divide each label by its own time, which is never longer than the total's.
    """
    if not parts:
        return
    for name in ("requests", "errors"):
        whole, each = getattr(total, name), _all(parts, name)
        if whole is not None and each is not None:
            added = Printed(value=sum(item.value for item in each), half=sum(item.half for item in each))
            yield near(COUNTS, added, whole, name)
    yield from _mean(total, parts)
    for name, quantity, choose in (("least", "min_s", min), ("greatest", "max_s", max)):
        whole, each = getattr(total, quantity), _all(parts, quantity)
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
        yield judged(RATES, fits, text)


def _mean(total: Figures, parts: Sequence[Figures]) -> Iterator[Check]:
    means, counts = _all(parts, "mean_s"), _all(parts, "requests")
    if total.mean_s is None or means is None or counts is None:
        return
    n = [count.value for count in counts]
    if sum(n) > 0:
        weighted, half = (
            sum(each * weight for each, weight in zip(numbers, n, strict=True)) / sum(n)
            for numbers in ([item.value for item in means], [item.half for item in means])
        )
        yield near(MEAN, _in_ms(Printed(value=weighted, half=half)), _in_ms(total.mean_s), "mean in ms", 1e-6)


def _percentile(share: float, whole: Printed, each: Sequence[Printed]) -> Check:
    low, high = min(item.low for item in each), max(item.high for item in each)
    fits = whole.high >= low and whole.low <= high
    ends = f"{plain(low * 1e3)} to {plain(high * 1e3)} ms"
    text = f"{_name(share)} of the total {plain(whole.value * 1e3)} ms, of its labels {ends}"
    if not fits:
        text += ": it is not that of the same requests"
    return judged(PERCENTILES, fits, text)


def _all(parts: Sequence[Figures], name: str) -> list[Printed] | None:
    """One number of every part; ``None``: one of them does not say it."""
    numbers = [getattr(part, name) for part in parts]
    return None if None in numbers else numbers


def _in_ms(number: Printed) -> Printed:
    return Printed(value=number.value * 1e3, half=number.half * 1e3)


def judged(law: str, holds: bool, text: str) -> Check:
    """Return whether a law holds, or is contradicted."""
    return Check(law=law, outcome="holds" if holds else "contradiction", text=text)


def _between(low: float, high: float) -> Printed:
    return Printed(value=(low + high) / 2, half=(high - low) / 2)


def _span(number: Printed) -> str:
    low, high = _number(number.low), _number(number.high)
    return low if low == high else f"{low} to {high}"


def _ms(number: Printed) -> str:
    return f"{plain(number.value * 1e3)} ms"


def _name(share: float) -> str:
    return f"p{100 * share:.6g}"


def _number(value: float) -> str:
    """A number much as it was printed: up to six digits, and no zeros that nobody wrote."""
    return f"{value:,.6g}"
