# SPDX-License-Identifier: Apache-2.0
"""k6: open loop by a constant arrival rate, closed loop by virtual users; mixes and flows; bodies checked.

k6's own csv has a dozen rows (1.4 kB, 0.7 kB without tags) for a request. The script logs one row of 50 bytes instead,
to a file of its own and unbuffered: nothing is lost when k6 is killed. A row's latency counts from asking
for a connection to the last byte, like that of the other tools; k6's ``http_req_duration`` leaves out
the connecting. Bodies are compared as the other adapters do.

Open loop: each connection of the profile is one virtual user, all made before the first arrival. An arrival
that finds all of them waiting is never sent. k6 counts those in ``totals.json`` (``dropped_iterations``);
``n_dropped`` counts them and what was not answered in time, as the arrivals that left no row.
Parts of a load are scenarios with a start time each, and connections of their own.

With ``busy = "wait"`` no arrival is dropped while the load lasts: the virtual users take arrivals from one
queue in the order in which they are due, and sleep until then. One that is taken too late counts from when
it was due, so its row begins there; the parts of a load are one queue with gaps, over the same connections.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path

from harness.errors import InputError, MissingTool, TrialFailure, UnsupportedLoad
from harness.formats.k6_samples import HEADER, read_k6
from harness.loadgen.base import LoadCommand, LoadOrder
from harness.loadgen.flow import flow_document, is_flow
from harness.loadgen.mix import one_round, right_bodies, unsupported_mix
from harness.loadgen.outcome import (
    ORDER_FILE,
    existing,
    last_words,
    n_dropped,
    open_text,
    order_text,
    read_order,
    summarise,
)
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad, Request

SAMPLES, TOTALS, SCRIPT, PLAN, LOG = "samples.csv", "totals.json", "k6_script.js", "plan.json", "k6.log"
START_AND_STOP_S = 3.0
#: For planning only: what k6 asks of a quick service on a small machine.
ASSUMED_PER_S = 4000.0
#: An answer that takes longer is an error.
TIMEOUT_S = 60
#: How long what is under way at the end may take; what is answered later is dropped, and counted.
LAST_ANSWERS_S = 10
#: k6 knows no shorter test.
SHORTEST_S = 1.0
_FOREVER = "24h"
#: k6's numbers for what happened in place of an answer.
ERROR_NAMES = {
    "1000": "error",
    "1010": "dns error",
    "1050": "timeout",
    "1101": "dns: no such host",
    "1200": "tcp error",
    "1201": "broken pipe",
    "1210": "dial error",
    "1211": "dial timeout",
    "1212": "connection refused",
    "1213": "dial error",
    "1220": "connection reset",
}


@dataclass(frozen=True, kw_only=True)
class K6:
    """``program``: where k6 is; None: not on this machine."""

    program: Path | None
    name: str = "k6"

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """Refuses random arrivals, and less than a second of them."""
        if isinstance(profile, OpenLoad) and profile.arrivals != "constant":
            return "k6's arrivals are evenly spaced: set arrivals = constant, or use jmeter for poisson"
        if profile.duration_s is not None and profile.duration_s < SHORTEST_S:
            return f"k6 runs for at least {SHORTEST_S:g} s, found duration_s {profile.duration_s:g}"
        if isinstance(profile, ClosedLoad):
            if profile.ramp_up_s > (profile.duration_s or math.inf):
                return f"ramp_up_s {profile.ramp_up_s:g} is longer than duration_s {profile.duration_s}"
            if profile.stages and (profile.whole_s or 0) < SHORTEST_S:
                return f"k6 runs for at least {SHORTEST_S:g} s, found stages of {profile.whole_s:g} s"
        return None if is_flow(requests) else unsupported_mix(requests)

    def command(self, order: LoadOrder) -> LoadCommand:
        """k6 without REST interface, usage report, console output and downloads; a script for this load."""
        refusal = self.supports(order.profile, order.requests)
        if refusal is not None:
            raise UnsupportedLoad(refusal)
        if self.program is None or not self.program.exists():
            raise MissingTool("k6", why="to offer the load", how_to_get="make setup")
        script = resources.files("harness.loadgen").joinpath("templates", SCRIPT).read_text(encoding="utf-8")
        return LoadCommand(
            argv=(
                str(self.program),
                "run",
                "--quiet",
                "--no-color",
                "--no-usage-report",
                "--no-thresholds",
                *("--address", ""),  # else it listens on a port of its own
                *("--log-format", "raw"),
                *("--log-output", f"file={order.folder / LOG},level=error"),  # else a line for each failure
                *("--console-output", str(order.folder / SAMPLES)),
                str(order.folder / SCRIPT),
            ),
            environment={"K6_AUTO_EXTENSION_RESOLUTION": "false"},  # never look for anything on the network
            files={
                SCRIPT: script,
                PLAN: json.dumps(plan_document(order), ensure_ascii=False) + "\n",
                ORDER_FILE: order_text(order),
                SAMPLES: HEADER + "\n",  # k6 appends
            },
            outputs=(SAMPLES, TOTALS, SCRIPT, PLAN, ORDER_FILE, LOG),
            expected_s=START_AND_STOP_S + _offering_s(order.profile),
        )

    def read(self, folder: Path) -> LoadSummary:
        """Totals of ``samples.csv``. ``n_dropped``: arrivals never sent, or not answered in time."""
        order, path = read_order(folder), existing(folder, SAMPLES)
        said = last_words(folder, LOG, "generator.stderr.txt", "generator.stdout.txt")
        try:
            table = read_k6(path)
        except InputError as problem:
            raise TrialFailure("failed", f"k6 left no samples ({problem}); it said: {said}") from problem
        if not table.n_requests:
            raise TrialFailure("failed", f"k6 sent nothing: {path} has no rows; it said: {said}")
        kinds = _errors_by_kind(path) if table.n_errors else Counter[str]()
        dropped = None
        if isinstance(order.profile, OpenLoad):
            dropped = n_dropped(table, order, order.profile.parts * n_arrivals(order.profile))
        return summarise(table, order, errors_by_kind=kinds, n_dropped=dropped, bodies_checked=True)


def n_arrivals(profile: OpenLoad) -> int:
    """How many arrivals the schedule of each part holds."""
    return int(profile.rate_per_s * profile.duration_s)


def plan_document(order: LoadOrder) -> dict[str, object]:
    """What the script reads: k6's options, the requests or steps, and how to go through them."""
    profile, flow = order.profile, is_flow(order.requests)
    document = flow_document(order.requests) if flow else _mix_document(order.requests)
    staggered = isinstance(profile, ClosedLoad) and profile.loops is not None
    return {
        **document,
        "flow": flow,
        "round": [] if flow else one_round(order.requests),
        "arrivals": n_arrivals(profile) if isinstance(profile, OpenLoad) else None,
        "due": _due(profile) if isinstance(profile, OpenLoad) and profile.busy == "wait" else None,
        "base": f"http://{order.endpoint.host}:{order.endpoint.port}",
        "timeout": f"{TIMEOUT_S}s",
        "think_time_s": profile.think_time_s if isinstance(profile, ClosedLoad) else 0,
        "stagger_s": profile.ramp_up_s / profile.users
        if isinstance(profile, ClosedLoad) and staggered
        else 0,
        "options": {
            "scenarios": scenarios(profile),
            "systemTags": [],
            "summaryTrendStats": [],
        },
    }


