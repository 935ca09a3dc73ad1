# SPDX-License-Identifier: Apache-2.0
"""What a comparison says: one rule for verdict, margin and p-value; p-values; registered plans.

:func:`decide` is the rule. Margins, blocks and rules of stopping that are chosen after the results can make almost any
verdict (Simmons, Nelson and Simonsohn 2011): they are written into the session with a hash before its first result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import FEWEST_TRIALS, Floats, arms
from harness.errors import InputError
from harness.model import Estimate, Plan, Registration, Verdict
from harness.model.base import Frozen
from harness.model.digits import plain

#: Below this number of blocks no p-value is printed.
FEWEST_FOR_P = FEWEST_TRIALS

#: What counts as negligible where nothing else is said: a share of the reference.
DEFAULT_MARGIN = 0.05
TAIL_MARGIN = 0.10
#: Memory within this is called equal, as a share; within the noise between equal trials, where that is larger.
MEMORY_MARGIN = 0.10
#: A margin widened to more than this would call things equal that nobody would.
MOST_NOISE = 0.25
#: Error rate of the two-sided statements: 95 % intervals, adjusted p-values.
ALPHA = 0.05
#: Up to here all 2^k sign patterns are counted (half a million sums), above they are sampled.
EXACT_SIGN_FLIPS_UP_TO = 20
#: Sessions stop after their plan, whatever they found.
STOPPING = "after the planned blocks"
#: Of a session whose stored plan, rules or definition are not those that its hash was made of.
ALTERED = "the registration itself"


class Decision(Frozen):
    """What a comparison says, and what may be printed beside it."""

    verdict: Verdict
    margin: float | None  # what counts as negligible, as a share; None: nothing can be called equivalent here
    why_not_equivalent: str | None  # why nothing can be called equivalent; None: something can
    #: adjusted over its family; None where no adjusted p of so few blocks is below .05 for sure
    p_adjusted: float | None


def decide(
    ratio: Estimate,
    equivalence: Estimate,
    *,
    n_blocks: int,
    margin: float,
    noise: float | None = None,
    p_adjusted: float | None = None,
    family_size: int = 1,
    not_about: str | None = None,
    p_has_least: bool = True,
    alike_by: str | None = None,
) -> Decision:
    """Return verdict, margin and p-value of one comparison, from the same rule. Raises InputError: the margin is not
    positive and finite.

    The margin is ``margin``, or the noise of the reference against itself where that is larger. Noise above 25 %, fewer
    than five blocks, and ``alike_by`` allow none: nothing is called equivalent. *Different*: five blocks or more, the
    95 % interval leaves out 1, and the adjusted p, where :func:`p_can_tell`, is at most .05. *Equivalent*: the 90 %
    interval lies within the margin. *Different but negligible*: both. *Inconclusive*: neither. *Not about the
    services*: where ``not_about`` says what else bounded the trials; no p then either.

    Args:
        ratio: with its 95 % interval. equivalence: the same ratio with its 90 % interval.
        n_blocks: pairs of trials. margin: wanted, as a share. noise: as a share; None: not measured.
        p_adjusted: of sign flips, adjusted over ``family_size`` comparisons; None: none was made.
        not_about: why the ratio does not speak of the services; None: it does.
        alike_by: what else than the services makes both alike; None: nothing does.
        p_has_least: so few blocks cannot give a smaller p, as with sign flips; false: the p is of a t test.
    """
    _check_margin(margin)
    widened, why = margin if noise is None else max(margin, noise), alike_by
    if n_blocks < FEWEST_FOR_P:
        why = f"{n_blocks} blocks, fewer than {FEWEST_FOR_P}"
    elif widened > max(margin, MOST_NOISE):
        why = f"noise {widened * 100:.0f} %, above {MOST_NOISE * 100:.0f} %"
    tells = p_can_tell(n_blocks, family_size) if p_has_least else n_blocks >= FEWEST_FOR_P
    p = p_adjusted if tells and not_about is None else None
    different = n_blocks >= FEWEST_FOR_P and leaves_out_one(ratio) and (p is None or p <= ALPHA)
    says = _VERDICTS[different, why is None and _within(equivalence, widened)]
    return Decision(
        verdict=says if not_about is None else Verdict.NOT_ABOUT_SERVICES,
        margin=widened if why is None else None, why_not_equivalent=why, p_adjusted=p,
    )  # fmt: skip


def smallest_p(n_blocks: int) -> float:
    """Return the smallest two-sided p of sign flips over so many blocks: all of one sign, 2 in 2^n."""
    return min(1.0, float(2.0 ** (1 - n_blocks)))


def p_can_tell(n_blocks: int, family_size: int) -> bool:
    """Return whether the smallest p of sign flips over so many blocks, times the comparisons, is at most .05."""
    return n_blocks >= FEWEST_FOR_P and smallest_p(n_blocks) * max(family_size, 1) <= ALPHA


_VERDICTS = {
    (True, True): Verdict.DIFFERENT_BUT_NEGLIGIBLE,
    (True, False): Verdict.DIFFERENT,
    (False, True): Verdict.EQUIVALENT,
    (False, False): Verdict.INCONCLUSIVE,
}


def adjust_pvalues(
    p_values: Sequence[float | None], *, method: Literal["holm", "bh"] = "holm"
) -> tuple[float | None, ...]:
    """Return p-values adjusted over their family, in the same order; ``None`` stays and is not counted. Raises
    InputError: a p-value outside [0, 1] or NaN. ``holm`` bounds the chance of any false claim; ``bh`` the share of
    false ones (Benjamini & Hochberg 1995)."""
    present = [(i, p) for i, p in enumerate(p_values) if p is not None]
    for i, p in present:
        if not 0.0 <= p <= 1.0:
            raise InputError("not a p-value", place=f"p_values[{i}]", found=p, allowed="a number in [0, 1]")
    family, n = np.array([p for _, p in present]), len(present)
    order = np.argsort(family, kind="stable")
    if method == "holm":
        stepped = np.maximum.accumulate(family[order] * np.arange(n, 0, -1))
    else:
        order = order[::-1]
        stepped = np.minimum.accumulate(family[order] * n / np.arange(n, 0, -1))
    out: list[float | None] = [None] * len(p_values)
    for place, value in zip(order.tolist(), np.minimum(stepped, 1.0).tolist(), strict=True):
        out[present[place][0]] = value
    return tuple(out)


def default_margin(metric: str) -> float:
    """Return what counts as negligible: 10 % in the tail (p99 and beyond, maxima), 5 % elsewhere."""
    return TAIL_MARGIN if any(word in metric for word in ("p99", "max")) else DEFAULT_MARGIN


def verdict(difference: Estimate, equivalence: Estimate, *, margin: float) -> Verdict:
    """Return what a ratio with its 95 % and its 90 % interval says; blocks, noise and family are not regarded."""
    _check_margin(margin)
    return _VERDICTS[leaves_out_one(difference), _within(equivalence, margin)]


def _check_margin(margin: float) -> None:
    if not 0 < margin < float("inf"):
        why, allowed = "a margin is a share of the reference", "above 0, such as 0.05"
        raise InputError(why, place="margin", found=margin, allowed=allowed)


def leaves_out_one(ratio: Estimate) -> bool:
    """Tell whether a ratio has an interval, and 1 lies outside of it."""
    return ratio.low is not None and ratio.high is not None and not (ratio.low <= 1.0 <= ratio.high)


def _within(ratio: Estimate, margin: float) -> bool:
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin


def sign_flip_p(a: ArrayLike, b: ArrayLike) -> float | None:
    """Return the two-sided p of "swapping a and b within blocks changes nothing"; ``None``: fewer than five blocks.
    Raises InputError: not positive, not finite, empty, or unequal lengths. PseudoReplicationError: more than trials.
    All 2^k signs up to k = 20, sampled above with the observed arrangement counted in (Phipson & Smyth 2010)."""
    left, right = arms(a, b, paired=True)
    if min(left.min(), right.min()) <= 0:
        raise InputError(
            "the test is on log ratios", found="a value of zero or less", allowed="positive numbers"
        )
    differences = np.log(left) - np.log(right)
    if differences.size < FEWEST_FOR_P:
        return None
    return (sign_flip_exact if differences.size <= EXACT_SIGN_FLIPS_UP_TO else _sign_flip_sampled)(
        differences
    )


def sign_flip_exact(differences: Floats) -> float:
    """Return the share of all sign patterns whose mean is at least as far from 0 as the observed one."""
    sums = np.zeros(1)
    for d in differences[1:]:  # the first sign may stay: patterns come in mirrored pairs
        sums = np.concatenate([sums + d, sums - d])
    sums = np.abs(sums + differences[0])
    return float(np.mean(sums >= abs(differences.sum()) - _rounding(differences)))


def _sign_flip_sampled(differences: Floats) -> float:
    rng = np.random.default_rng(0)
    observed = abs(differences.sum()) - _rounding(differences)
    n_extreme = 0
    for _ in range(5):  # bounds the memory
        signs = rng.integers(0, 2, (20_000, differences.size), dtype=np.int8) * 2.0 - 1.0
        n_extreme += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return (n_extreme + 1) / 100_001


def _rounding(values: Floats) -> float:
    """Equal sums added in another order differ by this much; they must count as equal."""
    return 1e-12 * float(np.abs(values).sum())


def rules_now() -> dict[str, float]:
    """Return the rules by which verdicts are made by this version of the analysis."""
    return {
        "margin": DEFAULT_MARGIN, "margin of the tail": TAIL_MARGIN, "margin of memory": MEMORY_MARGIN,
        "most noise": MOST_NOISE, "level of a test": ALPHA, "fewest blocks": float(FEWEST_FOR_P),
    }  # fmt: skip


def register(plan: Plan, definition_sha256: str, *, stopping: str = STOPPING) -> Registration:
    """Return what is fixed before the first trial of a plan, ``stopping``: when it ends, in words."""
    rules = rules_now()
    return Registration(
        n_blocks=plan.n_blocks, stopping=stopping, rules=rules,
        sha256=_sha256(plan.model_dump(mode="json"), definition_sha256, stopping, rules),
    )  # fmt: skip


def changed_since(stored: Mapping[str, Any], definition_sha256: str | None) -> tuple[str, ...]:
    """Return what is no longer as it was registered, in words; empty: nothing, or the session registered nothing.

    Args:
        stored: the header of the session as it is stored: the hash is of what was written then.
        definition_sha256: of the experiment's definition now; None: there is none any more.
    """
    registered = stored.get("registration")
    if registered is None:
        return ()
    then, rules = stored["provenance"]["definition_sha256"], registered["rules"]
    changes = []
    if _sha256(stored["plan"], then, registered["stopping"], rules) != registered["sha256"]:
        changes.append(ALTERED)
    if definition_sha256 != then:
        changes.append("the definition of the experiment")
    now = rules_now()
    for name in sorted({*now, *rules}):
        before, after = ("none" if of.get(name) is None else plain(of[name]) for of in (rules, now))
        if rules.get(name) != now.get(name):
            changes.append(f"{name}: {before} then, {after} now")
    return tuple(changes)


def _sha256(
    plan: Mapping[str, Any], definition_sha256: str, stopping: str, rules: Mapping[str, float]
) -> str:
    # no duet has no part in it: a hash is what it was before there were duets
    trials = [
        {key: value for key, value in trial.items() if key != "duet" or value is not None}
        for trial in plan["trials"]
    ]
    fixed = {"definition": definition_sha256, "plan": {**plan, "trials": trials}}
    fixed |= {"rules": rules, "stopping": stopping}
    return hashlib.sha256(json.dumps(fixed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
