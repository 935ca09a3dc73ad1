# SPDX-License-Identifier: Apache-2.0
"""What the paper tells beside its rows: machine, sessions, tools, the limits of a verdict; and tables of how each
experiment was set up: load, processors and memory, flags.

Libraries stand in the build files of the services.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from pydantic import BaseModel

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.metrics import FLAG_WORDS
from harness.analysis.evidence.opening import open_evidence
from harness.analysis.evidence.parameters import StageParameters
from harness.analysis.evidence.sessions import measured_experiments, sessions_read
from harness.analysis.stats.verdicts import ALPHA, ALTERED, DEFAULT_MARGIN, changed_since
from harness.definitions import load_study
from harness.errors import InputError
from harness.model import Configuration, TrialRecord
from harness.model.digits import fixed, whole_percent
from harness.model.load_tools import title_of
from harness.model.session import coding_of
from harness.project import find_root
from harness.publish.display import Cell, Published
from harness.publish.generated import fact_entry, read_values
from harness.publish.publisher import Publisher
from harness.store import SessionFolder

#: Limits of the rule of verdicts; the inner level is that of two one-sided tests.
_RULE = {"rule.inner_level": whole_percent(1 - 2 * ALPHA), "rule.margin": whole_percent(DEFAULT_MARGIN)}
#: What the paper calls a tool -> its name in the records; each is published, recorded or not.
_TOOLS = {"Go": "go", "JDK": "jdk", "JMeter": "jmeter", "Locust": "locust", "wrk": "wrk", "Maven": "maven"}

Lines = list[Mapping[str, Cell]]


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
    """Return what the sessions say of their machines, each thing once: they need not have run on one machine."""
    machines = [evidence.machine for evidence in opened]
    versions = tool_versions(session for evidence in opened for session in evidence.sessions)
    facts: dict[str, Iterable[str]] = {
        "cpu": (machine.cpu_model for machine in machines),
        "cores": (str(machine.n_cpus) for machine in machines),
        "memory": (
            f"{fixed(machine.memory_bytes / 2**30, 0)}\N{NARROW NO-BREAK SPACE}GiB" for machine in machines
        ),
        "kernel": (machine.kernel for machine in machines),
        "distribution": (machine.distribution for machine in machines),
        "virtualisation": (machine.virtualisation or "none found" for machine in machines),
        "fitness": ("small" if machine.small else "large enough" for machine in machines),
    }
    return {f"machine.{name}": ", ".join(dict.fromkeys(texts)) for name, texts in facts.items()} | {
        f"tool.{tool.lower()}": f"{tool} {', '.join(versions.get(name, ())) or '(not recorded)'}"
        for tool, name in _TOOLS.items()
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

    ``sessions``: the experiment of each, with what is no longer as it was registered; None: nothing was.
    """
    registered = [(experiment, changed) for experiment, changed in sessions if changed is not None]
    if not registered:
        return "No session registered its plan before its first trial"
    n, same = len(registered), sum(ALTERED not in changed for _, changed in registered)
    since = dict.fromkeys(f"{name} ({'; '.join(changed)})" for name, changed in registered if changed)
    return (
        f"{n} of {len(sessions)} sessions registered plan, margins and rule of stopping before their first trial, and "
        f"{'all' if same == n else same} of these still have what was hashed"
        f"{'; changed since: ' if since else ''}{', '.join(since)}"
    )


def setup_tables(settings: StageParameters, publisher: Publisher) -> Published:
    """Publish the tables ``setup.{loads,runtimes}``, from plans and records."""
    root = publisher.root
    opened = [open_evidence(settings, name, root=root) for name in measured_experiments(root, settings)]
    loads = publisher.table(
        "setup.loads",
        {name: name.replace("_", "-") for name in ("experiment", "generator", "load", "warm_up", "blocks")},
        [line for evidence in opened for line in load_lines(evidence)],
        caption="The load of each experiment, by the names of its definition. A loop is one request, or one walk "
        "through all requests of a flow; "
        "arrivals are Poisson over 100 connections where nothing else is said. Warm-up: requests before the "
        "measurement.",
        widths={"generator": 0.12, "load": 0.36, "warm_up": 0.2},
    )  # fmt: skip
    runtimes = publisher.table(
        "setup.runtimes",
        {"experiment": "experiment", "cpus": "CPUs", "java": "Java", "go": "Go", "coding": "coding"},
        [runtime_line(evidence) for evidence in opened],
        caption="Processors and settings of the runtimes in each experiment, as far as they are not the default. CPUs "
        "is the limit that the Go and the Java runtime are both given. Coding: how the programs are written, idiomatic "
        "as their community does, tuned by hand, or as published; empty: the workload has one way.",
        widths={"java": 0.36, "go": 0.2, "coding": 0.12},
    )  # fmt: skip
    return Published(f"{loads!r}\n\n{runtimes!r}", page=loads._repr_html_() + runtimes._repr_html_())


