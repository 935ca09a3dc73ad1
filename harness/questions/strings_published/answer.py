# SPDX-License-Identifier: Apache-2.0
"""The answer in sentences: what a log line costs, whether it costs more than all else, and whether its lock does.

Directions are those of the verdicts; where there is none, the sentence says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.model import Estimate, Verdict
from harness.model.age import in_young, named_with_age, with_age
from harness.model.digits import plain, whole_percent
from harness.model.formatting import OF_FEW, show, too_few
from harness.model.phrases import capital, cores_in_words, listed
from harness.questions.strings_published.analysis import Waits

#: CPU time per request with a line over that without: above it, the line costs more than all else.
TWICE = 2.0


def where(cpus: Sequence[float]) -> str:
    """Return what each service had: "one core"."""
    return cores_in_words(cpus[0]) if len(cpus) == 1 else "different numbers of cores"


def log_answer(found: Mapping[str, Comparison], labels: Mapping[str, str]) -> str:
    """Return what a line per request leaves of each program's throughput; empty: nothing was compared."""
    if not found:
        return ""
    said = "; ".join(f"{labels[name]} {with_age(_left(one), one.young)}" for name, one in found.items())
    n_blocks = max(one.n_blocks for one in found.values())
    return (
        f"Throughput at saturation with a line per request over that without: {said}. "
        f"Ratios with 95 % intervals over {n_blocks} blocks of fresh processes."
    )


def half_answer(found: Mapping[str, Comparison], labels: Mapping[str, str]) -> str:
    """Return for which programs a line costs more CPU time than all else; empty: nothing was compared.

    Decided by the interval: where it has 2 in it, neither is said.
    """
    groups: dict[str, list[str]] = {}
    for name, one in found.items():
        groups.setdefault(_half(one), []).append(named_with_age(labels[name], one.young))
    told = [f"{kind} than half in {listed(groups[kind])}" for kind in ("more", "less") if kind in groups]
    said = [f"the log line takes {' and '.join(told)}."] if told else []
    it = "it" if told else "the log line"
    if "open" in groups:
        said.append(f"whether {it} takes more than half in {listed(groups['open'])} is not shown.")
    if "refused" in groups:
        said.append(f"nothing can be said of its part in {listed(groups['refused'])}.")
    if not said:
        return ""
    first, *rest = said
    return " ".join([f"Of the CPU time per request, {first}", *map(capital, rest)])


def lock_answer(found: Comparison | None, cpus: Sequence[float]) -> str:
    """Return whether the lock of ``java.util.logging`` limits Helidon with a log line; empty: it was not measured.

    Args:
        found: throughput at saturation of the program whose threads share no lock, over the published one.
    """
    if found is None:
        return ""
    place = where(cpus)
    if found.verdict == Verdict.NOT_ABOUT_SERVICES:
        return f"Whether the lock of java.util.logging limits Helidon on {place} cannot be said: {found.not_about}."
    ratio = _times(found.ratio)
    more = found.ratio.value is not None and found.ratio.value > 1
    few = OF_FEW if too_few(found.verdict, found.ratio) else ""
    said = {
        Verdict.DIFFERENT: f"answered {'more' if more else 'fewer'} requests per second ({ratio}): the lock is "
        f"{'a cost' if more else 'not the limit'}",
        Verdict.DIFFERENT_BUT_NEGLIGIBLE: f"answered negligibly {'more' if more else 'fewer'} requests per second "
        f"({ratio}): the lock is not the limit",
        Verdict.EQUIVALENT: f"answered as many requests per second within {whole_percent(found.margin or 0.0)} "
        f"({ratio}): the lock is not the limit",
        Verdict.INCONCLUSIVE: f"is {few}not shown to answer more or fewer requests per second ({ratio})",
    }[found.verdict]
    alone = " With one core for the service, one thread runs at a time." if tuple(cpus) == (1.0,) else ""
    return (
        f"On {place}, {in_young('Helidon', found.young)} with a log line and no lock that threads share {said}. "
        f"That is over {found.n_blocks} blocks, against the same program with the published lock.{alone}"
    )


def waits_in_words(waits: Waits) -> str:
    """Return how often threads waited for the handler's lock: "threads waited for the handler's lock 12 times ..."."""
    n = f"{plain(waits.n_waits)} times in {plain(waits.n_requests)} requests"
    mean = "" if not waits.n_waits else f", for {_microseconds(waits.waited_s / waits.n_waits)} on average"
    return f"threads waited for the handler's lock {n}{mean}"


def _left(found: Comparison) -> str:
    if found.verdict == Verdict.NOT_ABOUT_SERVICES:
        return f"({found.not_about}: nothing can be said)"
    ratio = _times(found.ratio)
    if found.verdict == Verdict.INCONCLUSIVE:
        return f"{ratio}, {OF_FEW if too_few(found.verdict, found.ratio) else ''}not shown to differ from 1"
    if found.verdict == Verdict.EQUIVALENT:
        return f"{ratio}, equivalent within {whole_percent(found.margin or 0.0)}"
    return ratio


def _half(found: Comparison) -> str:
    low, high = found.ratio.low, found.ratio.high
    if found.verdict == Verdict.NOT_ABOUT_SERVICES or low is None or high is None:
        return "refused"
    return "more" if low > TWICE else "less" if high < TWICE else "open"


def _times(ratio: Estimate) -> str:
    """``1.20 (1.10 to 1.30)``; without a value the reason why there is none."""
    shown = show(ratio)
    return shown.reason or shown.interval


def _microseconds(seconds: float) -> str:
    shown = show(Estimate(value=seconds, unit="s", method="as is", estimand="mean wait", n_trials=0))
    return shown.text


__all__ = [
    "TWICE",
    "half_answer",
    "lock_answer",
    "log_answer",
    "waits_in_words",
    "where",
]
