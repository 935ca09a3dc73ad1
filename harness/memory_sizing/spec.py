# SPDX-License-Identifier: Apache-2.0
"""What is to be measured of memory, and what programs are asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow
from harness.memory_sizing.probe import Asked
from harness.model import (
    BuildRecord,
    Configuration,
    Experiment,
    Implementation,
    Load,
    OpenLoad,
    Request,
    Variant,
)
from harness.runner import Limits
from harness.runner.short_trial import bounded
from harness.workloads import Case

#: A search asks for so long, and memory is read after so long at the most: seconds.
COLD_S, SEARCH_S, HOLD_S = 0.8, 1.5, 8.0
#: The load's own generator asks for so long beyond the time in which loads settle, at the most: seconds.
TRIED_S = 3.0
FEWEST_REQUESTS = 200
#: As many requests at one moment as the load has connections or users, up to this.
MOST_AT_ONCE = 100
#: Faster than this nobody can ask from within this process.
MOST_PER_S = 500.0
#: Of a load of users, who have no rate.
USERS_PER_S = 200.0
#: A program that can do little more than half of the rate comes later than this in ``SEARCH_S``; a pause does not.
MOST_LATE_S = 0.75


@dataclass(frozen=True, kw_only=True)
class FitSpec:
    """Variants of ``experiment`` (``names``) under ``load`` and the mix and warm-up of ``configuration``.

    ``generator`` offers that load, and ``settle_s`` is how long loads of the profile settle.
    """

    experiment: Experiment
    names: tuple[str, ...]
    implementations: Mapping[str, Implementation]
    build: Callable[[Implementation, Variant], BuildRecord]
    configuration: Configuration
    load: Load
    generator: LoadGenerator
    settle_s: float
    requests: tuple[Request, ...]
    cases: tuple[Case, ...]
    contract: Path
    folder: Path
    seed: int
    limits: Limits
    say: Callable[[str], None]

    @property
    def tried(self) -> Load:
        """The load, short: under which a heap that was found has to hold."""
        return tried(self.load, self.settle_s, len(self.requests) if is_flow(self.requests) else 1)

    @property
    def rate_per_s(self) -> float:
        """Of the requests from within the harness."""
        profile = self.load.profile
        return min(profile.rate_per_s, MOST_PER_S) if isinstance(profile, OpenLoad) else USERS_PER_S

    @property
    def hold_s(self) -> float:
        """For how long a program is asked before its memory is read."""
        return min(self.load.profile.whole_s or HOLD_S, HOLD_S)

    @property
    def searched(self) -> Asked:
        """What a program is asked while its least heap is searched."""
        profile = self.load.profile
        callers = profile.connections if isinstance(profile, OpenLoad) else profile.users
        return replace(
            self._asks(SEARCH_S),
            cold_requests=round(self.rate_per_s * COLD_S),
            at_once=min(callers, MOST_AT_ONCE),
        )

    @property
    def held_under(self) -> Asked:
        """What a program is asked before its memory is read."""
        return replace(
            self._asks(self.hold_s),
            as_trial=self.cases,
            warm_up_requests=self.configuration.warm_up_requests,
            most_late_s=HOLD_S,
        )

    def _asks(self, lasts_s: float) -> Asked:
        return Asked(
            requests=self.requests,
            rate_per_s=self.rate_per_s,
            n_requests=max(FEWEST_REQUESTS, round(self.rate_per_s * lasts_s)),
            most_late_s=MOST_LATE_S,
        )


def tried(load: Load, settle_s: float, n_steps: int = 1) -> Load:
    """Return the same load for as long as loads settle and ``TRIED_S`` more; ``n_steps``: of a flow."""
    return load.model_copy(update={"profile": bounded(load.profile, n_steps, settle_s + TRIED_S)})


#: About what each takes, for planning only: a search from within, and one program whose memory is read.
SEARCH_TAKES_S, START_TAKES_S = 20.0, 4.0
#: So many trials under the load's own generator end a search: two must hold, and some fail before, sooner.
TRIALS_EACH = 3


def asked_of(experiment: Experiment, names: tuple[str, ...]) -> dict[str, str]:
    """Return variant -> what of its memory must be measured, of these variants and those that they name."""
    asked: dict[str, str] = {}
    for name in names:
        runtime = experiment.variants[name].runtime
        for each in (name, runtime.memory_of):
            what = None if each is None else experiment.variants[each].runtime.memory_asked
            if each is not None and what is not None:
                asked[each] = what
    return asked


def alike(experiment: Experiment, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return those of the variants whose heap or limit is a multiple, together where they differ in nothing but that.

    They share a least one: it belongs to the program with all its settings but the multiple.
    """
    results: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in names:
        variant = experiment.variants[name]
        if variant.runtime.memory_multiple is not None:
            key = _without_multiple(variant)
            results[key] = (*results.get(key, ()), name)
    return list(results.values())


def fit_s(experiment: Experiment, names: tuple[str, ...], trial_s: float) -> float:
    """Return about how long it takes, in seconds. ``trial_s``: one trial under the load's own generator."""
    asked = tuple(asked_of(experiment, names))
    variants = [experiment.variants[name] for name in asked]
    held = {variant.runtime.memory_of for variant in variants} - {None}
    limits = sum(variant.runtime.memory_of is not None for variant in variants)
    searches = len(alike(experiment, asked))
    searches_s = searches * (SEARCH_TAKES_S + TRIALS_EACH * trial_s)
    return searches_s + (len(held) + 2 * limits) * (HOLD_S + START_TAKES_S)


def _without_multiple(variant: Variant) -> tuple[str, str]:
    runtime = variant.runtime.model_copy(update={"heap_max": None, "gomemlimit": None})
    return variant.implementation, variant.model_copy(
        update={"runtime": runtime, "label": None}
    ).model_dump_json()
