# SPDX-License-Identifier: Apache-2.0
"""What bounded a trial, from what was measured while its load ran: service, generator, backing, machine or rate.

A load that waits for its answers, and a rate that cannot be kept, measure whatever runs out first. The first of these
that holds names it:

1. service, generator or backing used 85 % or more of the CPU time that the hypervisor left to the CPUs they may use:
   the one that used the largest share, the service unless another is ahead of it by more than 5 points. What the
   hypervisor took was, on each CPU, in proportion to what was used there, because it takes only from CPUs with work.
   In a duet: where service and generator together, with half of what others took, used 85 % of the CPUs of their arm,
   the larger user;
2. generator: against the echo service it reached less than 1.25 times as much in the same load, and, in an open loop
   that was not kept, did not keep the rate there either;
3. parts that share CPUs used 85 % of them together, and none of them alone: backing where two thirds of that was its
   own, else machine; machine too where other processes and the hypervisor took so much that a part may have lacked it;
4. service: all connections of its own pool were in use, and everything else had room;
5. backing: nearly all users, or connections that wait for a lock, were in the database;
6. machine: tasks waited for memory or disks a quarter of the time, and no rate was kept;
7. offered: a rate was offered and kept.

Otherwise it is unknown, and ``why`` says what was seen. Pure: nothing is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.model import Bound, BoundBy
from harness.model.digits import fixed, plain, whole_percent

#: From this share of the CPUs that it may use a part has no more to give.
FULL_SHARE = 0.85
#: A database with this share of what was used on CPUs that it shares is what the others waited for.
MOST_SHARE = 2 / 3
#: The service is named where its share is within this of the largest.
TIE = 0.05
#: Against echo the generator reached this many times as much, or it was the limit.
HEADROOM_ENOUGH = 1.25
#: An open loop of which less was answered was not kept.
KEPT_SHARE = 0.95
#: Other processes and the hypervisor below this share of a part's CPUs are not what it lacked.
OTHERS_SHARE = 0.10
#: Tasks waited for memory or disks for this share of the time.
PRESSURE_SHARE = 0.25
#: Of the connections in use, waiting for another's lock.
LOCKED_SHARE = 0.5

PartName = Literal["service", "generator", "backing"]
WORDS: dict[PartName, str] = {
    "service": "service", "generator": "generator", "backing": "database or upstream"
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of those who work in a trial. CPUs are named by machine, so that equal numbers elsewhere are others."""

    name: PartName
    cores: float | None  # CPU seconds per second while the load ran
    cpus: frozenset[tuple[str, int]] = frozenset()  # it may use; empty: not known
    most: float | None = None  # fewer CPUs' worth than that: a quota, GOMAXPROCS, its own threads
    spins: bool = False  # it uses all of them whatever it does

    @property
    def may_use(self) -> float | None:
        """CPUs' worth of time that it can use at most."""
        limits = [float(limit) for limit in (len(self.cpus) or None, self.most) if limit is not None]
        return min(limits) if limits else None

    @property
    def share(self) -> float | None:
        """What it used of that; ``None``: not known, or it says nothing of what it does."""
        return None if self.cores is None or self.spins or not self.may_use else self.cores / self.may_use


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What the load asked for and got, requests or passes per second. ``None``: no rate was offered; not known."""

    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    echo_per_s: float | None = None
    headroom_ratio: float | None = None
    users: int | None = None

    @property
    def keeps_rate(self) -> bool:
        """A rate was offered, and as good as all of it answered."""
        offered, achieved = self.offered_per_s, self.achieved_per_s
        return offered is not None and achieved is not None and achieved >= KEPT_SHARE * offered


@dataclass(frozen=True, kw_only=True)
class HostUse:
    """The service's machine while the load ran, in CPUs' worth of time, and shares of the time. ``None``: not known."""

    n_cpus: int | None = None
    stolen_cores: float | None = None
    other_cores: float | None = None
    idle_cores: float | None = None
    waited_for_memory: float | None = None
    waited_for_disks: float | None = None

    @property
    def taken_cores(self) -> float:
        """By other processes and the hypervisor."""
        return (self.stolen_cores or 0.0) + (self.other_cores or 0.0)

    @property
    def taken_share(self) -> float | None:
        """Of all CPUs of the machine."""
        if not self.n_cpus or (self.stolen_cores is None and self.other_cores is None):
            return None
        return self.taken_cores / self.n_cpus


@dataclass(frozen=True, kw_only=True)
class Connections:
    """The service's connections to its database while the load ran, means over readings."""

    n_active: float
    n_in_use: float  # active, or idle within a transaction
    n_waiting_for_lock: float
    at_most: int | None = None  # of the service's own pool; None: no such limit


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that was measured of one trial."""

    parts: tuple[Part, ...]
    asked: Rates
    around: HostUse = HostUse()
    connections: Connections | None = None
    missing: tuple[str, ...] = ()  # what is not known, in words
    n_arms: int = 0  # on CPUs that service and generator share: 2 in a duet; 0: they do not share by design

    def part(self, name: PartName) -> Part | None:
        """Return one of the parts; ``None``: the trial has none of that name."""
        return next((part for part in self.parts if part.name == name), None)


_Said = tuple[BoundBy, str]


def what_bounds(seen: Facts) -> Bound:
    """Return what bounded a trial, and the shares that it rests on; ``None``: one is not known."""
    rules = (_full, _arm, _generator_limit, _machine, _own_limit, _waiting, _pressure, _rate_kept)
    verdict = next((verdict for verdict in (rule(seen) for rule in rules) if verdict is not None), None)
    by, why = verdict or _unknown(seen)
    shares = {part.name: part.share for part in seen.parts}
    return Bound(
        by=by, why=why, service_share=shares.get("service"), generator_share=shares.get("generator"),
        backing_share=shares.get("backing"), machine_share=seen.around.taken_share,
    )  # fmt: skip


def _full(seen: Facts) -> _Said | None:
    shares = {part.name: share for part in seen.parts if (share := _share_of_left(part, seen)) is not None}
    name: PartName = max(shares, key=lambda name: shares[name], default="service")
    if shares.get(name, 0.0) < FULL_SHARE:
        return None
    if shares.get("service", 0.0) >= max(FULL_SHARE, shares[name] - TIE):
        name = "service"
    part = seen.part(name)
    assert part is not None
    words = f"the {WORDS[name]} used {_used(part)}"
    if (part.share or 0.0) < FULL_SHARE:
        words += f", of which the hypervisor left {fixed((part.cores or 0.0) / shares[name], 2)}"
    return name, words


def _share_of_left(part: Part, seen: Facts) -> float | None:
    """Return the share that a part used of what the hypervisor left; ``None``: not known, or more than half taken."""
    share, limit, stolen = part.share, part.may_use, seen.around.stolen_cores or 0.0
    if share is None or not limit or not stolen or seen.n_arms or not _is_there(part, seen):
        return share
    local = [each for each in seen.parts if _is_there(each, seen)]
    used = sum(each.cores or 0.0 for each in local) + (seen.around.other_cores or 0.0)
    beside = sum(each.cores or 0.0 for each in seen.parts if each.cpus & part.cpus)
    # of CPUs that it shares, or may use in part, it loses by what it may use of them
    taken = stolen * beside / used * min(1.0, limit / len(part.cpus)) if used else 0.0
    return share * limit / (limit - taken) if taken <= limit / 2 else None


def _arm(seen: Facts) -> _Said | None:
    """Of CPUs shared by design: those of the arm were used, and the larger user of them is what the arm waited for.

    Neither can be near the whole, so the two are counted together. What others took is in a duet half of it this arm's,
    because both arms were on the same CPUs as long: it makes both slower and neither the better one.
    """
    service, generator = seen.part("service"), seen.part("generator")
    if not seen.n_arms or service is None or generator is None:
        return None
    limit, used_cores, load = service.may_use, service.cores, generator.cores
    if not limit or used_cores is None or load is None:
        return None
    taken = min(limit, seen.around.taken_cores / seen.n_arms)
    if used_cores + load + taken < FULL_SHARE * limit or taken > used_cores + load:
        return None
    larger = service if used_cores >= load else generator
    used = f"the service used {fixed(used_cores, 2)} and the generator {fixed(load, 2)}"
    used += f"; others took {fixed(taken, 2)} of them" if taken >= OTHERS_SHARE * limit else ""
    return larger.name, f"of {fixed(limit, 0)} {'CPU' if limit == 1 else 'CPUs'} of its arm {used}"


def _generator_limit(seen: Facts) -> _Said | None:
    asked, against = seen.asked, "against the echo service"
    offered, echo, achieved = asked.offered_per_s, asked.echo_per_s, asked.achieved_per_s
    if offered is None:
        ratio = asked.headroom_ratio
        if ratio is None or ratio >= HEADROOM_ENOUGH:
            return None
        return "generator", f"{against} the generator reached {plain(ratio)} times as much"
    if asked.keeps_rate or echo is None or echo >= KEPT_SHARE * offered:
        return None
    if achieved is not None and echo >= HEADROOM_ENOUGH * achieved:
        return None
    return "generator", f"the generator kept {plain(echo)} of {plain(offered)}/s {against}"


def _machine(seen: Facts) -> _Said | None:
    around, service = seen.around, seen.part("service")
    # beside the service's CPUs one that never sleeps makes way: that its own are full says nothing
    parts = [part for part in seen.parts if not part.spins or (service and part.cpus & service.cpus)]
    for cpus, sharing in _sharing(parts):
        cores = sum(part.cores or 0.0 for part in sharing)
        whole = around.n_cpus == len(cpus) and around.idle_cores is not None
        busy = len(cpus) - (around.idle_cores or 0.0) if whole else cores + min(around.taken_cores, len(cpus))
        if len(sharing) > 1 and busy >= FULL_SHARE * len(cpus):
            largest = max(sharing, key=lambda part: part.cores or 0.0)
            if around.taken_cores > (largest.cores or 0.0):
                return "machine", _taken(around)
            names = " and ".join(WORDS[part.name] for part in sharing)
            mostly = largest.name == "backing" and (largest.cores or 0.0) >= MOST_SHARE * cores
            most = f"most by the {WORDS[largest.name]} ({fixed(largest.cores or 0.0, 2)})"
            words = f"{names} share {len(cpus)} CPUs, of which {fixed(busy, 2)} were used, {most}"
            return "backing" if mostly else "machine", words
    for part in seen.parts:
        limit = part.may_use
        if limit is None or part.cores is None or part.spins or around.taken_cores < OTHERS_SHARE * limit:
            continue
        if part.cores + around.taken_cores >= FULL_SHARE * limit and _is_there(part, seen):
            return "machine", f"{_taken(around)}; the {WORDS[part.name]} used {_used(part)}"
    return None


def _sharing(parts: Sequence[Part]) -> Iterator[tuple[frozenset[tuple[str, int]], list[Part]]]:
    """Yield CPUs with the parts that may use any of them, for the parts that have one in common."""
    left = [part for part in parts if part.cpus]
    while left:
        group = [left.pop(0)]
        cpus = group[0].cpus
        while more := [part for part in left if part.cpus & cpus]:
            group += more
            left = [part for part in left if part not in more]
            cpus = cpus.union(*(part.cpus for part in more))
        yield cpus, group


def _is_there(part: Part, seen: Facts) -> bool:
    """Whether a part runs on the service's machine, whose other processes are known."""
    service = seen.part("service")
    machines = {machine for machine, _ in service.cpus} if service is not None else set()
    return bool(machines & {machine for machine, _ in part.cpus})


