# SPDX-License-Identifier: Apache-2.0
"""The plan of ``run_all``: every stage with its state, why it must run, and the time expected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from harness import api_modules
from harness.definitions import experiment_files, load_study
from harness.model import ClosedLoad, Load, OpenLoad, PlannedTrial
from harness.model import make_plan as plan_trials
from harness.project import find_root
from harness.publish.contribution import GENERATED
from harness.stages import fingerprint
from harness.stages.fingerprint import Memory, in_short, read_memory
from harness.stages.notebook import FOLDER, NotebookFile, analysis_notebooks, closure, module_path
from harness.stages.parameters import StageParameters
from harness.stages.sessions import session_of
from harness.stages.table import StageTable
from harness.store import SessionFolder, Store

State = Literal["done", "to do", "skipped", "bundled"]
Kind = Literal["check", "measure", "tidy", "analysis", "paper"]

#: Seconds, until a stage has ended well here once and is known better.
_FIRST_GUESS_S: dict[str, float] = {"check": 20, "tidy": 20, "analysis": 30, "paper": 20}
#: Starting, checking, stopping and writing of one trial, and requests per second of a closed loop.
_TRIAL_OVERHEAD_S, _CLOSED_PER_S = 6.0, 5_000.0


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """One stage. ``why``: the reason to run, or to leave it."""

    name: str
    kind: Kind
    state: State
    why: str
    expected_s: float | None
    notebook: NotebookFile | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What ``run_all`` is about to do. Shows itself as a table."""

    root: Path
    settings: StageParameters
    stages: tuple[PlannedStage, ...]

    @property
    def results(self) -> Path:
        """The folder of the executed copies of this profile."""
        return self.root / "results" / self.settings.profile

    @property
    def expected_s(self) -> float:
        """The time expected for all that is to do."""
        return sum(stage.expected_s or 0.0 for stage in self.stages if stage.state == "to do")

    def _repr_html_(self) -> str:
        return StageTable.of(self.stages).html()

    def __repr__(self) -> str:
        return "\n".join(StageTable.of(self.stages).lines())


def make_plan(settings: StageParameters, *, root: Path | None = None) -> StagePlan:
    """Return the stages for these parameters, each compared with what is there already.

    Raises:
        InputError: an unknown experiment, or a definition that is wrong.
    """
    here = root or find_root()
    chosen = chosen_experiments(here, settings)
    stages = [*_measuring(here, settings, chosen), _tidy(here, settings, chosen)]
    stages += [_analysis(here, settings, chosen, notebook) for notebook in analysis_notebooks(here)]
    stages.append(PlannedStage(name="paper", kind="paper", state="to do", why="", expected_s=None))
    return StagePlan(root=here, settings=settings, stages=_judged(here, settings, stages))


def judge(root: Path, settings: StageParameters, stage: PlannedStage) -> PlannedStage:
    """Return the stage with state and reason as things stand now. Measuring is judged by the store alone."""
    if stage.kind in ("check", "measure") or stage.state == "skipped":
        return stage
    memory = read_memory(memory_path(root, settings, stage))
    reasons = fingerprint.why_stale(depends(root, stage), memory, outputs(root, stage))
    expected = memory.took_s if memory else _FIRST_GUESS_S[stage.kind]
    return replace(
        stage, state="to do" if reasons else "done", why=in_short(reasons) or "unchanged", expected_s=expected
    )


