# SPDX-License-Identifier: Apache-2.0
"""Facts that the paper tells beside its rows: machine, sessions, tools, and the limits of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from harness.analysis.stats.verdicts import ALPHA, ALTERED, DEFAULT_MARGIN, changed_since
from harness.definitions import load_study
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import measured_experiments, sessions_read
from harness.model.digits import fixed, whole_percent
from harness.project import find_root
from harness.publish.generated import fact_entry, read_values
from harness.publish.publisher import Publisher
from harness.publish.setup_tables import flags_table, tool_versions
from harness.store import SessionFolder

#: Limits of the rule of verdicts; the inner level is that of two one-sided tests.
_RULE = {"rule.inner_level": whole_percent(1 - 2 * ALPHA), "rule.margin": whole_percent(DEFAULT_MARGIN)}
#: What the paper calls a tool -> its name in the records; each is published, recorded or not.
_TOOLS = {"Go": "go", "JDK": "jdk", "JMeter": "jmeter", "Locust": "locust", "wrk": "wrk", "Maven": "maven"}


def describe_session(settings: StageParameters, publisher: Publisher) -> pd.DataFrame:
    """Publish machine, versions and sessions of what is analysed; return the facts as a table.

    Keys: ``machine.*``, ``rule.*``, ``tool.*``, ``session.*``, ``profile``, ``status``; the table ``session.flags``.
    """
    root = publisher.root
    opened = [
        Evidence(root=root, experiment=name, sessions=sessions_read(root, settings, name))
        for name in measured_experiments(root, settings)
    ]
    facts = _machine(opened) | _session(opened)
    publisher.values({key: fact_entry(text) for key, text in (facts | _RULE).items()})
    flags_table(publisher, opened)
    return pd.DataFrame(list(facts.items()), columns=["key", "value"])


def paper_values() -> pd.DataFrame:
    """Return every published value, what rests on most trials first: key, interval, trials, notebook."""
    rows = [
        (key, entry["interval_text"], entry["n_trials"], entry["notebook"])
        for key, entry in read_values(find_root()).items()
    ]
    frame = pd.DataFrame(rows, columns=["key", "value", "trials", "notebook"])
    return frame.sort_values("trials", ascending=False, kind="stable").reset_index(drop=True)


def _machine(opened: Sequence[Evidence]) -> dict[str, str]:
    machines = [evidence.machine for evidence in opened]
    versions = tool_versions(session for evidence in opened for session in evidence.sessions)
    memory = (f"{fixed(machine.memory_bytes / 2**30, 0)}\N{NARROW NO-BREAK SPACE}GiB" for machine in machines)
    return {
        "machine.cpu": _each(machine.cpu_model for machine in machines),
        "machine.cores": _each(str(machine.n_cpus) for machine in machines),
        "machine.memory": _each(memory),
        "machine.kernel": _each(machine.kernel for machine in machines),
        "machine.distribution": _each(machine.distribution for machine in machines),
        "machine.virtualisation": _each(machine.virtualisation or "none found" for machine in machines),
        "machine.fitness": _each("small" if machine.small else "large enough" for machine in machines),
        **{f"tool.{tool.lower()}": _version(versions, tool) for tool in _TOOLS},
    }


def _session(opened: Sequence[Evidence]) -> dict[str, str]:
    first = opened[0]
    sessions = [(evidence, session) for evidence in opened for session in evidence.sessions]
    began = [session.header.provenance.started_epoch_s for _, session in sessions]
    days = [f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d}" for ends in (min(began), max(began))]
    registered = [(evidence.experiment, _changed(evidence.root, session)) for evidence, session in sessions]
    return {
        "profile": first.profile + (" (bundled)" if first.bundled else ""),
        "status": first.draft or "full measurement",
        "session.seed": str(first.header.plan.seed),
        "session.host": first.header.plan.host,
        "session.count": str(len(sessions)),
        "session.days": " to ".join(dict.fromkeys(days)),
        "session.registered": registrations(registered),
    }


def _changed(root: Path, session: SessionFolder) -> tuple[str, ...] | None:
    """Return what is no longer as a session registered it; ``None``: it registered nothing."""
    if session.header.registration is None:
        return None
    try:
        definition = load_study(root, session.folder.parent.name).definition_sha256
    except InputError:  # nobody can read the definition any more
        definition = None
    return changed_since(session.stored_header(), definition)


def registrations(sessions: Sequence[tuple[str, tuple[str, ...] | None]]) -> str:
    """Return how many sessions registered their plan, in how many it is still what was hashed, and what changed since.

    Args:
        sessions: the experiment of each, with what is no longer as it was registered; None: nothing was.
    """
    registered = [(experiment, changed) for experiment, changed in sessions if changed is not None]
    if not registered:
        return "No session registered its plan before its first trial"
    n, same = len(registered), sum(ALTERED not in changed for _, changed in registered)
    since: dict[str, None] = {}
    for experiment, changed in registered:
        since |= dict.fromkeys([f"{experiment} ({'; '.join(changed)})"] if changed else [])
    return (
        f"{n} of {len(sessions)} sessions registered plan, margins and rule of stopping before the first trial; the "
        f"stored ones have the hash of then in {'all' if same == n else same} of them"
        f"{'; changed since: ' if since else ''}{', '.join(since)}"
    )


def _each(facts: Iterable[str]) -> str:
    """Return what the sessions say, each thing once: they need not have run on one machine."""
    return ", ".join(dict.fromkeys(facts))


def _version(versions: Mapping[str, Sequence[str]], tool: str) -> str:
    recorded = versions.get(_TOOLS[tool])
    return f"{tool} {', '.join(recorded)}" if recorded else f"{tool} (not recorded)"
