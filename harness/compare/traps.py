# SPDX-License-Identifier: Apache-2.0
"""What makes a comparison of two arms say something else than it seems to: twelve traps, each with its name.

A trap may withhold verdicts, of some metrics or of all. The ratio and its interval are shown all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import median

from pydantic import Field

from harness.compare.run import LATENCIES, METRICS, Run
from harness.model import Frozen
from harness.model.digits import percent, plain
from harness.report.loop import Kind

Arms = tuple[Sequence[Run], Sequence[Run]]
NAMES = ("A", "B")
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


class Trap(Frozen):
    """One trap, with what was found. ``withholds``: metrics without a verdict."""

    name: str
    text: str
    withholds: tuple[str, ...] = ()
    totals_only: bool = Field(default=False, description="verdicts of single labels stay")


def one_run(arms: Arms) -> Trap | None:
    """An arm of one run: how much runs of it differ is not known."""
    alone = [name for name, runs in zip(NAMES, arms, strict=True) if len(runs) == 1]
    if not alone:
        return None
    text = "one run each" if len(alone) == 2 else f"one run in arm {alone[0]}"
    return Trap(
        name="one_run",
        text=f"{text}: no verdict; how much runs of the same arm differ is not known, so make 5 or more of each",
        withholds=METRICS,
    )


def different_rates(arms: Arms) -> Trap | None:
    """An open loop with different rates: the load differs, not the service."""
    rates = [[run.rate_per_s for run in runs if run.rate_per_s is not None] for runs in arms]
    if not all(rates) or any(run.loop == "closed" for run in _all(arms)):
        return None
    known_open = all(run.loop == "open" for run in _all(arms))
    given = all(len(some) > 1 and max(some) - min(some) <= _GIVEN_RATE * median(some) for some in rates)
    if not known_open and not given:
        return None
    a, b = (median(some) for some in rates)
    if max(a, b) <= (1 + _SAME_RATE) * min(a, b):
        return None
    return Trap(
        name="different_rates",
        text=f"A was sent {plain(a)} requests/s, B {plain(b)}: the loads differ, and latency grows with load",
        withholds=("throughput", *LATENCIES),
    )


def different_loops(arms: Arms) -> Trap | None:
    """Open against closed, or so many users against others."""
    a, b = map(_loop, arms)
    if a != b and "cannot say" not in {a, b}:
        return Trap(
            name="different_loops",
            text=f"the loop of A is {a}, that of B {b}: users who wait for answers send less while a service is slow",
            withholds=("throughput", *LATENCIES),
        )
    users = [[run.users for run in runs if run.loop == "closed" and run.users] for runs in arms]
    if all(users):
        a_users, b_users = (median(some) for some in users)
        if a_users != b_users and max(a_users, b_users) > (1 + _SAME_RATE) * min(a_users, b_users):
            return Trap(
                name="different_loops",
                text=f"A had {a_users:g} users, B {b_users:g}: in a closed loop they make rate and latency",
                withholds=("throughput", *LATENCIES),
            )
    return None


def different_machines(arms: Arms) -> Trap | None:
    """The files name other machines in one arm than in the other."""
    for what in ("load generator", "service"):
        a, b = (frozenset[str]().union(*(run.hosts.get(what, ()) for run in runs)) for runs in arms)
        if a and b and a != b:
            return Trap(
                name="different_machines",
                text=f"the {what} of A was on {_listed(a)}, that of B on {_listed(b)}: "
                "the ratios are of the machines, too",
            )
    return None


def order_confounded(arms: Arms) -> Trap | None:
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
    return Trap(
        name="order_confounded",
        text=f"{how} runs of {first} came before those of {then}: what changed on the machine meanwhile looks like a "
        "difference; take turns, A B B A ...",
        withholds=METRICS,
    )


def mixed_units(arms: Arms) -> Trap | None:
    """Response times in different units, or in another one than they were read in."""
    if (seen := _seen(arms, "mixed_units")) is not None:
        return Trap(name="mixed_units", text=seen, withholds=LATENCIES)
    medians = [
        (run.values[None, "p50"], run.name) for run in _all(arms) if run.values.get((None, "p50"), 0) > 0
    ]
    if len(medians) < 2:
        return None
    (least, least_run), (most, most_run) = min(medians), max(medians)
    if any(low <= most / least <= high for low, high in _UNITS):
        return Trap(
            name="mixed_units",
            text=f"the p50 of {most_run} is {plain(most / least)} times that of {least_run}: are both in the "
            "same unit? --latency-unit says it of JMeter's files",
            withholds=LATENCIES,
        )
    return None


def truncated_file(arms: Arms) -> Trap | None:
    """A file that ends in a row, or long before the others of its arm."""
    if (seen := _seen(arms, "truncated_file")) is not None:
        return Trap(name="truncated_file", text=seen)
    for runs in arms:
        known = [run.duration_s for run in runs if run.duration_s is not None]
        if len(known) < 3:
            continue
        usual = median(known)
        short = [run for run in runs if run.duration_s is not None and run.duration_s < _SHORT * usual]
        if short:
            return Trap(
                name="truncated_file",
                text=f"{short[0].name} lasts {plain(short[0].duration_s or 0.0)} s, "
                f"the runs of its arm {plain(usual)} s",
            )
    return None


def same_file(arms: Arms) -> Trap | None:
    """The same requests twice: in both arms, or as two runs of one."""
    seen: dict[str, Run] = {}
    for run in _all(arms):
        for mark in run.fingerprints:
            if mark in seen:
                return Trap(
                    name="same_file",
                    text=f"{seen[mark].name} and {run.name} hold the same requests: one of them was named by mistake",
                    withholds=METRICS,
                )
            seen[mark] = run
    return None


def different_labels(arms: Arms) -> Trap | None:
    """Names of requests that one arm has and the other has not, or another mix of the same names."""
    a, b = ({label for run in runs for label in run.labels} for runs in arms)
    missing = (_frequent(arms[0]) - b, _frequent(arms[1]) - a)
    alone = [f"only {name}: {_listed(some)}" for name, some in zip(NAMES, missing, strict=True) if some]
    if alone:
        return Trap(
            name="different_labels",
            text=f"the arms do not have the same requests ({'; '.join(alone)}): figures of all requests are of "
            "different work",
            withholds=METRICS,
            totals_only=True,
        )
    for label in sorted(_frequent(arms[0]) | _frequent(arms[1])):
        of_a, of_b = (
            median([run.labels.get(label, 0) / max(sum(run.labels.values()), 1) for run in runs])
            for runs in arms
        )
        if abs(of_a - of_b) > _SAME_MIX:
            return Trap(
                name="different_labels",
                text=f"{label!r} is {percent(of_a)} of A's requests and {percent(of_b)} of B's: figures of all "
                "requests are of another mix",
                withholds=METRICS,
                totals_only=True,
            )
    return None


def fast_errors(arms: Arms) -> Trap | None:
    """Requests that failed sooner than others were answered: they free users, and take load off the service."""
    for name, runs in zip(NAMES, arms, strict=True):
        for run in runs:
            right_s = run.values.get((None, "p50"))
            if (
                run.failed_median_s is not None
                and right_s is not None
                and run.n_errors >= _SOME_ERRORS * run.n_requests
                and run.failed_median_s < right_s
            ):
                return Trap(
                    name="fast_errors",
                    text=f"errors come faster than answers in {name} ({run.name}: p50 "
                    f"{plain(1e3 * run.failed_median_s)} ms against {plain(1e3 * right_s)} ms, "
                    f"{percent(run.n_errors / run.n_requests)} of its requests): a service that fails has less to do",
                )
    return None


def ramp_included(arms: Arms) -> Trap | None:
    """The beginning of a run is of another load, or of a cold service."""
    seen = _seen(arms, "ramp_included")
    return None if seen is None else Trap(name="ramp_included", text=seen)


def clock_jump(arms: Arms) -> Trap | None:
    """Time stamps that cannot be of one run on one clock: its length, and so its rate, is wrong."""
    seen = _seen(arms, "clock_jump")
    return None if seen is None else Trap(name="clock_jump", text=seen, withholds=("throughput",))


TRAPS: tuple[Callable[[Arms], Trap | None], ...] = (
    one_run,
    different_rates,
    different_loops,
    different_machines,
    order_confounded,
    mixed_units,
    truncated_file,
    same_file,
    different_labels,
    fast_errors,
    ramp_included,
    clock_jump,
)
TRAP_NAMES = tuple(trap.__name__ for trap in TRAPS)
#: Nothing can be said here, whoever accepts it.
NEVER_ACCEPTED = ("one_run", "same_file")
ACCEPTABLE = tuple(name for name in TRAP_NAMES if name not in NEVER_ACCEPTED)


def find_traps(arms: Arms, *, accept: Collection[str] = ()) -> tuple[Trap, ...]:
    """Return the traps of two arms, in the order of ``TRAPS``.

    Args:
        accept: traps that withhold nothing, because somebody knows why they are none here. They are still named.
    """
    results = [trap for look in TRAPS if (trap := look(arms)) is not None]
    return tuple(
        trap.model_copy(update={"withholds": (), "text": f"{trap.text} (accepted)"})
        if trap.name in accept
        else trap
        for trap in results
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


def _seen(arms: Arms, name: str) -> str | None:
    """What runs show by themselves: the first of them, and how many more."""
    results = [(run, symptom) for run in _all(arms) for symptom in run.symptoms if symptom.trap == name]
    if not results:
        return None
    runs = {run.name for run, _ in results}
    more = f" (and {len(runs) - 1} more)" if len(runs) > 1 else ""
    return f"{results[0][0].name}{more}: {results[0][1].text}"


def _listed(names: Iterable[str], most: int = 3) -> str:
    ordered = sorted(names)
    more = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {more} more" if more > 0 else "")
