# SPDX-License-Identifier: Apache-2.0
"""k6: open loop by a constant arrival rate, closed loop by virtual users; mixes and flows; bodies checked.

The script logs a row of 50 bytes a request, unbuffered: nothing is lost when k6 is killed. Open loop: each connection
is one virtual user; an arrival that finds all of them waiting is never sent. With ``busy = "wait"`` the virtual users
take arrivals from one queue, in parts where there are any, and one that is taken too late counts from when it was due.
With ``renew_s`` a request on an old connection carries ``Connection: close``, and the next one opens a new connection
by another name of the same address. ``n_dropped`` counts arrivals that left no row.
"""

from __future__ import annotations

import json
import math
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from harness.formats.row_files import K6_HEADER, K6_SAMPLES
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadSpec, even_only
from harness.loadgen.flow import flow_document, is_flow, one_round, unsupported_mix
from harness.loadgen.summary import RowTool
from harness.loadgen.template import as_it_is
from harness.model import ClosedLoad, LoadProfile, OpenLoad, Request

#: An answer that takes longer is an error.
TIMEOUT_S = 60
#: How long what is under way at the end may take; what is answered later is dropped, and counted.
LAST_ANSWERS_S = 10
#: Of the one address; k6 has connections of their own for each.
RENEWED_NAMES = tuple(f"c{number}.renewed.invalid" for number in range(8))


def plan_document(spec: LoadSpec) -> dict[str, object]:
    """Return what the script reads: k6's options, the requests or steps, and how to go through them."""
    profile, flow = spec.profile, is_flow(spec.requests)
    names = () if profile.renew_s is None else RENEWED_NAMES
    arrivals, due = None, None
    if isinstance(profile, OpenLoad):
        begins_ms = [begin_s * 1e3 for begin_s in profile.begins_s]  # after the first arrival
        queue = {"every_ms": 1e3 / profile.rate_per_s, "begins_ms": begins_ms}
        arrivals, due = profile.n_arrivals, queue if profile.busy == "wait" else None
        n_connections, think_time_s, stagger_s = profile.connections, 0.0, 0.0
    else:
        n_connections, think_time_s = profile.users, profile.think_time_s
        stagger_s = profile.ramp_up_s / profile.users if profile.loops is not None else 0.0
    return {
        **flow_document(spec.requests),
        "flow": flow,
        "round": [] if flow else one_round(spec.requests),
        "arrivals": arrivals,
        "due": due,
        "n_connections": n_connections,
        "think_time_s": think_time_s,
        "stagger_s": stagger_s,
        "bases": [f"http://{name}:{spec.endpoint.port}" for name in names] or [spec.endpoint.url],
        "host": f"{spec.endpoint.host}:{spec.endpoint.port}" if names else None,
        "timeout": f"{TIMEOUT_S}s",
        "renew_ms": None if profile.renew_s is None else profile.renew_s * 1e3,
        "options": {
            "scenarios": {"load": {**scenario(profile), "gracefulStop": f"{LAST_ANSWERS_S}s"}},
            **({"hosts": dict.fromkeys(names, socket.gethostbyname(spec.endpoint.host))} if names else {}),
            "systemTags": [],
            "summaryTrendStats": [],
        },
    }


def scenario(profile: LoadProfile) -> dict[str, object]:
    """Return the profile as one of k6's executors. Users of a load by loops are all there from the start, and the
    script has them wait for their turn."""
    if isinstance(profile, OpenLoad):
        if profile.busy == "wait":
            n, most_s = profile.parts * profile.n_arrivals, profile.whole_s + LAST_ANSWERS_S
            every = {"vus": profile.connections, "iterations": n, "maxDuration": _span(most_s)}
            return {"executor": "shared-iterations", **every}
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
        loops = {"vus": profile.users, "iterations": profile.loops, "maxDuration": "24h"}
        return {"executor": "per-vu-iterations", **loops}
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


SAMPLES, TOTALS, SCRIPT, PLAN, LOG = "samples.csv", "totals.json", "k6_script.js", "plan.json", "k6.log"
#: k6 knows no shorter test.
SHORTEST_S = 1.0
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
class K6(RowTool):
    """k6 as it is installed."""

    name: str = "k6"
    start_and_stop_s = 3.0
    logs = (LOG,)
    outputs = (SAMPLES, TOTALS, SCRIPT, PLAN, LOG)
    #: Nothing is looked for elsewhere.
    environment = MappingProxyType({"K6_AUTO_EXTENSION_RESOLUTION": "false"})

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        if isinstance(profile, OpenLoad):
            if (uneven := even_only("k6", profile)) is not None:
                return uneven
            if profile.parts > 1 and profile.busy != "wait":
                return 'k6 offers parts of a load from one queue: set busy = "wait"'
        if profile.duration_s is not None and profile.duration_s < SHORTEST_S:
            return f"k6 runs for at least {SHORTEST_S:g} s, found duration_s {profile.duration_s:g}"
        if isinstance(profile, ClosedLoad):
            if profile.ramp_up_s > (profile.duration_s or math.inf):
                return f"ramp_up_s {profile.ramp_up_s:g} is longer than duration_s {profile.duration_s}"
            if profile.stages and (profile.whole_s or 0) < SHORTEST_S:
                return f"k6 runs for at least {SHORTEST_S:g} s, found stages of {profile.whole_s:g} s"
        return None if is_flow(requests) else unsupported_mix(requests)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        return (
            str(self.program),
            "run",
            "--quiet",
            "--no-color",
            "--no-usage-report",
            "--no-thresholds",
            *("--address", ""),  # else it listens on a port of its own
            *("--log-format", "raw"),
            *("--log-output", f"file={spec.folder / LOG},level=error"),  # else a line for each failure
            *("--console-output", str(spec.folder / SAMPLES)),
            str(spec.folder / SCRIPT),
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        plan = json.dumps(plan_document(spec), ensure_ascii=False) + "\n"
        return {SCRIPT: as_it_is(SCRIPT), PLAN: plan, SAMPLES: K6_HEADER + "\n"}  # to which k6 appends

    def rows(self, path: Path) -> RequestTable:
        return K6_SAMPLES.read(path)

    def errors_by_kind(self, table: RequestTable, _path: Path) -> Counter[str]:
        """Return errors by k6's numbers, in words."""
        kinds: Counter[str] = Counter()
        for error, n in table.errors_by_kind.items():
            code = error.removeprefix("error ")
            kinds[ERROR_NAMES.get(code, f"k6 error {code}") if code != error else error] += n
        return kinds


adapter = K6.of
