# SPDX-License-Identifier: Apache-2.0
"""Request mixes: their proportions, and flows, whose requests are steps that every user takes in order.

A flow is expressed once, in ``contract/requests.jsonl``, and every tool is given the same thing: the steps, each text
cut into pieces (plain text, or the place of a captured value), and for each capture the way to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from harness.loadgen.correlation import CARRIED, Pieces, expects, needs, pieces, renderings, steps_of
from harness.model import ClosedLoad, Expectation, Request

#: Tools that choose by repeating a request get no more entries than this.
MAX_ROUND = 1000


@dataclass(frozen=True)
class FlowFault:
    """A fault of a mix: at which of its requests, with what value, and what is allowed there."""

    index: int
    problem: str
    value: str
    allowed: str | None = None


def is_flow(requests: Sequence[Request]) -> bool:
    """Return whether the requests are steps; ``flow_fault`` refuses a mix that is half of it."""
    return any(request.step is not None for request in requests)


def in_order(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return the steps in order; a plain mix as it stands."""
    return tuple(sorted(requests, key=lambda request: request.step or 0))


def closed_s(profile: ClosedLoad, requests: Sequence[Request], assumed_per_s: float) -> float:
    """Return how long a closed loop lasts; one of loops is assumed to be answered at that rate."""
    if profile.duration_s is not None:
        return profile.duration_s
    each = (profile.loops or 1) * (len(requests) if is_flow(requests) else 1)
    return profile.ramp_up_s + profile.users * each / assumed_per_s + each * profile.think_time_s


def readiness_request(requests: Sequence[Request]) -> Request:
    """Return the request to ask until a service is up: the marked one, else a flow's first step (later ones may count
    on it), else the first GET, which may be repeated safely, else the first request."""
    ordered = in_order(requests)
    marked = [request for request in ordered if request.readiness]
    reading = [request for request in ordered if request.method == "GET" and not is_flow(ordered)]
    return (*marked, *reading, *ordered)[0]


def no_flow(tool: str, requests: Sequence[Request]) -> str | None:
    """Return why a tool that sends the same bytes whatever was answered refuses these requests, or None."""
    if not is_flow(requests):
        return None
    return (
        f"{tool} cannot put data of one answer into the next request, and the mix {requests[0].mix!r} is a flow"
        f" of {len(requests)} steps: use jmeter, locust or k6"
    )


def flow_fault(requests: Sequence[Request]) -> FlowFault | None:
    """Return the first fault of the requests of one mix as a flow, or None. A plain mix captures nothing."""
    return next(_faults(requests), None)


def _faults(requests: Sequence[Request]) -> Iterator[FlowFault]:
    marked = [index for index, request in enumerate(requests) if request.readiness]
    for index in marked[1:]:
        yield FlowFault(index, "a second request for readiness", requests[index].name, "one in a mix")
    flow, seen, known = is_flow(requests), set[int](), set[str]()
    for index, request in enumerate(requests):
        if request.capture and not flow:
            names, allowed = ", ".join(request.capture), "step in every request of the mix"
            yield FlowFault(index, "capture in a mix without steps", names, allowed)
        if request.step is None and flow:
            allowed = "step in all requests of a mix, or in none"
            yield FlowFault(index, "a request without step in a flow", request.name, allowed)
    if not flow:
        return
    for index, request in enumerate(requests):
        step = request.step or 0
        if step in seen:
            yield FlowFault(index, "two requests of one step", str(step), "each step once")
        seen.add(step)
        if step > len(requests):
            allowed = f"1 to {len(requests)} without gaps"
            yield FlowFault(index, "a step is missing before this one", str(step), allowed)
        if request.weight != 1:
            weight = f"weight {request.weight}"
            yield FlowFault(index, "a step is taken once in each pass", weight, "weight 1")
    places = {request.step: index for index, request in enumerate(requests)}
    for request in in_order(requests):
        index, expected = places[request.step], expects(request.expect)
        fault = name_fault(index, needs(request), request.capture, expected, known)
        if fault is not None:
            yield fault
        # of the steps before it, for itself or the judgement of its answer
        needed = (*needs(request), *(name for name in expected if name not in request.capture))
        if request.readiness and needed:
            problem = "a request for readiness needs a capture"
            yield FlowFault(index, problem, needed[0], "one that needs none")
        known |= set(request.capture)


def name_fault(
    index: int, needed: Sequence[str], taken: Collection[str], expected: Sequence[str], known: Collection[str]
) -> FlowFault | None:
    """Return the fault of a request (of a flow, or of a case) that uses a name which it cannot know; its own captures
    hold in its expectation, never in what it sends."""
    again = sorted(set(taken) & set(known))
    if again:
        return FlowFault(index, "captured a second time", again[0], "a name is captured once")
    for name in needed:
        if name not in known:
            return FlowFault(index, "used before it is captured", f"${{{name}}}", _known(known))
    for name in expected:
        if name not in known and name not in taken:
            return FlowFault(index, "expected but never captured", f"${{{name}}}", _known({*known, *taken}))
    return None


