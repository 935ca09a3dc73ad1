# SPDX-License-Identifier: Apache-2.0
"""Which evidence judges a number of a claim: the best of all experiments that could.

Evidence that can judge comes before evidence that cannot; then in this order: warm processes before young ones (where
the claim speaks of warm services a young one never counts), trials that speak of the services before those that
something else bounded, more blocks, a commit that this repository has, the newer session, and the ledger's own order.
Facts of files and builds are as good from any session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.evidence import Evidence
from harness.model import ClosedLoad
from harness.model.claim import ClaimTest, MeasuredNumber
from harness.project import has_commit
from harness.questions.claims.measured import Measured, NotMeasured, measure

#: The evidence of an experiment; ``None``: it has no session.
Open = Callable[[str], Evidence | None]


@dataclass(frozen=True, kw_only=True)
class PassedOver:
    """Evidence that could have judged a number, and why other evidence does; ``measured``: what it says."""

    number: MeasuredNumber
    session: str | None
    measured: Measured | None
    why: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What judges a number, or why nothing does; ``passed_over``: all else, in the ledger's order."""

    found: Measured | NotMeasured
    passed_over: tuple[PassedOver, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    found: Measured
    commit_there: bool
    begun_epoch_s: float

    @property
    def rank(self) -> tuple[bool, bool, int, bool, float]:
        """The greater the better."""
        one = self.found
        return (not one.young, one.not_about is None, one.n_measured, self.commit_there, self.begun_epoch_s)

    def behind(self, best: _Candidate) -> str:
        """Return why the best is better, by the first that tells them apart."""
        mine, other = self.found, best.found
        if mine.young != other.young:
            return "young processes"
        if (mine.not_about is None) != (other.not_about is None):
            return mine.not_about or ""
        if mine.n_measured != other.n_measured:
            return f"fewer blocks ({mine.n_measured} against {other.n_measured})"
        if self.commit_there != best.commit_there:
            return "of a commit that is not in this repository"
        return "an older session" if self.begun_epoch_s < best.begun_epoch_s else "listed behind it"


def choose(test: ClaimTest, open_evidence: Open) -> Choice:
    """Return what judges the number of a test, and what was passed over for it.

    Raises:
        InputError: a session does not have what the test names.
    """
    if test.missing is not None:
        return Choice(found=NotMeasured(test.missing))
    candidates: dict[int, _Candidate] = {}
    unfit: dict[int, PassedOver] = {}
    for place, number in enumerate(test.measured):
        evidence = open_evidence(number.experiment)
        found = _found(test, number, evidence)
        if evidence is not None and isinstance(found, Measured) and (test.age is None or found.warm):
            provenance = evidence.header.provenance
            candidates[place] = _Candidate(
                found=found,
                commit_there=not provenance.commit
                or has_commit(evidence.root, provenance.commit) is not False,
                begun_epoch_s=provenance.started_epoch_s,
            )
            continue
        unfit[place] = PassedOver(
            number=number,
            session=None if evidence is None else evidence.sessions[0].key,
            measured=found if isinstance(found, Measured) else None,
            why=_not_warm(found) if isinstance(found, Measured) else found.why,
        )
    if not candidates:
        return Choice(
            found=NotMeasured("; ".join(dict.fromkeys(one.why for one in unfit.values()))),
            passed_over=tuple(one for one in unfit.values() if one.measured is not None),
        )
    chosen = max(candidates, key=lambda place: (*candidates[place].rank, -place))
    best = candidates.pop(chosen)
    unfit |= {
        place: PassedOver(
            number=one.found.number, session=one.found.session, measured=one.found, why=one.behind(best)
        )
        for place, one in candidates.items()
    }
    return Choice(found=best.found, passed_over=tuple(unfit[place] for place in sorted(unfit)))


def _found(test: ClaimTest, number: MeasuredNumber, evidence: Evidence | None) -> Measured | NotMeasured:
    if evidence is None:
        return NotMeasured(f"no session of {number.experiment}")
    n_cpus = evidence.machine.n_cpus
    if test.needs_cpus is not None and n_cpus < test.needs_cpus:
        return NotMeasured(f"speaks of {test.needs_cpus} CPUs or more, the machine has {n_cpus}")
    most = _connections(evidence)
    if test.needs_connections is not None and most < test.needs_connections:
        return NotMeasured(
            f"speaks of {test.needs_connections} connections at once or more, the load of "
            f"{number.experiment} has {most}"
        )
    return measure(evidence, number, limit=test.predicate.limit, gated=test.subject == "services")


def _connections(evidence: Evidence) -> int:
    """Return the most connections at once of the session's loads."""
    profiles = [
        trial.configuration.load.profile for trial in evidence.header.plan.trials if trial.configuration.load
    ]
    return max((one.users if isinstance(one, ClosedLoad) else one.connections for one in profiles), default=0)


def _not_warm(found: Measured) -> str:
    """Return why a number is not that of warm services."""
    arms = () if found.ages is None else (found.ages.variant, found.ages.reference)
    ages = " and ".join(dict.fromkeys(arm.in_words for arm in arms if not arm.warm))
    return (
        f"speaks of warm services, the processes of {found.number.experiment} are {ages or 'of unknown age'}"
    )