def _mix_document(requests: tuple[Request, ...]) -> dict[str, object]:
    """A plain mix in the form of a flow's document: every text one plain piece, nothing captured."""
    return {
        "carried": "",
        "steps": [
            {
                "name": request.name,
                "method": request.method,
                "path": [request.path],
                "headers": {name: [value] for name, value in request.headers.items()},
                "body": None if request.body is None else [request.body],
                "status": request.expect.status,
                "capture": {},
                "right": None
                if (right := right_bodies(request.expect)) is None
                else [[body] for body in right],
            }
            for request in requests
        ],
    }


def scenarios(profile: LoadProfile) -> dict[str, dict[str, object]]:
    """The profile as k6's scenarios: one, or one for each part that nobody queues for."""
    last = {"gracefulStop": f"{LAST_ANSWERS_S}s"}
    if not isinstance(profile, OpenLoad) or profile.parts == 1 or profile.busy == "wait":
        return {"load": {**scenario(profile), **last}}
    return {
        f"part-{number}": {**scenario(profile), **last, "startTime": _span(begin_s)}
        for number, begin_s in enumerate(profile.begins_s, start=1)
    }


def _due(profile: OpenLoad) -> dict[str, object]:
    """When arrivals are due, in ms after the first one: ``n`` times ``every`` in each part."""
    return {
        "every_ms": 1e3 / profile.rate_per_s,
        "begins_ms": [begin_s * 1e3 for begin_s in profile.begins_s],
    }


