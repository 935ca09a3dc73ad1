# SPDX-License-Identifier: Apache-2.0
"""Whether a stage must run: what it depends on and leaves behind, held against what is remembered of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.analysis.tables.layout import Source, tables_folder
from harness.evidence.parameters import StageParameters
from harness.import_closure import closure, module_path
from harness.pipeline import fingerprint
from harness.pipeline.fingerprint import Remembered, expected_s, in_short, read_memory
from harness.pipeline.stage import PlannedStage
from harness.project import EXPERIMENTS, experiment_paths
from harness.publish.build import PAPER
from harness.publish.generated import DOCUMENTS, GENERATED, paper_sources
from harness.store import Store

#: Who imports it reads the ledgers of claims.
LEDGER_READER = "harness.definitions.claims"
#: Who imports it reads the comparisons that definitions declare.
DECLARATIONS_READER = "harness.rows.session"


def judge(root: Path, settings: StageParameters, stage: PlannedStage) -> PlannedStage:
    """Return the stage with state and reason as things stand now. Measuring is judged by the store alone."""
    if stage.kind in ("check", "measure") or stage.state == "skipped":
        return stage
    memory = read_memory(memory_path(root, settings, stage.name))
    reasons = fingerprint.why_stale(depends(root, stage), memory, outputs(root, stage))
    expected = expected_s(memory, stage.kind)
    return replace(
        stage, state="to do" if reasons else "done", why=in_short(reasons) or "unchanged", expected_s=expected
    )


def depends(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of everything a stage depends on: code, data, parameters, environment."""
    result = fingerprint.of_parameters(stage.parameters) | fingerprint.of_lock(root)
    if stage.notebook is not None:
        result |= fingerprint.of_notebook(root, stage.notebook)
    if stage.kind == "tidy":
        result |= fingerprint.of_files(root, _raw_files(root, stage))
    elif stage.kind == "analysis":
        published = root / "data" / "published"
        files = [*_tables(root, stage), published, *_ledgers(root, stage), *_declarations(root, stage)]
        result |= fingerprint.of_files(root, files)
    elif stage.kind == "paper":
        paths = [
            path for module in closure(root, {"harness.publish.build"}) if (path := module_path(root, module))
        ]
        paper = root / PAPER
        result |= fingerprint.of_files(
            root,
            [
                *paths,
                *paper_sources(paper),
                *sorted(paper.glob("*.sty")),
                *sorted(paper.glob("*.bib")),
                root / GENERATED,
            ],
        )
    return result


def _ledgers(root: Path, stage: PlannedStage) -> list[Path]:
    """The ledgers of claims with the definitions that they name, where the stage's notebook reads them."""
    if stage.notebook is None or LEDGER_READER not in stage.notebook.imported(root):
        return []
    return [root / EXPERIMENTS]


def _declarations(root: Path, stage: PlannedStage) -> list[Path]:
    """The definitions of the stage's experiments, where its notebook compares what they declare."""
    if stage.notebook is None or DECLARATIONS_READER not in stage.notebook.imported(root):
        return []
    known = experiment_paths(root)
    return [known[name] for name in stage.experiments if name in known]


def outputs(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of what a stage leaves behind for later ones."""
    if stage.kind == "tidy":
        return fingerprint.of_files(root, _tables(root, stage))
    if stage.kind == "analysis":
        return fingerprint.of_files(root, [root / GENERATED / f"{stage.name}.json"])
    return (
        fingerprint.of_files(root, [root / PAPER / f"{name}.pdf" for name in DOCUMENTS])
        if stage.kind == "paper"
        else {}
    )


def remember(root: Path, settings: StageParameters, stage: PlannedStage, took_s: float) -> None:
    """Keep what a stage that ended well depended on and left behind."""
    memory = Remembered(depends=depends(root, stage), outputs=outputs(root, stage), took_s=took_s)
    fingerprint.write_memory(memory_path(root, settings, stage.name), memory)


def memory_path(root: Path, settings: StageParameters, name: str) -> Path:
    """Return where a stage's memory lies."""
    return root / "results" / settings.profile / "stages" / f"{name.replace(' ', '-')}.json"


def _bundled(stage: PlannedStage) -> bool:
    """Whether a stage reads the sessions that come with the project: what is measured here is nothing to it."""
    return stage.parameters.get("profile") == "sample"


def _tables(root: Path, stage: PlannedStage) -> list[Path]:
    source: Source = "bundled" if _bundled(stage) else "measured"
    return [tables_folder(root, name, source) for name in stage.experiments]


def _raw_files(root: Path, stage: PlannedStage) -> list[Path]:
    """The files that decide what the sessions of the stage's experiments hold."""
    store = Store(root)
    return [
        file
        for name in stage.experiments
        for session in store.sessions(name, bundled=_bundled(stage))
        for file in session.sources()
    ]
