# SPDX-License-Identifier: Apache-2.0
"""How much more the load generator could have done: the same load against a service that costs nothing.

Once per session and per (generator, load profile, mix) the generator meets ``services/echo``, which answers any
request at once with as many bytes as the real answer has. The load is the trial's own but for its length.

Closed loop: ``headroom_ratio`` = rate against echo / rate against the service; near 1, the generator was the limit.
Open loop: what counts is whether the generator kept the offered rate against echo. The latencies of echo are kept as
well; most of them is the waking of an idle process, which a service that is compared has too. A generator that never
sleeps sees this, so its echo service does not sleep either.

Echo has one answer for all: that of the mix's first request; a flow's holds something at every place it captures from.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from harness.errors import InputError, TrialFailure
from harness.formats.table import RequestTable
from harness.loadgen.correlation import steps_of
from harness.loadgen.flow import is_flow, right_bodies
from harness.loadgen.row_counts import rows_of
from harness.measure.runner import TrialContext, TrialSpec
from harness.measure.runner.trial import MAX_S, bounded, rehearse
from harness.model import (
    ClosedLoad,
    Configuration,
    EchoReading,
    Expectation,
    Load,
    Outcome,
    Request,
    RuntimeSettings,
    Variant,
)
from harness.model.load_tools import BY_NAME
from harness.model.started import SettingValue

ECHO_WORKLOAD = "echo"
ECHO_IMPLEMENTATION = "go-raw"
_ECHO_STATUS = 200
#: A load at a rate lasts no longer. wrk2 forgets its latencies after ten seconds.
AT_A_RATE_S = 8.0


def wanted_readings(
    configurations: Iterable[Configuration], known: Iterable[EchoReading]
) -> list[tuple[Load, str]]:
    """Return the (load, mix) of the plan that have no reading yet, each once, in the plan's order."""
    have = [(reading.load, reading.mix) for reading in known]
    wanted: list[tuple[Load, str]] = []
    for load, mix in ((configuration.load, configuration.mix) for configuration in configurations):
        if load is not None and (load, mix) not in (*have, *wanted):
            wanted.append((load, mix))
    return wanted


def echoed(requests: tuple[Request, ...]) -> tuple[tuple[Request, ...], str | None]:
    """Return the mix as echo can answer it rightly, and the body it answers; None: any will do. Raises TrialFailure:
    one answer cannot hold all that the flow captures."""
    if not is_flow(requests):
        right = right_bodies(requests[0].expect)
        expect = requests[0].expect.model_copy(update={"status": _ECHO_STATUS, "headers": {}})
        body = None if right is None else right[0]
    else:
        document: JsonValue = None  # the smallest one with the number 1 at every pointer
        for pointer in (pointer for request in requests for pointer in request.capture.values()):
            document = _with(document, steps_of(pointer), pointer)
        wanted = {} if document is None else {"json": document}
        expect = Expectation.model_validate({"status": _ECHO_STATUS, **wanted})
        body = None if document is None else json.dumps(document, separators=(",", ":"))
    return tuple(request.model_copy(update={"expect": expect}) for request in requests), body


def _with(value: JsonValue, way: tuple[str | int, ...], pointer: str) -> JsonValue:
    if not way and value in (None, 1):
        return 1
    if way and isinstance(way[0], str) and isinstance(value, dict | None):
        inner = {} if value is None else value
        return {**inner, way[0]: _with(inner.get(way[0]), way[1:], pointer)}
    if way and isinstance(way[0], int) and isinstance(value, list | None):
        items = [*(value or []), *[None] * (way[0] + 1 - len(value or []))]
        return [*items[: way[0]], _with(items[way[0]], way[1:], pointer), *items[way[0] + 1 :]]
    raise TrialFailure("failed", f"no single answer of echo holds all that the flow captures: {pointer}")


def echo_variant(body: str | None = None, *, never_sleeps: bool = False) -> Variant:
    """Return the echo service as a variant that answers ``body``; None: its own."""
    settings: dict[str, SettingValue] = {} if body is None else {"body": body}
    return Variant(
        implementation=ECHO_IMPLEMENTATION,
        settings=settings | ({"wait": "spin"} if never_sleeps else {}),
        runtime=RuntimeSettings(),
    )


def echo_load(load: Load, n_steps: int = 1) -> Load:
    """Return the load that echo gets in place of this one; ``n_steps``: of a flow."""
    most_s = MAX_S if isinstance(load.profile, ClosedLoad) else AT_A_RATE_S
    return load.model_copy(update={"profile": bounded(load.profile, n_steps, most_s)})


def measure_echo(load: Load, trial: TrialSpec, context: TrialContext) -> EchoReading:
    """Offer a load to a fresh echo service, bounded as the trial of it has it. Raises TrialFailure: it went wrong; the
    reading cannot be had."""
    # pandas and scipy, for who only looks at plans
    from harness.analysis.tables.trial_row import load_latencies

    tables: list[RequestTable | None] = []

    def look(folder: Path) -> None:
        # a tool that was stopped while it wrote: the record says that it failed
        with contextlib.suppress(InputError):
            tables.append(rows_of(folder / "load"))

    record = rehearse(trial, context, look=look)
    if record.outcome != Outcome.OK or record.load is None:
        raise TrialFailure(record.outcome.value, record.reason or "no load was read")
    values = load_latencies(record.load, next(iter(tables), None) if record.load.has_requests else None)
    return EchoReading(
        load=load,
        mix=trial.planned.configuration.mix,
        achieved_per_s=record.load.achieved_per_s,
        n_requests=record.load.n_requests,
        duration_s=record.load.duration_s,
        latency_mean_s=values.mean_s,
        latency_quantiles_s=dict(values.quantiles_s),
    )


def echo_configuration(load: Load, mix: str, requests: tuple[Request, ...]) -> Configuration:
    """Return what the echo service is tried with in place of a load; ``requests``: of the mix. Raises TrialFailure: as
    ``echoed``."""
    _, body = echoed(requests)
    return Configuration(
        workload=ECHO_WORKLOAD,
        variant_name="echo",
        variant=echo_variant(body, never_sleeps=BY_NAME[load.generator].never_sleeps),
        levels={},
        mix=mix,
        load_name="echo",
        load=echo_load(load, len(requests) if is_flow(requests) else 1),
        warm_up_requests=0,
        kind="load",
    )
