# SPDX-License-Identifier: Apache-2.0
"""What makes a comparison of two arms say something else than it seems to: twelve traps, each with its name.

A trap may withhold verdicts, of some metrics or of all. The ratio and its interval are shown all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import median

from harness.model.digits import percent, plain
from harness.report.compare.result import LATENCIES, METRICS, NAMES, Arms, Run, Trap
from harness.report.loop import Kind

#: Rates of an open loop that differ by more are different loads.
_SAME_RATE = 0.05
#: Runs of a rate that varies less than this were told their rate.
_GIVEN_RATE = 0.01
#: Of all pairs of runs, the share in which one arm came first.
_ONE_FIRST = 0.9
#: Medians that differ by about a thousand, or a million.
_UNITS = ((300.0, 3300.0), (3e5, 3.3e6))
#: Requests that failed, as a share, from which their speed matters.
_SOME_ERRORS = 0.01
#: A run of less than this share of its arm's usual length was cut.
_SHORT = 0.5
#: Shares of a request's name that differ by more are another mix.
_SAME_MIX = 0.05
_FREQUENT = 0.01


def _one_run(arms: Arms) -> str | None:
    """An arm of one run: how much runs of it differ is not known."""
    alone = [name for name, runs in zip(NAMES, arms, strict=True) if len(runs) == 1]
    if not alone:
        return None
    text = "one run each" if len(alone) == 2 else f"one run in arm {alone[0]}"
    return f"{text}: no verdict; how much runs of the same arm differ is not known, so make 5 or more of each"


def _different_rates(arms: Arms) -> str | None:
    """An open loop with different rates: the load differs, not the service."""
    rates = [[run.rate_per_s for run in runs if run.rate_per_s is not None] for runs in arms]
    if not all(rates) or any(run.loop == "closed" for run in _all(arms)):
        return None
    known_open = all(run.loop == "open" for run in _all(arms))
    given = all(len(some) > 1 and max(some) - min(some) <= _GIVEN_RATE * median(some) for some in rates)
    a, b = (median(some) for some in rates)
    if not (known_open or given) or max(a, b) <= (1 + _SAME_RATE) * min(a, b):
        return None
    return f"A was sent {plain(a)} requests/s, B {plain(b)}: the loads differ, and latency grows with load"


def _different_loops(arms: Arms) -> str | None:
    """Open against closed, or so many users against others."""
    a, b = map(_loop, arms)
    if a != b and "cannot say" not in {a, b}:
        return f"the loop of A is {a}, that of B {b}: users who wait for answers send less while a service is slow"
    users = [[run.users for run in runs if run.loop == "closed" and run.users] for runs in arms]
    if all(users):
        a_users, b_users = (median(some) for some in users)
        if max(a_users, b_users) > (1 + _SAME_RATE) * min(a_users, b_users):
            return f"A had {a_users:g} users, B {b_users:g}: in a closed loop they make rate and latency"
    return None


def _different_machines(arms: Arms) -> str | None:
    """The files name other machines in one arm than in the other."""
    for what in ("load generator", "service"):
        a, b = (frozenset[str]().union(*(run.hosts.get(what, ()) for run in runs)) for runs in arms)
        if a and b and a != b:
            return (
                f"the {what} of A was on {_listed(a)}, that of B on {_listed(b)}: "
                "the ratios are of the machines, too"
            )
    return None


def _order_confounded(arms: Arms) -> str | None:
    """One arm before the other: a machine that changes with time looks like a difference of the arms."""
    starts = [[run.start_epoch_s for run in runs if run.start_epoch_s is not None] for runs in arms]
    if any(len(known) < max(len(runs), 2) for known, runs in zip(starts, arms, strict=True)):
        return None
    pairs = [a < b for a in starts[0] for b in starts[1]]
    share = sum(pairs) / len(pairs)
    if 1 - _ONE_FIRST < share < _ONE_FIRST:
        return None
    first, then = NAMES if share > 0.5 else NAMES[::-1]
    how = "all" if share in (0.0, 1.0) else "nearly all"
    return (
        f"{how} runs of {first} came before those of {then}: what changed on the machine meanwhile looks like a "
        "difference; take turns, A B B A ..."
    )


def _mixed_units(arms: Arms) -> str | None:
    """Response times in different units, or in another one than they were read in."""
    if (symptom := _symptom(arms, "mixed_units")) is not None:
        return symptom
    medians = [
        (run.values[None, "p50"], run.name) for run in _all(arms) if run.values.get((None, "p50"), 0) > 0
    ]
    if len(medians) < 2:
        return None
    (least, least_run), (most, most_run) = min(medians), max(medians)
    if not any(low <= most / least <= high for low, high in _UNITS):
        return None
    return (
        f"the p50 of {most_run} is {plain(most / least)} times that of {least_run}: are both in the "
        "same unit? --latency-unit says it of JMeter's files"
    )


def _truncated_file(arms: Arms) -> str | None:
    """A file that ends in a row, or long before the others of its arm."""
    if (symptom := _symptom(arms, "truncated_file")) is not None:
        return symptom
    for runs in arms:
        lengths = {run.name: run.duration_s for run in runs if run.duration_s is not None}
        usual = median(lengths.values()) if len(lengths) > 2 else 0.0
        for name, length in lengths.items():
            if length < _SHORT * usual:
                return f"{name} lasts {plain(length)} s, the runs of its arm {plain(usual)} s"
    return None


def _same_file(arms: Arms) -> str | None:
    """The same requests twice: in both arms, or as two runs of one."""
    known: dict[str, Run] = {}
    for run in _all(arms):
        for mark in run.fingerprints:
            if mark in known:
                return f"{known[mark].name} and {run.name} hold the same requests: one of them was named by mistake"
            known[mark] = run
    return None


def _different_labels(arms: Arms) -> str | None:
    """Names of requests that one arm has and the other has not, or another mix of the same names."""
    a, b = ({label for run in runs for label in run.labels} for runs in arms)
    missing = (_frequent(arms[0]) - b, _frequent(arms[1]) - a)
    alone = [f"only {name}: {_listed(some)}" for name, some in zip(NAMES, missing, strict=True) if some]
    if alone:
        return (
            f"the arms do not have the same requests ({'; '.join(alone)}): figures of all requests are of "
            "different work"
        )
    for label in sorted(_frequent(arms[0]) | _frequent(arms[1])):
        of_a, of_b = (
            median([run.labels.get(label, 0) / max(sum(run.labels.values()), 1) for run in runs])
            for runs in arms
        )
        if abs(of_a - of_b) > _SAME_MIX:
            return (
                f"{label!r} is {percent(of_a)} of A's requests and {percent(of_b)} of B's: figures of all "
                "requests are of another mix"
            )
    return None


def _fast_errors(arms: Arms) -> str | None:
    """Requests that failed sooner than others were answered: they free users, and take load off the service."""
    for name, runs in zip(NAMES, arms, strict=True):
        for run in runs:
            right_s, failed_s = run.values.get((None, "p50")), run.failed_median_s
            share = run.n_errors / max(run.n_requests, 1)
            if failed_s is not None and right_s is not None and share >= _SOME_ERRORS and failed_s < right_s:
                return (
                    f"errors come faster than answers in {name} ({run.name}: p50 {plain(1e3 * failed_s)} ms against "
                    f"{plain(1e3 * right_s)} ms, {percent(share)} of its requests): a service that fails has less to do"
                )
    return None


def _symptom(arms: Arms, name: str) -> str | None:
    """What runs show by themselves: the first of them, and how many more."""
    runs = [run for run in _all(arms) if name in run.symptoms]
    if not runs:
        return None
    more = f" (and {len(runs) - 1} more)" if len(runs) > 1 else ""
    return f"{runs[0].name}{more}: {runs[0].symptoms[name]}"


#: Name -> how it is looked for, and the metrics whose verdicts it withholds.
TRAPS: Mapping[str, tuple[Callable[[Arms], str | None], tuple[str, ...]]] = {
    "one_run": (_one_run, METRICS),
    "different_rates": (_different_rates, ("throughput", *LATENCIES)),
    "different_loops": (_different_loops, ("throughput", *LATENCIES)),
    "different_machines": (_different_machines, ()),
    "order_confounded": (_order_confounded, METRICS),
    "mixed_units": (_mixed_units, LATENCIES),
    "truncated_file": (_truncated_file, ()),
    "same_file": (_same_file, METRICS),
    "different_labels": (_different_labels, METRICS),
    "fast_errors": (_fast_errors, ()),
    # The beginning of a run is of another load, or of a cold service.
    "ramp_included": (partial(_symptom, name="ramp_included"), ()),
    # Time stamps cannot be of one run on one clock: its length, and so its rate, is wrong.
    "clock_jump": (partial(_symptom, name="clock_jump"), ("throughput",)),
}
#: Nothing can be said here, whoever accepts it.
NEVER_ACCEPTED = ("one_run", "same_file")
ACCEPTABLE = tuple(name for name in TRAPS if name not in NEVER_ACCEPTED)
#: Verdicts of single labels stay.
_TOTALS_ONLY = ("different_labels",)


def find_traps(arms: Arms, *, accept: Collection[str] = ()) -> tuple[Trap, ...]:
    """Return the traps of two arms, in the order of ``TRAPS``.

    ``accept``: traps that withhold nothing, because somebody knows why they are none here. They are still named.
    """
    return tuple(
        Trap(name=name, text=f"{text} (accepted)")
        if name in accept
        else Trap(name=name, text=text, withholds=withholds, totals_only=name in _TOTALS_ONLY)
        for name, (look, withholds) in TRAPS.items()
        if (text := look(arms)) is not None
    )


def _loop(runs: Sequence[Run]) -> Kind:
    """The loop of an arm, where half of its runs tell and none contradicts: one run's rhythm may mislead."""
    reported = [run.loop for run in runs if run.loop != "cannot say"]
    return reported[0] if len(set(reported)) == 1 and 2 * len(reported) >= len(runs) else "cannot say"


def _frequent(runs: Sequence[Run]) -> set[str]:
    """Names of at least one request in a hundred of a run: rarer ones may be missing by chance."""
    return {
        label for run in runs for label, n in run.labels.items() if n >= _FREQUENT * sum(run.labels.values())
    }


def _all(arms: Arms) -> list[Run]:
    return [run for runs in arms for run in runs]


def _listed(names: Iterable[str], most: int = 3) -> str:
    ordered = sorted(names)
    more = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {more} more" if more > 0 else "")
