# SPDX-License-Identifier: Apache-2.0
"""What a session of one service says of its capacity: the rate, what bounded it, noise, errors and age."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from harness.analysis.evidence import Evidence
from harness.analysis.stats.aa_noise import noise_by_configuration
from harness.analysis.stats.ages import age_of_arm, of_one_age
from harness.analysis.stats.summaries import summarise
from harness.model import BOUND_WORDS, Estimate
from harness.model.age import YOUNG, ArmAge
from harness.model.digits import percent, plain
from harness.model.formatting import show
from harness.model.trial import BoundBy

RATE = "throughput_per_s"


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """``rate``: of the trials of the service's age; ``noise``: the service against itself, as a share, ``None``: too
    few pairs; ``why``: what bounded a trial, with its numbers; ``age_s``: of its process when a load began."""

    name: str
    measures: bool
    rate: Estimate
    noise: float | None
    bound_by: dict[BoundBy, int]
    why: str
    n_requests: int
    n_errors: int
    age: ArmAge | None
    age_s: float

    @property
    def bounded(self) -> str:
        """What bounded it, in words."""
        n = sum(self.bound_by.values())
        text = ", ".join(f"{BOUND_WORDS[by]} in {n_by} of {n} trials" for by, n_by in self.bound_by.items())
        return f"bounded by {text} ({self.why})"

    @property
    def headline(self) -> str:
        """The answer, in one sentence."""
        rate = show(self.rate).interval.replace("\N{NARROW NO-BREAK SPACE}", " ")
        if not self.measures:
            text = f"{rate} in a test of whether everything works; its capacity was not measured"
        elif self.age is not None and self.age.age == YOUNG:
            text = f"{rate} while it is young; its capacity when warm was not measured"
        elif next(iter(self.bound_by)) == "service":
            text = f"capacity {rate}, users without a pause"
        else:
            text = f"at least {rate}; its capacity was not reached"
        noise = "" if self.noise is None else f"; against itself it differs by up to {percent(self.noise)}"
        wrong = percent(self.n_errors / self.n_requests) if self.n_errors else "none"
        errors = f"wrong or no answer: {wrong} of {self.n_requests:,} requests"
        return f"{self.name}: {text}; {self.bounded}{noise}; {errors}"

    @property
    def how_old(self) -> str:
        """The age of its processes, in words."""
        began = f"{plain(self.age_s)} s after its start the load began"
        if self.age is None or self.age.age == "unknown":
            return f"unknown, as its runtime does not tell whether it still compiles; {began}"
        if self.age.age == "aot-compiled":
            return f"compiled before its start, so that it need not warm up; {began}"
        return f"{self.age.in_words}; {began}"


def capacity_of(evidence: Evidence) -> Capacity | None:
    """Return what the trials of the reference say; ``None``: none was kept."""
    trials = evidence.trials
    own = trials[(trials["variant"] == evidence.reference) & ~trials["excluded"].astype(bool)]
    age, own = age_of_arm(own), of_one_age(own)
    if own.empty or own[RATE].isna().all():
        return None
    ages_s: dict[str, float] = {}
    for record in evidence.sessions[0].records():
        loads = [phase.start.monotonic_s for phase in record.phases if phase.name == "measurement"]
        if loads and record.instance is not None:
            ages_s[record.planned.trial_id] = loads[0] - record.instance.launched.monotonic_s
    bound_by: Counter[BoundBy] = Counter(own["bound_by"].fillna("unknown"))
    most = own[own["bound_by"].fillna("unknown") == bound_by.most_common(1)[0][0]]
    noises = list(noise_by_configuration(own, RATE).values())
    return Capacity(
        name=evidence.reference,
        measures=evidence.profile != "smoke",
        rate=summarise(own, RATE)["estimate"].iloc[0],
        noise=noises[0].noise if noises else None,
        bound_by=dict(bound_by.most_common()),
        why=str(most["bound_why"].fillna("nothing was recorded").iloc[0]),
        n_requests=int(own["n_requests"].sum()),
        n_errors=int(own["n_errors"].sum()),
        age=age,
        age_s=median(ages_s[str(trial)] for trial in own["trial_id"]),
    )