def depends(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of everything a stage depends on: code, data, parameters, environment."""
    found = fingerprint.of_parameters(stage.parameters) | fingerprint.of_lock(root)
    if stage.notebook is not None:
        found |= fingerprint.of_notebook(root, stage.notebook, api_modules())
    if stage.kind == "tidy":
        found |= fingerprint.of_files(root, _raw_files(root, stage))
    elif stage.kind == "analysis":
        folders = [root / "data" / "processed" / name for name in stage.experiments]
        found |= fingerprint.of_files(root, [*folders, root / "data" / "published"])
    elif stage.kind == "paper":
        paths = [path for module in closure(root, {"harness.paper"}) if (path := module_path(root, module))]
        found |= fingerprint.of_files(root, [*paths, *_paper_sources(root), root / GENERATED])
    return found


def outputs(root: Path, stage: PlannedStage) -> dict[str, str]:
    """Return content hashes of what a stage leaves behind for later ones."""
    if stage.kind == "tidy":
        return fingerprint.of_files(root, [root / "data" / "processed" / name for name in stage.experiments])
    if stage.kind == "analysis":
        return fingerprint.of_files(root, [root / GENERATED / f"{stage.name}.json"])
    return fingerprint.of_files(root, [root / "paper" / "main.pdf"]) if stage.kind == "paper" else {}


def remember(root: Path, settings: StageParameters, stage: PlannedStage, took_s: float) -> None:
    """Keep what a stage that ended well depended on and left behind."""
    memory = Memory(depends=depends(root, stage), outputs=outputs(root, stage), took_s=took_s)
    fingerprint.write_memory(memory_path(root, settings, stage), memory)


def memory_path(root: Path, settings: StageParameters, stage: PlannedStage) -> Path:
    """Return where a stage's memory lies."""
    return root / "results" / settings.profile / "stages" / f"{stage.name.replace(' ', '-')}.json"


def chosen_experiments(root: Path, settings: StageParameters) -> tuple[str, ...]:
    """Return the experiments these parameters are about: the named ones, or all that have a place in the paper.

    Raises:
        InputError: an unknown name.
    """
    if settings.bundled:
        known = tuple(dict.fromkeys(s.folder.parent.name for s in Store(root).sessions(bundled=True)))
        return settings.chosen(known)
    known = tuple(experiment_files(root))
    if settings.experiments != "all":
        return settings.chosen(known)
    return tuple(
        name for name in known if load_study(root, name).experiment.measured_unasked(settings.profile)
    )


def remaining_s(session: SessionFolder, trials: tuple[PlannedTrial, ...]) -> float:
    """Return the time the unfinished trials will take: as long as the finished ones, or by their load."""
    finished = session.finished() if session.exists else frozenset()
    todo = [trial for trial in trials if trial.trial_id not in finished]
    if len(finished) >= 3:
        took = [record.ended.monotonic_s - record.started.monotonic_s for record in session.records()]
        return len(todo) * sum(took) / len(took)
    return sum(_trial_s(trial) for trial in todo)


def _measuring(root: Path, settings: StageParameters, chosen: tuple[str, ...]) -> list[PlannedStage]:
    check = NotebookFile(root / FOLDER / "00-check-this-machine.ipynb")
    measure = NotebookFile(root / FOLDER / "10-measure.ipynb")
    if settings.bundled:
        why = "nothing is measured: the data come with the project"
        return [
            PlannedStage(name="check", kind="check", state="bundled", why=why, expected_s=0.0),
            PlannedStage(name="measure", kind="measure", state="bundled", why=why, expected_s=0.0),
        ]
    stages = [_measure(root, settings, name, measure) for name in chosen]
    todo = any(stage.state == "to do" for stage in stages)
    first = PlannedStage(
        name="check",
        kind="check",
        state="to do" if todo else "done",
        notebook=check,
        why="before anything is measured" if todo else "nothing is to be measured",
        expected_s=_took(root, settings, "check"),
        parameters=_parameters(settings, chosen),
        experiments=chosen,
    )
    return [first, *stages]


def _measure(root: Path, settings: StageParameters, name: str, notebook: NotebookFile) -> PlannedStage:
    study = load_study(root, name)
    trials = plan_trials(
        study.experiment, study.profile_name(settings.profile), settings.seed, host=settings.host
    ).trials
    session = session_of(root, settings, name)
    expected = remaining_s(session, trials)
    state: State = "to do"
    if not session.exists:
        why = f"{len(trials)} trials to make"
    elif session.header.provenance.definition_sha256 != study.definition_sha256 and not session.complete:
        why = "its definition changed since it was begun"
    elif session.complete:
        state, why = "done", f"all {len(session.header.plan.trials)} trials are in data/raw"
        if session.header.provenance.definition_sha256 != study.definition_sha256:
            why += " (of an earlier definition: choose another seed to measure the new one)"
    else:
        why = f"{len(session.finished())} of {len(session.header.plan.trials)} trials made; the rest follows"
    return PlannedStage(
        name=f"measure {name}",
        kind="measure",
        state=state,
        why=why,
        expected_s=expected,
        notebook=notebook,
        parameters=_parameters(settings, (name,)),
        experiments=(name,),
    )


def _tidy(root: Path, settings: StageParameters, chosen: tuple[str, ...]) -> PlannedStage:
    return PlannedStage(
        name="tidy",
        kind="tidy",
        state="to do",
        why="",
        expected_s=None,
        notebook=NotebookFile(root / FOLDER / "20-tidy.ipynb"),
        parameters=_parameters(settings, chosen),
        experiments=chosen,
    )


def _analysis(
    root: Path, settings: StageParameters, chosen: tuple[str, ...], notebook: NotebookFile
) -> PlannedStage:
    missing = [name for name in notebook.experiments if name not in chosen]
    skipped = f"{', '.join(missing)} not among the experiments" if missing else ""
    wanted = (*notebook.experiments, *(name for name in notebook.optional if name in chosen))
    if notebook.optional and not wanted:
        missing, skipped = list(notebook.optional), f"none of {', '.join(notebook.optional)} was chosen"
    return PlannedStage(
        name=notebook.name,
        kind="analysis",
        state="skipped" if missing else "to do",
        why=skipped,
        expected_s=None,
        notebook=notebook,
        parameters=_parameters(settings, wanted or chosen),
        experiments=wanted or chosen,
    )


def _judged(root: Path, settings: StageParameters, stages: list[PlannedStage]) -> tuple[PlannedStage, ...]:
    """Judge each stage, and count one as to do when something it builds on is still to be made."""
    judged: list[PlannedStage] = []
    for stage in stages:
        now = judge(root, settings, stage)
        blocking = [s.name for s in judged if s.state == "to do" and _feeds(s, now)]
        if now.state == "done" and blocking and now.kind not in ("check", "measure"):
            now = replace(now, state="to do", why=f"if {blocking[-1]} brings something new")
        judged.append(now)
    return tuple(judged)


def _feeds(earlier: PlannedStage, later: PlannedStage) -> bool:
    if earlier.kind == "check":
        return False
    return later.kind == "paper" or bool(set(earlier.experiments) & set(later.experiments))


def _parameters(settings: StageParameters, experiments: tuple[str, ...]) -> dict[str, object]:
    return {
        "profile": settings.profile,
        "experiments": ",".join(experiments) or "all",
        "host": settings.host,
        "seed": settings.seed,
    }


def _raw_files(root: Path, stage: PlannedStage) -> list[Path]:
    """The headers and records: each record carries the hashes of its trial's other files."""
    files: list[Path] = []
    for name in stage.experiments:
        for session in Store(root).sessions(name):
            files += [session.folder / file for file in ("session.json", "builds.json", "echo.json")]
            files += [session.path(trial_id, "record.json") for trial_id in sorted(session.finished())]
    return files


def _paper_sources(root: Path) -> list[Path]:
    paper = root / "paper"
    return [
        path
        for ending in ("*.tex", "*.sty", "*.bib", "sections/*.tex")
        for path in sorted(paper.glob(ending))
    ]


def _took(root: Path, settings: StageParameters, kind: Kind) -> float:
    path = root / "results" / settings.profile / "stages" / f"{kind}.json"
    memory = read_memory(path)
    return memory.took_s if memory else _FIRST_GUESS_S[kind]


def _trial_s(trial: PlannedTrial) -> float:
    configuration = trial.configuration
    return (
        _TRIAL_OVERHEAD_S
        + configuration.idle_s
        + _load_s(configuration.load)
        + (configuration.warm_up_requests / 1000)
    )


def _load_s(load: Load | None) -> float:
    profile = load.profile if load else None
    if isinstance(profile, OpenLoad):
        return profile.whole_s
    if isinstance(profile, ClosedLoad):
        requests = profile.users * (profile.loops or 0)
        return profile.whole_s or profile.ramp_up_s + requests / _CLOSED_PER_S
    return 0.0