def scenario(profile: LoadProfile) -> dict[str, object]:
    """The profile, or one part of it, as one of k6's executors.

    Users of a load by loops are all there from the start, and the script has them wait for their turn.
    """
    if isinstance(profile, OpenLoad) and profile.busy == "wait":
        return {
            "executor": "shared-iterations",
            "vus": profile.connections,
            "iterations": profile.parts * n_arrivals(profile),
            "maxDuration": _span(profile.whole_s + LAST_ANSWERS_S),
        }
    if isinstance(profile, OpenLoad):
        rate = Fraction(profile.rate_per_s).limit_denominator(1000)
        return {
            "executor": "constant-arrival-rate",
            "rate": rate.numerator,
            "timeUnit": f"{rate.denominator}s",
            "duration": _span(profile.duration_s),
            "preAllocatedVUs": profile.connections,
            "maxVUs": profile.connections,
        }
    if profile.stages:
        return _ramping([(stage.duration_s, stage.users) for stage in profile.stages], begins_with=1)
    if profile.loops is not None:
        return {
            "executor": "per-vu-iterations",
            "vus": profile.users,
            "iterations": profile.loops,
            "maxDuration": _FOREVER,
        }
    duration_s = profile.duration_s or 0.0
    if not profile.ramp_up_s:
        return {"executor": "constant-vus", "vus": profile.users, "duration": _span(duration_s)}
    ramp = [(profile.ramp_up_s, profile.users), (duration_s - profile.ramp_up_s, profile.users)]
    return _ramping([stage for stage in ramp if stage[0] > 0], begins_with=0)


def _ramping(stages: Sequence[tuple[float, int]], *, begins_with: int) -> dict[str, object]:
    return {
        "executor": "ramping-vus",
        "startVUs": begins_with,
        "stages": [{"duration": _span(took_s), "target": users} for took_s, users in stages],
        "gracefulRampDown": f"{LAST_ANSWERS_S}s",
    }


def _span(duration_s: float) -> str:
    return f"{round(duration_s * 1e6)}us"


def _offering_s(profile: LoadProfile) -> float:
    if profile.whole_s is not None:
        return profile.whole_s
    loops = profile.loops or 1
    return profile.ramp_up_s + profile.users * loops / ASSUMED_PER_S + loops * profile.think_time_s


def _errors_by_kind(path: Path) -> Counter[str]:
    with open_text(path) as stream:
        return Counter(
            _kind(row["error"] or "") for row in csv.DictReader(stream) if row.get("ok") == "false"
        )


def _kind(error: str) -> str:
    code = error.removeprefix("error ")
    return ERROR_NAMES.get(code, f"k6 error {code}") if code != error else error
