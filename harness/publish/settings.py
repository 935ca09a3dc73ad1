# SPDX-License-Identifier: Apache-2.0
"""How each experiment was set up: its load, its processors and memory, and the versions of all that took part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from harness.evidence import Evidence
from harness.model import Configuration, PlannedTrial
from harness.model.session import coding_of
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.load_words import (
    TOOL_NAMES,
    go_in_words,
    java_in_words,
    load_in_words,
    number,
)
from harness.publish.publisher import Publisher
from harness.publish.versions import version_cells

LOADS, RUNTIMES, VERSIONS = "setup.loads", "setup.runtimes", "setup.versions"


def settings_tables(publisher: Publisher, opened: Sequence[Evidence]) -> tuple[Published, ...]:
    """Publish the tables ``setup.loads``, ``setup.runtimes`` and ``setup.versions``, from plans and records."""
    loads = publisher.table(
        LOADS,
        {"experiment": "experiment", "generator": "generator", "load": "load", "warm_up": "warm-up",
         "settle": "left out", "blocks": "blocks"},
        [row for evidence in opened for row in load_cells(evidence)],
        caption="The load of each experiment. A pass is one request, or one walk through all requests of a flow. "
        "Warm-up: requests before the measurement. Left out: the head of each load that latency peaks and pauses "
        "are not read from.",
        wide=True,
        right=("blocks",),
        widths={"generator": 0.12, "load": 0.36, "warm_up": 0.17},
    )  # fmt: skip
    runtimes = publisher.table(
        RUNTIMES,
        {"experiment": "experiment", "cpus": "CPUs", "java": "Java: collector, largest heap", "go": "Go: memory",
         "coding": "coding"},
        [row for evidence in opened for row in runtime_cells(evidence)],
        caption="Processors and memory of the services in each experiment. CPUs is the limit that the Go and the "
        "Java runtime are both given. Coding: how the programs are written, idiomatic as their community does, tuned "
        "by hand, or as published; empty: the workload has one way.",
        notes=[f"Placements, as recorded: {'; '.join(words)}."] if (words := _placements(opened)) else [],
        wide=True,
        right=("cpus",),
    )  # fmt: skip
    versions = publisher.table(
        VERSIONS,
        {"part": "part", "version": "version", "read_from": "read from"},
        version_cells(opened, publisher.root),
        caption="Versions of tools, runtimes and frameworks. A session records its tools; frameworks are read from "
        "the build file of the service.",
        wide=True,
    )
    return loads, runtimes, versions


def load_cells(evidence: Evidence) -> list[Mapping[str, Cell] | None]:
    """Return a row for each load that trials were made with; generators that offer the same one share a row."""
    generators: dict[str, dict[str, None]] = {}
    warm_ups: dict[str, dict[str, None]] = {}
    for cell in _configurations(evidence):
        words = load_in_words(cell.load)
        name = "none" if cell.load is None else TOOL_NAMES[cell.load.generator]
        generators.setdefault(words, {})[name] = None
        warm_ups.setdefault(words, {})[_warm_up(cell)] = None
    plan = evidence.header.plan
    settle_s = evidence.header.experiment.profiles[plan.profile].settle_s
    return [
        {
            "experiment": evidence.experiment,
            "generator": ", ".join(names),
            "load": words,
            "warm_up": " or ".join(sorted(warm_ups[words])),
            "settle": f"{number(settle_s)} s" if settle_s else "nothing",
            "blocks": plan.n_blocks,
        }
        for words, names in generators.items()
    ]


def runtime_cells(evidence: Evidence) -> list[Mapping[str, Cell] | None]:
    """Return rows with the processors, a collector of the Java variants and a memory setting of the Go ones."""
    languages = {name: one.language for name, one in evidence.header.implementations.items()}
    variants = {cell.variant_name: cell.variant for cell in _configurations(evidence)}
    java, go = (
        words([v.runtime for v in variants.values() if languages.get(v.implementation) == language])
        for language, words in (("java", java_in_words), ("go", go_in_words))
    )
    cpus = sorted(_cpu_limits(evidence))
    return [
        {
            "experiment": evidence.experiment,
            "cpus": ", ".join(map(str, cpus)),
            "java": of_java,
            "go": of_go,
            "coding": of_coding,
        }
        for of_java, of_go, of_coding in zip_longest(java or ["none"], go or ["none"], [_codings(evidence)])
    ]


def _codings(evidence: Evidence) -> str | None:
    """How the programs of an experiment are written, each way once."""
    found = {coding_of(cell.workload, cell.variant): None for cell in _configurations(evidence)}
    return ", ".join(coding for coding in found if coding) or None


def _cpu_limits(evidence: Evidence) -> set[int]:
    """How many processors the runtimes were told to use: what the record of each configuration's first trial has, and
    what is asked for where it has none."""
    found: set[int] = set()
    for session in evidence.sessions:
        first: dict[str, PlannedTrial] = {}
        finished = session.finished()
        for trial in session.header.plan.trials:
            if trial.trial_id in finished:
                first.setdefault(trial.configuration.key, trial)
        for trial in first.values():
            instance = session.record(trial.trial_id).instance
            told = None if instance is None else instance.cpu_limit
            found.add(told or trial.configuration.variant.runtime.cpus or evidence.machine.n_cpus)
    return found or {evidence.machine.n_cpus}


def _configurations(evidence: Evidence) -> Iterable[Configuration]:
    """Every configuration of the plans, in the definition's order of variants, each once."""
    trials = [trial for session in evidence.sessions for trial in session.header.plan.trials]
    rank = {name: place for place, name in enumerate(evidence.variants)}
    found = {trial.configuration.key: trial.configuration for trial in trials}
    return sorted(found.values(), key=lambda cell: rank.get(cell.variant_name, len(rank)))


def _warm_up(cell: Configuration) -> str:
    if cell.warm_up is not None:
        return f"until settled, {number(cell.warm_up.at_most_s)} s at most"
    if not cell.warm_up_requests:
        return "none"
    users = f" by {number(cell.warm_up_users)} users" if cell.warm_up_users > 1 else ""
    fresh = ", each on a fresh connection" if cell.warm_up_connections == "fresh" else ""
    return f"{number(cell.warm_up_requests)}{users}{fresh}"


def _placements(opened: Sequence[Evidence]) -> list[str]:
    """What the first trial under load of each session says of where it ran, each saying once."""
    found: dict[str, None] = {}
    for evidence in opened:
        for session in evidence.sessions:
            loaded = [t.trial_id for t in session.header.plan.trials if t.configuration.load is not None]
            first = next((name for name in loaded if name in session.finished()), None)
            said = session.record(first).placement if first is not None else None
            if said:
                found[said] = None
    return list(found)
