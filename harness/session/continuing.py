# SPDX-License-Identifier: Apache-2.0
"""Whether what is planned is what a session on disk began as, or needs a seed of its own."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import InputError
from harness.model import Plan, SessionHeader
from harness.session.planning import Prepared, plan_without, session_name
from harness.store import Store


def refuse_other_plan(header: SessionHeader, prepared: Prepared) -> None:
    """A session goes on only as what it began as.

    Raises:
        InputError: definition or plan differ; says in what.
    """
    plan = header.plan
    if header.unavailable != prepared.unavailable:
        gone = {one.variant: one.reason for one in prepared.unavailable}
        lost = sorted(set(gone) - {one.variant for one in header.unavailable})
        if lost:
            raise InputError(
                f"{lost[0]} could run when this session began and cannot now: {gone[lost[0]]}",
                file=f"{header.experiment.name}/{header.session_id}",
            )
    again = plan_without(
        prepared.experiment,
        plan.profile,
        header.unavailable,
        host=plan.host,
        seed=plan.seed,
        launcher=plan.launcher,
        pairs=plan.pairs,
    )
    differences = list(_differences(header, prepared, again))
    if differences:
        raise InputError(
            f"this session began with another definition: {differences[0]}",
            file=f"{header.experiment.name}/{header.session_id}",
            allowed="the definition as it was, another --seed, or --new",
        )


def _differences(header: SessionHeader, prepared: Prepared, again: Plan) -> Iterator[str]:
    if len(again.trials) != len(header.plan.trials):
        yield f"{len(header.plan.trials)} trials then, {len(again.trials)} now"
    for then, now in zip(header.plan.trials, again.trials, strict=False):
        if then != now:
            for name in type(then.configuration).model_fields:
                before, after = getattr(then.configuration, name), getattr(now.configuration, name)
                if before != after:
                    yield f"{now.trial_id}: {name} was {before}, is {after}"
            yield f"trial {then.position} was {then.trial_id}, is {now.trial_id}"
    for name, implementation in header.implementations.items():
        if prepared.study.implementations.get(name) != implementation:
            yield f"service.toml of {name} differs"


def with_free_seed(prepared: Prepared, store: Store) -> Prepared:
    """Return the same plan under the next seed that no session on disk has."""
    plan, seed = prepared.plan, prepared.plan.seed
    while store.session(
        plan.experiment, session_name(plan.profile, plan.host, plan.launcher, seed)
    ).folder.exists():
        seed += 1
    return Prepared(
        study=prepared.study,
        plan=plan_without(
            prepared.experiment,
            plan.profile,
            prepared.unavailable,
            host=plan.host,
            seed=seed,
            launcher=plan.launcher,
        ),
        session_id=session_name(plan.profile, plan.host, plan.launcher, seed),
        unavailable=prepared.unavailable,
    )
