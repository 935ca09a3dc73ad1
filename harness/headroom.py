# SPDX-License-Identifier: Apache-2.0
"""How much more the load generator could have done: the same load against a service that costs nothing.

Once per session and per (generator, load profile, mix) the generator meets ``services/echo``, which
answers any request at once with as many bytes as the real answer has. The load is the trial's own but
for its length (a cold generator in the trial is a cold one here): at most 50,000 requests or 3 s.

Closed loop: ``headroom_ratio`` = rate against echo / rate against the service; near 1, the generator
was the limit. Open loop: the rate is given, so the ratio would be 1 by design and is left out of
consideration; what counts is whether the generator kept the offered rate against echo.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TrialFailure
from harness.loadgen.base import LoadGenerator
from harness.model import (
    BuildRecord,
    ClosedLoad,
    Configuration,
    EchoReading,
    Implementation,
    Load,
    LoadProfile,
    Outcome,
    PlannedTrial,
    Request,
    RuntimeSettings,
    Variant,
)
from harness.runner import Limits, Parts, TrialOrder, run_trial

ECHO_WORKLOAD = "echo"
ECHO_IMPLEMENTATION = "go-raw"
MAX_REQUESTS = 50_000
MAX_S = 3.0


@dataclass(frozen=True, kw_only=True)
class EchoOrder:
    """One load to be tried against the echo service, in a folder that is thrown away."""

    implementation: Implementation
    build: BuildRecord
    load: Load
    mix: str
    requests: tuple[Request, ...]
    generator: LoadGenerator
    folder: Path
    seed: int
    limits: Limits


def bounded(profile: LoadProfile) -> LoadProfile:
    """Return the same load, short enough to be tried before the first trial."""
    if not isinstance(profile, ClosedLoad):
        return profile.model_copy(update={"duration_s": min(profile.duration_s, MAX_S)})
    if profile.duration_s is not None:
        return profile.model_copy(
            update={
                "duration_s": min(profile.duration_s, MAX_S),
                "ramp_up_s": min(profile.ramp_up_s, 1.0),
                "think_time_s": profile.think_time_s,
            }
        )
    loops = max(1, min(profile.loops or 1, MAX_REQUESTS // profile.users))
    return profile.model_copy(update={"loops": loops, "ramp_up_s": min(profile.ramp_up_s, 1.0)})


def wanted_readings(
    configurations: Iterable[Configuration], known: Iterable[EchoReading]
) -> list[tuple[Load, str]]:
    """Return the (load, mix) of the plan that have no reading yet, each once, in the plan's order."""
    have = [(reading.load, reading.mix) for reading in known]
    wanted: list[tuple[Load, str]] = []
    for configuration in configurations:
        if configuration.load is not None:
            pair = (configuration.load, configuration.mix)
            if pair not in have and pair not in wanted:
                wanted.append(pair)
    return wanted


def echo_achieved(configuration: Configuration, readings: Iterable[EchoReading]) -> float | None:
    """Return the rate the configuration's generator reached against echo, if it was tried."""
    for reading in readings:
        if reading.load == configuration.load and reading.mix == configuration.mix:
            return reading.achieved_per_s
    return None


def echo_variant(requests: tuple[Request, ...] = ()) -> Variant:
    """Return the echo service as a variant that answers with the bytes of the mix's first answer."""
    body = json.dumps(requests[0].expect.json_value, separators=(",", ":")) if requests else None
    return Variant(
        implementation=ECHO_IMPLEMENTATION,
        settings={} if body is None else {"body": body},
        runtime=RuntimeSettings(),
    )


def measure_echo(order: EchoOrder, parts: Parts) -> EchoReading:
    """Offer the bounded load to a fresh echo service.

    Raises:
        TrialFailure: it went wrong; the reading cannot be had.
    """
    shutil.rmtree(order.folder, ignore_errors=True)
    (order.folder / "load").mkdir(parents=True)
    try:
        record = run_trial(_as_trial(order), parts)
    finally:
        shutil.rmtree(order.folder, ignore_errors=True)
    if record.outcome != Outcome.OK or record.load is None:
        raise TrialFailure(record.outcome.value, record.reason or "no load was read")
    return EchoReading(
        load=order.load,
        mix=order.mix,
        achieved_per_s=record.load.achieved_per_s,
        n_requests=record.load.n_requests,
        duration_s=record.load.duration_s,
    )


def _as_trial(order: EchoOrder) -> TrialOrder:
    configuration = Configuration(
        workload=ECHO_WORKLOAD,
        variant_name="echo",
        variant=echo_variant(order.requests),
        levels={},
        mix=order.mix,
        load_name="echo",
        load=Load(generator=order.load.generator, profile=bounded(order.load.profile)),
        warm_up_requests=0,
        kind="load",
    )
    return TrialOrder(
        planned=PlannedTrial(
            trial_id="echo", block=1, position=1, duplicate=False, configuration=configuration
        ),
        experiment="echo",
        session_id="echo",
        implementation=order.implementation,
        build=order.build,
        generator=order.generator,
        requests=order.requests,
        cases=(),
        folder=order.folder,
        seed=order.seed,
        limits=order.limits,
    )
