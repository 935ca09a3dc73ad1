# SPDX-License-Identifier: Apache-2.0
"""Tables of how each experiment was set up: load, processors and memory, flags; and the versions of its tools.

Libraries stand in the build files of the services.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import BaseModel

from harness.evidence import Evidence
from harness.evidence.metrics import FLAG_WORDS
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import measured_experiments
from harness.model import LOAD_TOOLS, Configuration, TrialRecord
from harness.model.session import coding_of
from harness.publish.cells import Cell
from harness.publish.display import Published, joined_pages
from harness.publish.publisher import Publisher
from harness.store import SessionFolder

#: How the generators write their own names.
_TITLES = {tool.name: tool.title for tool in LOAD_TOOLS}

Lines = list[Mapping[str, Cell]]


def setup_tables(settings: StageParameters, publisher: Publisher) -> Published:
    """Publish the tables ``setup.{loads,runtimes}``, from plans and records."""
    root = publisher.root
    opened = [open_evidence(settings, name, root=root) for name in measured_experiments(root, settings)]
    loads = publisher.table(
        "setup.loads",
        {name: name.replace("_", "-") for name in ("experiment", "generator", "load", "warm_up", "blocks")},
        [line for evidence in opened for line in load_lines(evidence)],
        caption="The load of each experiment, by the names of its definition. A loop is one request, or one walk through all requests of a flow; "
        "arrivals are Poisson over 100 connections where nothing else is said. Warm-up: requests before the "
        "measurement.",
        right=("blocks",),
        widths={"generator": 0.12, "load": 0.36, "warm_up": 0.2},
    )  # fmt: skip
    runtimes = publisher.table(
        "setup.runtimes",
        {"experiment": "experiment", "cpus": "CPUs", "java": "Java", "go": "Go", "coding": "coding"},
        [runtime_line(evidence) for evidence in opened],
        caption="Processors and settings of the runtimes in each experiment, as far as they are not the default. CPUs "
        "is the limit that the Go and the Java runtime are both given. Coding: how the programs are written, idiomatic "
        "as their community does, tuned by hand, or as published; empty: the workload has one way.",
        right=("cpus",),
        widths={"java": 0.36, "go": 0.2, "coding": 0.12},
    )  # fmt: skip
    return joined_pages((loads, runtimes))


def setting_words(settings: BaseModel, *without: str) -> str:
    """Return the settings that are not the default, as definitions have them: ``users 100, ramp_up_s 1``; empty: all
    are."""
    chosen = settings.model_dump(mode="json", exclude_defaults=True, exclude=set(without))
    return ", ".join(f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in chosen.items())


def load_lines(evidence: Evidence) -> Lines:
    """Return a line for each load that trials were made with; generators that offer the same one share a line."""
    generators: dict[str, dict[str, None]] = {}
    warm_ups: dict[str, dict[str, None]] = {}
    for cell in _configurations(evidence):
        words, title = "none: start and idle", "none"
        if cell.load is not None:
            words = f"{cell.load.profile.model}: {setting_words(cell.load.profile)}"
            words += f", {cell.load.processes} processes" if cell.load.processes > 1 else ""
            title = _TITLES[cell.load.generator]
        generators.setdefault(words, {})[title] = None
        warm_ups.setdefault(words, {})[_warm_up(cell)] = None
    return [
        {
            "experiment": evidence.experiment,
            "generator": ", ".join(titles),
            "load": words,
            "warm_up": " or ".join(sorted(warm_ups[words])),
            "blocks": evidence.header.plan.n_blocks,
        }
        for words, titles in generators.items()
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
    languages = {
        name: implementation.language for name, implementation in evidence.header.implementations.items()
    }
    cells = _configurations(evidence)
    words: dict[str, dict[str, None]] = {"java": {}, "go": {}}
    for variant in {cell.variant_name: cell.variant for cell in cells}.values():
        chosen = words.setdefault(languages.get(variant.implementation, ""), {})
        chosen[setting_words(variant.runtime, "cpus", "gc_log") or "default"] = None
    codings = dict.fromkeys(coding_of(cell.workload, cell.variant) for cell in cells)
    return {
        "experiment": evidence.experiment,
        "cpus": ", ".join(map(str, sorted(_cpu_limits(evidence)))),
        **{language: "; ".join(words[language]) or "none" for language in ("java", "go")},
        "coding": ", ".join(filter(None, codings)) or None,
    }


def _cpu_limits(evidence: Evidence) -> set[int]:
    """How many processors the runtimes were told to use: what the record of each configuration's first trial has, and
    what is asked for where it has none."""
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
    seen = [flag for flag in FLAG_WORDS if any(numbers[flag] for numbers in counts)]
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
        {"experiment": "experiment", "made": "made", "kept": "kept", **{flag: FLAG_WORDS[flag] for flag in seen}},
        rows,
        caption="Trials made, kept, and flagged, by experiment; a trial may carry several flags. "
        "Flagged trials are among the results.",
    )  # fmt: skip


def flag_counts(evidence: Evidence) -> Counter[str]:
    """Return how many of the trials carry each flag, excluded ones too."""
    return Counter(evidence.trials["flags"].fillna("").str.split().explode().dropna())
