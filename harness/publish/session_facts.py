# SPDX-License-Identifier: Apache-2.0
"""Facts that the paper tells beside the estimates: machine, session, tools, and what was published by others.

The limits of the rule that decides what a comparison says are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from harness.analysis.stats.verdicts import (
    ALPHA,
    DEFAULT_MARGIN,
    FEWEST_FOR_P,
    MEMORY_MARGIN,
    MOST_NOISE,
    TAIL_MARGIN,
)
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import measured_experiments, sessions_read
from harness.model.age import COMPILED_SHARE
from harness.model.digits import fixed, whole_percent
from harness.project import find_root
from harness.publish.display import Published, joined_pages
from harness.publish.flags import flag_counts, flags_table
from harness.publish.generated import read_values
from harness.publish.publisher import Publisher, slug
from harness.publish.results import Tree
from harness.publish.settings import settings_tables
from harness.publish.sources import sources_table
from harness.publish.versions import tool_versions


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
    """Publish machine, versions, and the counts of trials of each experiment; return them as a table.

    Keys: ``machine.*``, ``rule.*``, ``tool.*``, ``session.*``, ``profile``, ``status``, and
    ``<experiment>.trials.{planned,made,kept,bottleneck}``, of the sessions that are analysed and no others;
    and the table ``session.flags``.
    """
    root = publisher.root
    opened = [
        Evidence(root=root, experiment=name, sessions=sessions_read(root, settings, name))
        for name in measured_experiments(root, settings)
    ]
    rows = [*_machine(opened), *_session(opened[0], settings)]
    for key, text in rows:
        publisher.text(key, text)
    for evidence in opened:
        name = slug(evidence.experiment)
        for kind, count in _counts(evidence).items():
            publisher.value(f"{name}.trials.{kind}", count, "1", f"trials {kind} of {evidence.experiment}")
            rows.append((f"{name}.trials.{kind}", f"{count}"))
        blocks = evidence.header.plan.n_blocks
        publisher.value(f"{name}.blocks", blocks, "1", f"blocks of {evidence.experiment}")
    flags_table(publisher, opened)
    publisher.put("rule", rule(), whole=False)
    return pd.DataFrame(rows, columns=["key", "value"])


def setup_tables(settings: StageParameters, publisher: Publisher) -> Published:
    """Publish how each experiment was set up: the tables ``session.sources`` and ``setup.{loads,runtimes,versions}``.

    Keys: see ``sources_table``.
    """
    opened = [
        open_evidence(settings, name, root=publisher.root)
        for name in measured_experiments(publisher.root, settings)
    ]
    return joined_pages([sources_table(publisher, opened), *settings_tables(publisher, opened)])


def _counts(evidence: Evidence) -> dict[str, int]:
    trials = evidence.trials
    return {
        "planned": sum(len(session.header.plan.trials) for session in evidence.sessions),
        "made": len(trials),
        "kept": int((~trials["excluded"]).sum()),
        "bottleneck": flag_counts(evidence)["generator_bottleneck"],
    }


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


def _session(evidence: Evidence, settings: StageParameters) -> list[tuple[str, str]]:
    return [
        ("profile", evidence.profile + (" (bundled)" if evidence.bundled else "")),
        ("status", evidence.draft or "full measurement"),
        ("session.seed", str(evidence.header.plan.seed)),
        ("session.host", evidence.header.plan.host),
    ]


def _each(facts: Iterable[str]) -> str:
    """Return what the sessions say, each thing once: they need not have run on one machine."""
    return ", ".join(dict.fromkeys(facts))


def _version(versions: Mapping[str, Sequence[str]], tool: str) -> str:
    found = versions.get(_TOOLS[tool])
    return f"{tool} {', '.join(found)}" if found else f"{tool} (not recorded)"
