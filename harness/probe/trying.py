# SPDX-License-Identifier: Apache-2.0
"""A minute of load: is the service fit, how much does it answer, and where does waiting begin?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import Field

from harness.errors import InputError, RematchError
from harness.model import ClosedLoad, Frozen, OpenLoad
from harness.model.digits import plain
from harness.probe.generators import Generators, Point
from harness.probe.target import Fitness, Target, ask

#: Users of the closed loads; no more are tried once twice as many answer hardly more.
USERS = (1, 2, 4, 8, 16, 32, 64)
_ENOUGH = 1.05
#: Rates of the open loads, as shares of the most that a closed load was answered.
SHARES = (0.2, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0)
#: A rate is kept where this share of it is answered rightly, and p99 is at most so many times that of the lowest rate.
_KEPT, _CALM = 0.97, 5.0
#: Below this share of what users who wait were answered a service is far from its limit.
_FAR = 0.75
SECONDS, SHORTEST_S = 60, 20
_FIT_S = 3.0

#: Of every such minute, said before it begins.
LIMITS = (
    "one process, started once: another start of the same program may differ by more than what is seen here, so this "
    "compares nothing (`rematch measure` does: docs/your-own-service.md)",
    "whether the answers are right: only their status is looked at",
    "what the service costs in CPU and memory",
)
SAME_MACHINE = "what it would do on CPUs of its own: service and load generator share this machine"
COLD = "how a warm service does: a JVM may need more than this minute"


class Tried(Frozen):
    """What one minute showed."""

    url: str
    cannot_tell: tuple[str, ...]
    fitness: Fitness
    closed: tuple[Point, ...] = ()
    open_loop: tuple[Point, ...] = ()
    most_per_s: float | None = Field(default=None, description="most right answers per second, closed loop")
    kept_up_to_per_s: float | None = Field(default=None, description="highest rate that was kept calmly")
    kept_why: str | None = Field(
        default=None, description="why a higher rate is not judged: the load generator could not offer it"
    )
    answers_after: bool = Field(default=True, description="it still answers when all loads are over")
    warnings: tuple[str, ...] = ()


def cannot_tell(target: Target) -> tuple[str, ...]:
    """Return what no minute of load on this target can say."""
    return (*LIMITS, COLD, *([SAME_MACHINE] if target.is_here else []))


def try_target(
    target: Target,
    root: Path,
    *,
    seconds: int = SECONDS,
    tools: Iterable[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Tried:
    """Ask, then load: closed with more and more users, then open with rates up to what that gave. ``seconds``: how long
    all of it should take; ``tools``: load tools to choose from, ``None``: all that are here; ``progress`` is called with
    what happens next. Raises InputError: nobody answers; RematchError: a load tool failed."""
    progress("asking one request after another")
    fitness = ask(target)
    limits = cannot_tell(target)
    if fitness.faults:
        return Tried(url=target.url, cannot_tell=limits, fitness=fitness, warnings=fitness.warnings)
    generators = Generators(target, root, fitness.status, tools)
    each_s = max(1, int((seconds - _FIT_S) / (len(USERS) + 1.5 * len(SHARES))))
    closed: list[Point] = []
    opened: list[Point] = []
    try:
        _load(generators, each_s, progress, closed, opened)
    except RematchError:
        if _answers(target):
            raise
    most = max((point.answered_per_s for point in closed), default=0.0)
    retained, kept_why = _kept_rate(opened, most)
    progress("asking once more")
    return Tried(
        url=target.url,
        cannot_tell=limits,
        fitness=fitness,
        closed=tuple(closed),
        open_loop=tuple(opened),
        most_per_s=most,
        kept_up_to_per_s=retained,
        kept_why=kept_why,
        answers_after=_answers(target),
        warnings=(*fitness.warnings, *_warnings([*closed, *opened])),
    )


def _load(
    generators: Generators,
    each_s: int,
    reported: Callable[[str], None],
    closed: list[Point],
    opened: list[Point],
) -> None:
    """Offer the loads one after the other; what was measured is there also where a tool fails."""
    for users in USERS:
        reported(f"closed loop, {users} users")
        closed.append(generators.offer(ClosedLoad(users=users, duration_s=float(each_s))))
        if len(closed) > 2 and closed[-1].answered_per_s < _ENOUGH * closed[-3].answered_per_s:
            break
    most = max(point.answered_per_s for point in closed)
    for share in SHARES if most > 0 else ():
        rate, open_s = float(max(1, round(share * most))), float(max(1, round(1.5 * each_s)))
        reported(f"open loop, {plain(rate)} requests/s")
        opened.append(generators.offer(OpenLoad(rate_per_s=rate, duration_s=open_s, arrivals="constant")))


def _answers(target: Target) -> bool:
    try:
        ask(target)
    except InputError:
        return False
    return True


def _kept_rate(points: list[Point], most_per_s: float = 0.0) -> tuple[float | None, str | None]:
    """Return the highest rate below the first one that was not kept, and why that one says nothing of the service.
    ``most_per_s``: answers to users who wait; a service that gave them is not at its limit far below."""
    calm_s = points[0].p99_s if points else None
    retained: float | None = None
    for point in points:
        offered = point.offered_per_s or 0.0
        late = point.p99_s is None or (calm_s is not None and point.p99_s > _CALM * calm_s)
        if point.answered_per_s < _KEPT * offered or late:
            is_far = point.answered_per_s < _KEPT * offered < _FAR * most_per_s
            whose = f"{point.tool} was at its own" if point.generator_bound else None
            whose = whose or (f"{point.tool} or this machine was at its" if is_far else None)
            limit = f"{whose} limit at {plain(offered)}/s, so that higher rates are not judged"
            return retained, None if whose is None else limit
        retained = offered
    return retained, None


def _warnings(points: list[Point]) -> list[str]:
    notes = []
    bound = sum(point.generator_bound for point in points)
    if bound:
        notes.append(
            f"in {bound} of {len(points)} loads the load generator was near its own limit: the service may do more"
        )
    failed = max((point.error_share for point in points), default=0.0)
    if failed > 0:
        notes.append(f"up to {plain(100 * failed)} % of the requests of a load failed")
    if sum(point.answered_per_s for point in points) and len({point.tool for point in points}) > 1:
        names = " and ".join(sorted({point.tool for point in points}))
        notes.append(f"the loads came from {names}: latencies of the two tables are not comparable")
    return notes
