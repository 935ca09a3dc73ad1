# SPDX-License-Identifier: Apache-2.0
"""Plans registered before the first trial: what was fixed then, and what has changed since.

A margin, a number of blocks or a rule of stopping that is chosen after the results were seen can make almost any
verdict (Simmons, Nelson and Simonsohn 2011). So they are written into the session with a hash, before its first result.
"""

from __future__ import annotations

import hashlib
import json

from harness.analysis.stats.verdicts import (
    ALPHA,
    DEFAULT_MARGIN,
    FEWEST_FOR_P,
    MEMORY_MARGIN,
    MOST_NOISE,
    TAIL_MARGIN,
)
from harness.model import Plan, Registration, SessionHeader
from harness.model.digits import plain

#: Sessions stop after their plan, whatever they found.
STOPPING = "after the planned blocks"


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
        sha256=_sha256(plan, definition_sha256, stopping, rules),
    )  # fmt: skip


def changed_since(header: SessionHeader, definition_sha256: str | None) -> tuple[str, ...]:
    """Return what is no longer as it was registered, in words; empty: nothing, or the session registered nothing.

    Args:
        definition_sha256: of the experiment's definition now; None: there is none any more.
    """
    registered = header.registration
    if registered is None:
        return ()
    then = header.provenance.definition_sha256
    found = []
    if _sha256(header.plan, then, registered.stopping, registered.rules) != registered.sha256:
        found.append("the registration itself")
    if definition_sha256 != then:
        found.append("the definition of the experiment")
    now = rules_now()
    for name in sorted({*now, *registered.rules}):
        before, after = registered.rules.get(name), now.get(name)
        if before != after:
            found.append(f"{name}: {_value(before)} then, {_value(after)} now")
    return tuple(found)


def _value(rule: float | None) -> str:
    return "none" if rule is None else plain(rule)


def _sha256(plan: Plan, definition_sha256: str, stopping: str, rules: dict[str, float]) -> str:
    planned = plan.model_dump(mode="json")
    for trial in planned["trials"]:
        if trial["duet"] is None:  # so that a hash is what it was before there were duets
            del trial["duet"]
    fixed = {
        "definition": definition_sha256, "plan": planned, "rules": rules, "stopping": stopping,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(fixed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
