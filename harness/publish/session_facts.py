# SPDX-License-Identifier: Apache-2.0
"""Facts that the paper tells beside the estimates: machine, session, tools, and what was published by others.

The limits of the rule that decides what a comparison says are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from harness.analysis.stats.verdicts import (
    ALPHA,
    ALTERED,
    DEFAULT_MARGIN,
    FEWEST_FOR_P,
    MEMORY_MARGIN,
    MOST_NOISE,
    TAIL_MARGIN,
    changed_since,
)
from harness.definitions import load_study
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import measured_experiments, sessions_read
from harness.model.age import COMPILED_SHARE
from harness.model.digits import fixed, whole_percent
from harness.project import find_root
from harness.publish.display import Published, joined_pages
from harness.publish.flags import flags_table
from harness.publish.generated import read_values
from harness.publish.publisher import Publisher
from harness.publish.results import Tree
from harness.publish.settings import settings_tables
from harness.publish.versions import tool_versions
from harness.store import SessionFolder


def rule() -> Tree:
    """Return the constants of the analysis as a reader writes them; ``inner_level`` is that of the interval of two
    one-sided tests."""
    return {
        "alpha": fixed(ALPHA, 2),
        "level": whole_percent(1 - ALPHA),
        "inner_level": whole_percent(1 - 2 * ALPHA),
        "margin": whole_percent(DEFAULT_MARGIN),
        "tail_margin": whole_percent(TAIL_MARGIN),
        "most_noise": whole_percent(MOST_NOISE),
        "memory_margin": whole_percent(MEMORY_MARGIN),
        "fewest_blocks": str(FEWEST_FOR_P),
        "compiled": whole_percent(COMPILED_SHARE),
    }


#: What the paper calls a tool -> its name in the records; each is published, found or not.
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
    rows = [*_machine(opened), *_session(opened, settings)]
    for key, text in rows:
        publisher.text(key, text)
    flags_table(publisher, opened)
    publisher.put("rule", rule(), whole=False)
    return pd.DataFrame(rows, columns=["key", "value"])


def setup_tables(settings: StageParameters, publisher: Publisher) -> Published:
    """Publish how each experiment was set up: the tables ``setup.{loads,runtimes,versions}``."""
    opened = [
        open_evidence(settings, name, root=publisher.root)
        for name in measured_experiments(publisher.root, settings)
    ]
    return joined_pages(settings_tables(publisher, opened))


def paper_values() -> pd.DataFrame:
    """Return what stands in the paper, what rests on most trials first: key, interval, trials, notebook."""
    rows = [
        {
            "key": key,
            "value": entry["interval_text"],
            "trials": entry["n_trials"],
            "notebook": entry["notebook"],
        }
        for key, entry in read_values(find_root()).items()
    ]
    frame = pd.DataFrame(rows, columns=["key", "value", "trials", "notebook"])
    return frame.sort_values("trials", ascending=False, kind="stable").reset_index(drop=True)


def _machine(opened: Sequence[Evidence]) -> list[tuple[str, str]]:
    machines = [evidence.machine for evidence in opened]
    versions = tool_versions(session for evidence in opened for session in evidence.sessions)
    return [
        ("machine.cpu", _each(machine.cpu_model for machine in machines)),
        ("machine.cores", _each(str(machine.n_cpus) for machine in machines)),
        (
            "machine.memory",
            _each(
                f"{fixed(machine.memory_bytes / 2**30, 0)}\N{NARROW NO-BREAK SPACE}GiB"
                for machine in machines
            ),
        ),
        ("machine.kernel", _each(machine.kernel for machine in machines)),
        ("machine.distribution", _each(machine.distribution for machine in machines)),
        ("machine.virtualisation", _each(machine.virtualisation or "none found" for machine in machines)),
        ("machine.fitness", _each("small" if machine.small else "large enough" for machine in machines)),
        *((f"tool.{tool.lower()}", _version(versions, tool)) for tool in _TOOLS),
    ]


def _session(opened: Sequence[Evidence], settings: StageParameters) -> list[tuple[str, str]]:
    first = opened[0]
    sessions = [(evidence, session) for evidence in opened for session in evidence.sessions]
    began = [session.header.provenance.started_epoch_s for _, session in sessions]
    days = [f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d}" for ends in (min(began), max(began))]
    registered = [(evidence.experiment, _changed(evidence.root, session)) for evidence, session in sessions]
    return [
        ("profile", first.profile + (" (bundled)" if first.bundled else "")),
        ("status", first.draft or "full measurement"),
        ("session.seed", str(first.header.plan.seed)),
        ("session.host", first.header.plan.host),
        ("session.count", str(len(sessions))),
        ("session.days", " to ".join(dict.fromkeys(days))),
        ("session.registered", registrations(registered)),
    ]


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
    found = versions.get(_TOOLS[tool])
    return f"{tool} {', '.join(found)}" if found else f"{tool} (not recorded)"
