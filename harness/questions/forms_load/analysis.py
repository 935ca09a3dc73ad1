# SPDX-License-Identifier: Apache-2.0
"""Forms of a program beside the program on a whole JDK, from the first request on: who is ahead, and until when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.analysis.warmup.break_even import BreakEven, Course, break_even
from harness.evidence import Evidence
from harness.evidence.warm import SATURATION, Warm
from harness.model import Estimate, Experiment

Spent = Literal["time", "cpu"]
#: how many numbers of requests a lead is drawn at
_PLACES = 60


@dataclass(frozen=True, kw_only=True)
class Race:
    """One form against the whole JDK in one block, in time or in CPU time."""

    variant: str
    plain: str
    block: int
    spent: Spent
    form_course: Course
    plain_course: Course
    end: BreakEven
    trial: pd.Series


@dataclass(frozen=True, kw_only=True)
class Ends:
    """How the races of one form ended. ``n_requests``: a mean, where the JDK caught up in every block."""

    n: int
    caught_up: tuple[float, ...]
    n_stayed_ahead: int
    n_never_ahead: int
    n_beyond: int
    n_requests: Estimate | None


def plain_of(experiment: Experiment) -> dict[str, str]:
    """Return form -> the variant of the same program on a whole JDK without a cache."""
    variants = experiment.variants
    plain = {one.implementation: name for name, one in variants.items() if one.runtime.is_plain}
    return {
        name: plain[one.implementation]
        for name, one in variants.items()
        if one.implementation in plain and plain[one.implementation] != name and one.runtime.gc is not None
    }


def races(warm: Warm | None, spent: Spent) -> list[Race]:
    """Return every form against its whole JDK, block by block, as far as both were measured."""
    if warm is None:
        return []
    courses = {(name, block): (row, course) for name, block, row, course in _courses(warm, spent)}
    found = []
    for form, plain in plain_of(warm.evidence.header.experiment).items():
        for (name, block), (row, course) in courses.items():
            if name == form and (plain, block) in courses:
                other = courses[plain, block][1]
                found.append(
                    Race(
                        variant=form, plain=plain, block=block, spent=spent, form_course=course,
                        plain_course=other, end=break_even(course, other), trial=row,
                    )
                )  # fmt: skip
    return found


def ends(found: list[Race]) -> dict[str, Ends]:
    """Return form -> how its races ended."""
    told = {}
    for name in dict.fromkeys(one.variant for one in found):
        mine = [one for one in found if one.variant == name]
        caught_up = [one for one in mine if one.end.n_requests is not None]
        told[name] = Ends(
            n=len(mine),
            caught_up=tuple(one.end.n_requests or 0.0 for one in caught_up),
            n_stayed_ahead=sum(one.end.n_requests is None and one.end.first_ahead for one in mine),
            n_never_ahead=sum(not one.end.first_ahead for one in mine),
            n_beyond=sum(not one.end.within for one in caught_up),
            n_requests=_mean(caught_up) if len(caught_up) == len(mine) else None,
        )
    return told


def compared_with_plain(warm: Warm | None, metric: str) -> tuple[Comparison, ...]:
    """Compare every form with the same program on a whole JDK, block by block; none: nothing was measured.

    The experiment's reference stays among the trials of each program, because it alone runs twice in a block.
    """
    if warm is None:
        return ()
    plain = plain_of(warm.evidence.header.experiment)
    kept = warm.saturation[~warm.saturation["excluded"].astype(bool)]
    there = set(kept["variant"][kept[metric].notna()].astype(str))
    found = []
    for program in dict.fromkeys(one for form, one in plain.items() if {form, one} <= there):
        forms = {form for form, one in plain.items() if one == program}
        mine = warm.saturation["variant"].isin({program, warm.evidence.reference} | forms)
        compared = compare(warm.saturation[mine], metric, reference=program)
        found += [one for one in compared if one.variant in forms]
    return tuple(found)


def leads(warm: Warm | None) -> pd.DataFrame | None:
    """Return how far each form is ahead of its whole JDK after so many requests; ``None``: nothing was measured.

    Columns: ``variant plain block spent n_requests lead``, the lead in seconds or CPU seconds; negative: behind.
    """
    found = []
    for spent in ("time", "cpu"):
        for one in races(warm, spent):
            end = max(one.form_course.n_requests[-1], one.plain_course.n_requests[-1])
            places = np.geomspace(1, max(end, 2.0), _PLACES)
            lead = [one.plain_course.at(float(n)) - one.form_course.at(float(n)) for n in places]
            about = {"variant": one.variant, "plain": one.plain, "block": one.block, "spent": one.spent}
            found.append(pd.DataFrame({**about, "n_requests": places, "lead": lead}))
    return pd.concat(found, ignore_index=True) if found else None


def _courses(warm: Warm, spent: Spent) -> Iterator[tuple[str, int, pd.Series, Course]]:
    """The course of every kept process that was warmed up, duplicates left out."""
    trials = warm.evidence.trials.loc[warm.saturation.index]
    kept = ~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)
    for _, row in trials[kept & (trials["load"] == SATURATION)].iterrows():
        course = _course(warm.evidence, row, spent)
        if course is not None:
            yield str(row["variant"]), int(row["block"]), row, course


def _course(evidence: Evidence, row: pd.Series, spent: Spent) -> Course | None:
    windows = evidence.windows(str(row["session_id"]), str(row["trial_id"]))
    if windows is None or windows.empty:
        return None
    answered = 1 + (windows["n_requests"] - windows["n_errors"]).cumsum()
    if spent == "time":
        begin, used = row["time_to_first_response_s"], windows["start_s"] + windows["duration_s"]
        warm_cost = 1 / row["throughput_per_s"] if row["throughput_per_s"] else float("nan")
    else:
        begin, used = row["cpu_s_at_first_response"], windows["cpu_s"].cumsum()
        warm_cost = row["cpu_s_per_request"]
    told = (float(begin), *map(float, begin + used))
    if not np.isfinite([*told, float(warm_cost)]).all():
        return None
    return Course(n_requests=(1.0, *map(float, answered)), spent=told, warm_cost=float(warm_cost))


def _mean(caught_up: list[Race]) -> Estimate | None:
    if not caught_up:
        return None
    rows = pd.DataFrame([one.trial for one in caught_up])
    rows["break_even_requests"] = [one.end.n_requests for one in caught_up]
    return summarised(rows, "break_even_requests", unit="1")


def defined_forms(experiment: Experiment) -> Mapping[str, str]:
    """Return form -> how figures name it, of those that have a whole JDK beside them."""
    return {name: experiment.labels[name] for name in plain_of(experiment)}
