# SPDX-License-Identifier: Apache-2.0
"""Plans registered before the first trial: what was fixed then, and what has changed since.

A margin, a number of blocks or a rule of stopping that is chosen after the results were seen can make almost any
verdict (Simmons, Nelson and Simonsohn 2011). So they are written into the session with a hash, before its first result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.analysis.stats.verdicts import (
    ALPHA,
    DEFAULT_MARGIN,
    FEWEST_FOR_P,
    MEMORY_MARGIN,
    MOST_NOISE,
    TAIL_MARGIN,
)
from harness.model import Plan, Registration
from harness.model.digits import plain

#: Sessions stop after their plan, whatever they found.
STOPPING = "after the planned blocks"
#: Of a session whose stored plan, rules or definition are not those that its hash was made of.
ALTERED = "the registration itself"


def rules_now() -> dict[str, float]:
    """Return the rules by which verdicts are made by this version of the analysis."""
    return {
        "margin": DEFAULT_MARGIN,
        "margin of the tail": TAIL_MARGIN,
        "margin of memory": MEMORY_MARGIN,
        "most noise": MOST_NOISE,
        "level of a test": ALPHA,
        "fewest blocks": float(FEWEST_FOR_P),
    }


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
        stored: the header of the session as JSON, as it is stored. The hash is that of what was written then; a plan
            that today's model has read has the fields that were added since.
        definition_sha256: of the experiment's definition now; None: there is none any more.
    """
    registered = stored.get("registration")
    if registered is None:
        return ()
    then, rules = stored["provenance"]["definition_sha256"], registered["rules"]
    found = []
    if _sha256(stored["plan"], then, registered["stopping"], rules) != registered["sha256"]:
        found.append(ALTERED)
    if definition_sha256 != then:
        found.append("the definition of the experiment")
    now = rules_now()
    for name in sorted({*now, *rules}):
        before, after = rules.get(name), now.get(name)
        if before != after:
            found.append(f"{name}: {_value(before)} then, {_value(after)} now")
    return tuple(found)


def _value(rule: float | None) -> str:
    return "none" if rule is None else plain(rule)


def _sha256(
    plan: Mapping[str, Any], definition_sha256: str, stopping: str, rules: Mapping[str, float]
) -> str:
    # a duet that there is not has no part in it, so that a hash is what it was before there were duets
    trials = [
        {key: value for key, value in trial.items() if key != "duet" or value is not None}
        for trial in plan["trials"]
    ]
    fixed = {
        "definition": definition_sha256, "plan": {**plan, "trials": trials}, "rules": rules, "stopping": stopping,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(fixed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
