# SPDX-License-Identifier: Apache-2.0
"""Whether a service is fit to be loaded at all: it answers, always alike, and keeps its connection."""

from __future__ import annotations

import time
from collections import Counter
from statistics import median

from pydantic import Field

from harness.agent.http_exchange import Answer, Connection, ExchangeError
from harness.errors import InputError
from harness.model import Frozen
from harness.model.digits import plain
from harness.probe.target import Target

#: Requests asked one after another, and the time after which no further one is begun.
N_ASKED, LONGEST_S = 20, 5.0
TIMEOUT_S = 10.0
#: A delayed acknowledgement of TCP that meets small writes (Nagle) costs about this.
_PLATEAU_S = (0.036, 0.048)


class Fitness(Frozen):
    """What twenty requests over one connection showed. ``faults``: why no load is offered; none: it is fit."""

    n_asked: int
    statuses: dict[int, int]
    keeps_alive: bool
    n_connections: int
    body_bytes: int
    same_body: bool
    first_s: float = Field(description="of the first request, with connecting")
    later_s: float | None = Field(description="median of the others; None: there was one")
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The status of most answers."""
        return max(self.statuses, key=lambda item: self.statuses[item])


def ask(target: Target) -> Fitness:
    """Ask a few times, one request after another.

    Raises:
        InputError: nobody answers there, or not with HTTP/1.1.
    """
    answers: list[Answer] = []
    took: list[float] = []
    began = time.monotonic()
    with Connection(target.endpoint, TIMEOUT_S) as connection:
        while len(answers) < N_ASKED and (not answers or time.monotonic() - began < LONGEST_S):
            sent = time.monotonic()
            try:
                answers.append(connection.exchange(target.request, head_only=target.method == "HEAD"))
            except (ExchangeError, OSError) as problem:
                raise InputError(
                    f"gives no answer to request {len(answers) + 1} ({problem or type(problem).__name__})",
                    place="URL",
                    found=target.url,
                    allowed="a service that runs and speaks HTTP/1.1",
                ) from problem
            took.append(time.monotonic() - sent)
        n_opened = connection.n_opened
    statuses = Counter(answer.status for answer in answers)
    later = median(took[1:]) if len(took) > 1 else None
    result = Fitness(
        n_asked=len(answers),
        statuses=dict(statuses),
        keeps_alive=n_opened == 1
        and all(answer.headers.get("connection", "").lower() != "close" for answer in answers),
        n_connections=n_opened,
        body_bytes=len(answers[-1].body),
        same_body=len({answer.body for answer in answers}) == 1,
        first_s=took[0],
        later_s=later,
    )
    return result.model_copy(update={"faults": _faults(result), "warnings": _warnings(result)})


def _faults(fitness: Fitness) -> tuple[str, ...]:
    faults = []
    if len(fitness.statuses) > 1:
        text = ", ".join(f"{n} x {status}" for status, n in sorted(fitness.statuses.items()))
        faults.append(f"the status changes from request to request: {text}")
    elif 300 <= fitness.status < 400:
        faults.append(f"status {fitness.status}: give the address that it leads to")
    elif not 200 <= fitness.status < 300:
        faults.append(f"status {fitness.status}: a load would measure how it refuses")
    return tuple(faults)


def _warnings(fitness: Fitness) -> tuple[str, ...]:
    notes = []
    if not fitness.keeps_alive:
        notes.append("it closes its connections: every request pays for a new one, and ports may run out")
    if not fitness.same_body:
        notes.append("its answers differ in their bodies: requests may not all cost the same")
    if fitness.later_s is not None and _PLATEAU_S[0] <= fitness.later_s <= _PLATEAU_S[1]:
        notes.append(
            f"about {plain(fitness.later_s * 1e3)} ms for one user alone is the mark of a delayed acknowledgement: set "
            "TCP_NODELAY, or write head and body at once"
        )
    return tuple(notes)