def _known(names: Collection[str]) -> str:
    return ", ".join(f"${{{name}}}" for name in sorted(names)) or "nothing is captured before it"


def right_answers(expect: Expectation, *, places: bool = True) -> tuple[Pieces, ...] | None:
    """Return bodies that are right, the likeliest first, cut at their places; None: any body is right.

    A JSON value is any of its ``renderings``. Of ``one_of`` each value is right, and every value stands in its
    likeliest rendering before any stands in another. Without ``places`` of captured values each body is one text.
    """
    if expect.body is not None:
        return (pieces(expect.body) if places else (expect.body,),)
    if not expect.is_json:
        return None
    values = expect.one_of if expect.one_of is not None else (expect.json_value,)
    alike = zip_longest(*(renderings(value, places=places) for value in values), fillvalue=())
    return tuple(dict.fromkeys(cut for cuts in alike for cut in cuts if cut))


def right_bodies(expect: Expectation) -> tuple[str, ...] | None:
    """Return the texts that are right answers in a plain mix, the likeliest first; None: any body is right."""
    cuts = right_answers(expect, places=False)
    return None if cuts is None else tuple("".join(map(str, cut)) for cut in cuts)


def flow_document(requests: Sequence[Request]) -> dict[str, object]:
    """Return a whole flow, or a plain mix, as JSON for a tool's own script.

    ``{"carried": regex, "steps": [{"name", "method", "path": pieces, "headers": {name: pieces}, "body": pieces or null,
    "status", "capture": {name: [key or index, ...]}, "right": [pieces, ...] or null, "json": true or false}, ...]}``. A
    piece is a text, or ``{"name": ..., "as_json": true or false}``. A script sends the steps in order, compares the
    status, takes the captures out of the answer's JSON (a value that is no string, number or boolean, or whose text
    does not match ``carried`` in full, is the error ``no <name>``), then compares the body, where it is ``json`` as a
    value, and after the first wrong answer begins anew.
    """
    places = is_flow(requests)

    def cut(text: str) -> list[object]:
        return _plain(pieces(text) if places else (text,))

    def step(request: Request) -> dict[str, object]:
        right = right_answers(request.expect, places=places)
        return {
            "name": request.name,
            "method": request.method,
            "path": cut(request.path),
            "headers": {name: cut(text) for name, text in request.headers.items()},
            "body": None if request.body is None else cut(request.body),
            "status": request.expect.status,
            "capture": {name: list(steps_of(pointer)) for name, pointer in request.capture.items()},
            "right": None if right is None else [_plain(item) for item in right],
            "json": request.expect.is_json,
        }

    return {"carried": CARRIED if places else "", "steps": [step(request) for request in in_order(requests)]}


def _plain(cut: Pieces) -> list[object]:
    return [piece if isinstance(piece, str) else asdict(piece) for piece in cut]


def weights(requests: tuple[Request, ...]) -> tuple[int, ...]:
    """Return the weights in lowest terms: (100, 50) is (2, 1)."""
    divisor = math.gcd(*(request.weight for request in requests))
    return tuple(request.weight // divisor for request in requests)


def one_round(requests: tuple[Request, ...]) -> tuple[int, ...]:
    """Return indexes of ``requests``, each as often as its weight, spread evenly (smooth weighted round robin)."""
    shares = weights(requests)
    credit = [0] * len(shares)
    order: list[int] = []
    for _ in range(sum(shares)):
        credit = [have + share for have, share in zip(credit, shares, strict=True)]
        chosen = credit.index(max(credit))
        credit[chosen] -= sum(shares)
        order.append(chosen)
    return tuple(order)


def named_twice(requests: Sequence[Request]) -> str | None:
    """Return why a tool that counts by name cannot offer these requests, or None."""
    names = [request.name for request in requests]
    return None if len(set(names)) == len(names) else f"the mix names a request twice: {names}"


def unsupported_mix(requests: tuple[Request, ...]) -> str | None:
    """Return why a mix cannot be offered by repeating requests, or None."""
    if sum(weights(requests)) > MAX_ROUND:
        return f"the weights of the mix need a round of more than {MAX_ROUND} requests: choose rounder ones"
    return named_twice(requests)


def other_statuses(tool: str, requests: tuple[Request, ...]) -> str | None:
    """Return why a tool that takes 2xx and 3xx as right cannot judge these requests, or None."""
    wrong = [request.name for request in requests if not 200 <= request.expect.status < 400]
    return f"{tool} takes statuses but 2xx and 3xx for errors, and {wrong} expect another" if wrong else None
