# SPDX-License-Identifier: Apache-2.0
"""The load, memory settings and processors behind some trials, in one sentence."""

from __future__ import annotations

import pandas as pd

from harness.evidence import Evidence
from harness.figures.style import coding_words
from harness.model import ClosedLoad, Load
from harness.model.phrases import capital
from harness.publish.load_words import TOOL_NAMES, load_in_words
from harness.publish.settings import runtime_cells
from harness.publish.versions import tool_versions


def load_sentence(evidence: Evidence, trials: pd.DataFrame) -> str:
    """Return the load of these trials with the tools' versions, and what Java, Go and both were given."""
    versions = tool_versions(evidence.sessions)
    keys = set(trials["configuration"])
    plan = [t.configuration for session in evidence.sessions for t in session.header.plan.trials]
    asked = {c.load.generator: c.load for c in plan if c.key in keys and c.load is not None}
    loads = {tool: load_in_words(load, step=_step(load, trials)) for tool, load in asked.items()}
    offered = " and ".join(
        f"{TOOL_NAMES[tool]} {', '.join(versions.get(tool, ['of unknown version']))} ({words})"
        for tool, words in loads.items()
    )
    return f"Load: {offered or 'none'}. {given_sentence(evidence, trials)}"


def given_sentence(evidence: Evidence, trials: pd.DataFrame) -> str:
    """Return what Java, Go and both were given, and how the programs are written."""
    rows = [row for row in runtime_cells(evidence) if row is not None]
    java = "; ".join(str(row["java"]) for row in rows if row["java"])
    go = "; ".join(str(row["go"]) for row in rows if row["go"])
    said = [f"Java: {java} (collector, largest heap)", f"Go: {go}", f"CPUs: {rows[0]['cpus']}"]
    return ". ".join([*said, *filter(None, [capital(coding_words(trials))])]) + "."


def _step(load: Load, trials: pd.DataFrame) -> str:
    """What a user does again and again: a request where a pass has no more than one."""
    profile = load.profile
    passes = profile.users * profile.loops if isinstance(profile, ClosedLoad) and profile.loops else 0
    return "request" if passes and (trials["n_requests"].dropna() <= passes).all() else "pass"
