# SPDX-License-Identifier: Apache-2.0
"""A load as k6's script reads it: k6's options with a scenario for each part, the requests, and when arrivals are due.

Open loop: each connection of the profile is one virtual user. Parts of a load are scenarios with a start
time each, and connections of their own.

With ``busy = "wait"`` no arrival is dropped while the load lasts: the virtual users take arrivals from one
queue in the order in which they are due, and sleep until then. One that is taken too late counts from when
it was due, so its row begins there; the parts of a load are one queue with gaps, over the same connections.

With ``renew_s`` the request of a virtual user whose connection is that old carries ``Connection: close``, and its
next request opens a new one. The first connection of each counts as older by another share of ``renew_s``, so that
not all are renewed at once. The next request asks for the same address by another name, because k6 would send it
on the old connection where a server closes that a moment after its answer. ``totals.json`` counts renewals.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from fractions import Fraction

from harness.loadgen.base import LoadSpec
from harness.loadgen.flow import flow_document, is_flow, one_round
from harness.model import ClosedLoad, LoadProfile, OpenLoad

#: An answer that takes longer is an error.
TIMEOUT_S = 60
#: How long what is under way at the end may take; what is answered later is dropped, and counted.
LAST_ANSWERS_S = 10
_FOREVER = "24h"
#: Of the one address; k6 has connections of their own for each.
RENEWED_NAMES = tuple(f"c{number}.renewed.invalid" for number in range(8))


def plan_document(spec: LoadSpec) -> dict[str, object]:
    """What the script reads: k6's options, the requests or steps, and how to go through them."""
    profile, flow = spec.profile, is_flow(spec.requests)
    names = () if profile.renew_s is None else RENEWED_NAMES
    staggered = isinstance(profile, ClosedLoad) and profile.loops is not None
    return {
        **flow_document(spec.requests),
        "flow": flow,
        "round": [] if flow else one_round(spec.requests),
        "arrivals": profile.n_arrivals if isinstance(profile, OpenLoad) else None,
        "due": _due(profile) if isinstance(profile, OpenLoad) and profile.busy == "wait" else None,
        "bases": [f"http://{name}:{spec.endpoint.port}" for name in names] or [spec.endpoint.url],
        "host": f"{spec.endpoint.host}:{spec.endpoint.port}" if names else None,
        "timeout": f"{TIMEOUT_S}s",
        "renew_ms": None if profile.renew_s is None else profile.renew_s * 1e3,
        "n_connections": profile.users if isinstance(profile, ClosedLoad) else profile.connections,
        "think_time_s": profile.think_time_s if isinstance(profile, ClosedLoad) else 0,
        "stagger_s": profile.ramp_up_s / profile.users
        if isinstance(profile, ClosedLoad) and staggered
        else 0,
        "options": {
            "scenarios": scenarios(profile),
            **({"hosts": dict.fromkeys(names, socket.gethostbyname(spec.endpoint.host))} if names else {}),
            "systemTags": [],
            "summaryTrendStats": [],
        },
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
            "iterations": profile.parts * profile.n_arrivals,
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