def _own_limit(seen: Facts) -> _Said | None:
    connections, users = seen.connections, seen.asked.users
    pool = None if connections is None else connections.at_most
    if connections is None or pool is None or (users is not None and users <= pool):
        return None
    if connections.n_in_use < FULL_SHARE * pool or _locked(connections):
        return None
    return "service", f"{plain(connections.n_in_use)} of its {pool} connections were in use, others had room"


def _waiting(seen: Facts) -> _Said | None:
    connections = seen.connections
    if connections is None:
        return None
    could = [n for n in (connections.at_most, seen.asked.users) if n is not None]
    if not could or connections.n_active < FULL_SHARE * min(could):
        return None
    if connections.at_most is not None and connections.at_most == min(could) and not _locked(connections):
        return None  # its own pool: said before, where the others had room
    n_locked = connections.n_waiting_for_lock
    words = f"{plain(connections.n_active)} of at most {min(could)} statements at once were in the database"
    return "backing", words + (f", {plain(n_locked)} of them for a lock" if n_locked else "")


def _locked(connections: Connections) -> bool:
    return connections.n_in_use > 0 and connections.n_waiting_for_lock >= LOCKED_SHARE * connections.n_in_use


def _pressure(seen: Facts) -> _Said | None:
    around = seen.around
    for waited, what in ((around.waited_for_memory, "memory"), (around.waited_for_disks, "disks")):
        if waited is not None and waited >= PRESSURE_SHARE and not seen.asked.keeps_rate:
            return "machine", f"tasks waited for {what} {whole_percent(waited)} of the time"
    return None


def _rate_kept(seen: Facts) -> _Said | None:
    asked = seen.asked
    words = f"{plain(asked.achieved_per_s or 0)} of {plain(asked.offered_per_s or 0)}/s were answered"
    return ("offered", words) if asked.keeps_rate else None


def _unknown(seen: Facts) -> _Said:
    if seen.missing:
        return "unknown", "; ".join(seen.missing)
    parts = [f"the {WORDS[part.name]} used {_used(part)}" for part in seen.parts if part.share is not None]
    used = ", ".join(parts) or "no CPU time is known"
    lost = "users waited for their answers" if seen.asked.offered_per_s is None else "the rate was not kept"
    return "unknown", f"nothing was at its limit, and {lost}: {used}"


def _used(part: Part) -> str:
    return f"{fixed(part.cores or 0.0, 2)} of {plain(part.may_use or 0.0)} CPUs"


def _taken(around: HostUse) -> str:
    stolen, other_cores = around.stolen_cores or 0.0, around.other_cores or 0.0
    return f"other processes used {fixed(other_cores, 2)} CPUs, and the hypervisor took {fixed(stolen, 2)}"
