# SPDX-License-Identifier: Apache-2.0
"""A load before it is offered: what its generators are asked for, and what comes of that."""

from __future__ import annotations

from pathlib import Path

from harness.definitions import Study
from harness.errors import MissingTool, RematchError, UnsupportedLoad
from harness.loadgen.base import LoadSpec, refuse
from harness.model import ClosedLoad, Configuration, Load, ProfileDefinition, Request
from harness.model.endpoint import Endpoint
from harness.session.capacity_trials import arrivals
from harness.session.wiring import Assembly


def load_orders(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> list[LoadSpec]:
    """Return what each generator of a load is asked for, with place holders for endpoint and folder."""
    divided = assembly.shares_of(load)
    return [
        LoadSpec(
            profile=share,
            requests=requests,
            endpoint=Endpoint(host="127.0.0.1", port=8080),
            folder=Path("/TRIAL/load") if len(divided) == 1 else Path(f"/TRIAL/load/{number}"),
        )
        for number, share in enumerate(divided, start=1)
    ]


def load_s(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> float:
    """Return about how long the generator takes for a load, start and stop included."""
    try:
        generator = assembly.generator(load.generator)
        return max(generator.expected_s(share, requests) for share in assembly.shares_of(load))
    except RematchError:  # there is no such adapter, or no such division: whoever starts the session is told
        return load.profile.whole_s or 10.0


def load_command(assembly: Assembly, configuration: Configuration, study: Study) -> tuple[str, ...]:
    """Return the load generator's command line, with a place holder for the trial's folder; of several the
    first one's."""
    if configuration.load is None:
        return ()
    generator = assembly.generator(configuration.load.generator)
    orders = load_orders(assembly, configuration.load, study.requests[configuration.mix])
    return generator.command(orders[0]).argv


def load_problems(
    assembly: Assembly, study: Study, definition: ProfileDefinition
) -> dict[str | None, RematchError]:
    """Return load name -> why it cannot be offered here.

    Raises:
        MissingTool, UnsupportedLoad: nothing can be warmed up, or searched for, as the profile says.
    """
    if definition.warm_up is not None:
        asked = definition.warm_up
        profile = ClosedLoad(users=asked.users, duration_s=asked.window_s)
        refuse(assembly.generator(asked.generator), profile, study.requests[study.experiment.mix])
    if (goals := definition.search) is not None:
        for tool in {goals.generator or load.generator for load in definition.loads.values()}:
            rates = arrivals(goals, tool).profile
            refuse(assembly.generator(tool), rates, study.requests[study.experiment.mix])
            assembly.load_words(tool)
    problems: dict[str | None, RematchError] = {}
    for name in (*definition.loads, *definition.scaled_loads):
        load = definition.load(name)
        try:
            requests = study.requests[study.experiment.mix]
            for order in load_orders(assembly, load, requests):
                refuse(assembly.generator(load.generator), order.profile, order.requests)
            assembly.load_words(load.generator)
        except (MissingTool, UnsupportedLoad) as problem:
            problems[name] = problem
    return problems