def setting_words(settings: BaseModel, *without: str) -> str:
    """Return the settings that are not the default, as definitions have them: ``users 100, ramp_up_s 1``; empty: all
    are."""
    chosen = settings.model_dump(mode="json", exclude_defaults=True, exclude=set(without))
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in chosen.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def load_lines(evidence: Evidence) -> Lines:
    """Return a line for each load that trials were made with; generators that offer the same one share a line."""
    lines: dict[str, tuple[dict[str, None], set[str]]] = {}
    for cell in _configurations(evidence):
        words, title = "none: start and idle", "none"
        if cell.load is not None:
            words = f"{cell.load.profile.model}: {setting_words(cell.load.profile)}"
            title = title_of(cell.load.generator)
        titles, warm_ups = lines.setdefault(words, ({}, set()))
        titles[title] = None
        warm_ups.add(_warm_up(cell))
    return [
        {
            "experiment": evidence.experiment,
            "generator": ", ".join(titles),
            "load": words,
            "warm_up": " or ".join(sorted(warm_ups)),
            "blocks": evidence.header.plan.n_blocks,
        }
        for words, (titles, warm_ups) in lines.items()
    ]


def _warm_up(cell: Configuration) -> str:
    if cell.warm_up is not None:
        return f"until settled, {cell.warm_up.at_most_s} s at most"
    if not cell.warm_up_requests:
        return "none"
    users = f" by {cell.warm_up_users} users" if cell.warm_up_users > 1 else ""
    fresh = ", each on a fresh connection" if cell.warm_up_connections == "fresh" else ""
    return f"{cell.warm_up_requests:,}{users}{fresh}"


def runtime_line(evidence: Evidence) -> Mapping[str, Cell]:
    """Return processors, settings of the Java and the Go programs, and how all are written."""
    implementations, cells = evidence.header.implementations, _configurations(evidence)
    words: dict[str, dict[str, None]] = {"java": {}, "go": {}}
    for variant in {cell.variant_name: cell.variant for cell in cells}.values():
        if program := implementations.get(variant.implementation):
            chosen = words.setdefault(program.language, {})
            chosen[setting_words(variant.runtime, "cpus", "gc_log") or "default"] = None
    codings = dict.fromkeys(coding_of(cell.workload, cell.variant) for cell in cells)
    return {
        "experiment": evidence.experiment,
        "cpus": ", ".join(map(str, sorted(_cpu_limits(evidence)))),
        **{language: "; ".join(words[language]) or "none" for language in ("java", "go")},
        "coding": ", ".join(filter(None, codings)) or None,
    }


def _cpu_limits(evidence: Evidence) -> set[int]:
    """How many processors runtimes were told to use, by the first trial of each configuration, else by the plan."""
    limits = {
        (record.instance and record.instance.cpu_limit)
        or record.planned.configuration.variant.runtime.cpus
        or evidence.machine.n_cpus
        for session in evidence.sessions
        for record in _first_trials(session, lambda cell: cell.key).values()
    }
    return limits or {evidence.machine.n_cpus}


def _configurations(evidence: Evidence) -> list[Configuration]:
    """Every configuration of the plans, in the definition's order of variants, each once."""
    trials = [trial for session in evidence.sessions for trial in session.header.plan.trials]
    rank = {name: place for place, name in enumerate(evidence.variants)}
    cells = {trial.configuration.key: trial.configuration for trial in trials}
    return sorted(cells.values(), key=lambda cell: rank.get(cell.variant_name, len(rank)))


def tool_versions(sessions: Iterable[SessionFolder]) -> dict[str, list[str]]:
    """Return tool -> its versions, each once; generators as the trials recorded the one that they ran."""
    versions: dict[str, dict[str, None]] = {}
    for session in sessions:
        provenance = session.header.provenance
        first = _first_trials(session, lambda cell: None if cell.load is None else cell.load.generator)
        recorded = {"locust": provenance.python_packages.get("locust", ""), **provenance.tools}
        used = [record.generator for record in first.values() if record.generator is not None]
        recorded |= {generator.name: generator.version for generator in used if generator.version}
        for tool, version in recorded.items():
            if version.strip():
                versions.setdefault(tool, {})[version.strip()] = None
    return {tool: list(numbers) for tool, numbers in versions.items()}


def _first_trials(
    session: SessionFolder, kind: Callable[[Configuration], str | None]
) -> dict[str, TrialRecord]:
    """Kind of a trial -> the record of the first finished one; ``None`` is of no kind."""
    first: dict[str, str] = {}
    finished = session.finished()
    for trial in session.header.plan.trials:
        name = kind(trial.configuration) if trial.trial_id in finished else None
        if name is not None:
            first.setdefault(name, trial.trial_id)
    return {name: session.record(trial_id) for name, trial_id in first.items()}


def flags_table(publisher: Publisher, opened: Sequence[Evidence]) -> Published:
    """Publish the table ``session.flags``: a row per experiment, a column per flag that any trial carries.

    Units: trials. A flagged trial stays in the results unless it is excluded for another reason.
    """
    counts = [flag_counts(evidence) for evidence in opened]
    seen = {str(flag): text for flag, text in FLAG_WORDS.items() if any(numbers[flag] for numbers in counts)}
    rows: Lines = [
        {
            "experiment": evidence.experiment,
            "made": len(evidence.trials),
            "kept": int((~evidence.trials["excluded"]).sum()),
            **{flag: numbers[flag] for flag in seen},
        }
        for evidence, numbers in zip(opened, counts, strict=True)
    ]
    return publisher.table(
        "session.flags",
        {"experiment": "experiment", "made": "made", "kept": "kept", **seen},
        rows,
        caption="Trials made, kept, and flagged, by experiment; a trial may carry several flags. "
        "Flagged trials are among the results.",
    )  # fmt: skip


def flag_counts(evidence: Evidence) -> Counter[str]:
    """Return how many of the trials carry each flag, excluded ones too."""
    return Counter(evidence.trials["flags"].fillna("").str.split().explode().dropna())
