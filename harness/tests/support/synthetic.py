# SPDX-License-Identifier: Apache-2.0
"""A made-up measurement in a project of its own, in the documented layout: for tests of notebooks and paper."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import numpy as np
from pydantic import JsonValue

from harness import model
from harness.definitions import Study, load_study
from harness.measure.session.memory import asked_of, heap_mib
from harness.measure.session.planning import plan_without, session_name
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests.support import records, synthetic_trial
from harness.tests.support.synthetic_pods import in_pods

ROOT = Path(__file__).resolve().parents[3]
BOTH = ("strings-rounds", "strings-startup")
#: What the made-up calibration found, passes per second.
CAPACITY_PER_S = 150.0
#: What the made-up search for a least heap found, in MiB.
LEAST_MIB = 10
#: What the forms of Java programs took to make.
FORM_BUILD_S, AOT_TRAINING_S, AOT_CACHE_BYTES = 90.0, 3.5, 33 * 2**20


def make_project(
    folder: Path, *, profile: model.ProfileName = "quick", experiments: tuple[str, ...] = BOTH, seed: int = 1
) -> Path:
    """Return the root of a project with notebooks, paper and made-up raw sessions of the profile."""
    root = folder / "project"
    (root / "data").mkdir(parents=True)
    for name in ("harness", "services"):
        (root / name).symlink_to(ROOT / name)
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, root / name)
    for name in ("notebooks", "paper", "data/published"):
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("generated", "main.[!t]*", ".*")
        )
    for experiment in experiments:
        make_session(root, experiment, profile, seed)
    return root


def make_session(
    root: Path,
    experiment: str,
    profile: model.ProfileName,
    seed: int = 1,
    *,
    missing: int = 0,
    bundled: bool = False,
    unavailable: Sequence[model.Unavailable] = (),
    launcher: Literal["process", "kubernetes"] = "process",
    settle_s: float = 0.0,
) -> SessionFolder:
    """Write a session; the last ``missing`` trials of its plan are not made, nor those of ``unavailable`` variants."""
    study = _changed(load_study(ROOT, experiment), profile, settle_s)
    fit = memory_fit_of(study, profile)
    if fit is not None:
        study = study.model_copy(update={"experiment": study.experiment.with_memory(fit.resolved)})
    plan = plan_without(study.experiment, profile, unavailable, host="local", seed=seed, launcher=launcher)
    name = session_name(profile, "local", launcher, seed)
    folder = Store(root).raw.joinpath(*(("bundled",) if bundled else ()), experiment, name)
    session = SessionFolder(folder, bundled=bundled)
    writer = SessionWriter(session, min_free_bytes=0)
    writer.write_header(_header(study, plan, name, unavailable, fit))
    variants = [trial.configuration.variant for trial in plan.trials]
    writer.write_builds({variant.build_name: _build(variant) for variant in variants})
    rng = np.random.default_rng(seed)
    with patch.object(os, "fsync"):  # what is made up need not outlast a power cut
        for trial in plan.trials[: len(plan.trials) - missing]:
            under_way = writer.begin(trial.trial_id)
            made = synthetic_trial.made_trial(experiment, trial, folder.name, under_way.folder, rng)
            writer.finish(under_way, in_pods(made) if launcher == "kubernetes" else made)
    writer.close()
    return session


def _changed(study: Study, profile: model.ProfileName, settle_s: float) -> Study:
    """A definition with another time to settle, and with rates where they are shares of a capacity."""
    definition = study.experiment.profiles[profile].model_copy(update={"settle_s": settle_s})
    profiles = {**study.experiment.profiles, profile: definition}
    experiment = study.experiment.model_copy(update={"profiles": profiles})
    if definition.scaled_loads:
        experiment = experiment.calibrated(profile, CAPACITY_PER_S)
    return study.model_copy(update={"experiment": experiment})


def _notes(study: Study, profile: model.ProfileName) -> dict[str, JsonValue]:
    """The calibration, where the definition has one."""
    defined = load_study(ROOT, study.experiment.name).experiment
    order = defined.profiles[profile].calibration
    if order is None:
        return {}
    calibration = model.Calibration(
        order=order, variant=defined.reference, configuration=defined.reference, mix=defined.mix, n_steps=1,
        capacity_per_s=CAPACITY_PER_S, n_requests=600, n_errors=0, duration_s=4.0, measured_epoch_s=synthetic_trial.EPOCH,
    )  # fmt: skip
    return {"calibration": calibration.model_dump(mode="json")}


def memory_fit_of(study: Study, profile: model.ProfileName) -> model.MemoryFit | None:
    """What was made up of memory, where the definition leaves any to be measured; else ``None``."""
    experiment = study.experiment
    asked = asked_of(experiment, experiment.profiles[profile].variants or tuple(experiment.variants))
    if not asked:
        return None
    runtimes = {name: experiment.variants[name].runtime for name in asked}
    sizes = {
        name: heap_mib(one.memory_multiple, LEAST_MIB)
        for name, one in runtimes.items()
        if one.memory_multiple is not None
    }
    settings = {
        name: {"heap_max": f"{mib}m"} if runtimes[name].heap_multiple else {"gomemlimit": f"{mib}MiB"}
        for name, mib in sizes.items()
    }
    limits = {name: one.memory_of for name, one in runtimes.items() if one.memory_of is not None}
    held = synthetic_trial.HELD_MIB * 2**20
    return model.MemoryFit(
        asked=asked, resolved=settings | {name: {"gomemlimit": f"{synthetic_trial.HELD_MIB}MiB"} for name in limits}, mix=experiment.mix,
        warm_up_requests=experiment.warm_up_requests,
        limits=tuple(
            model.MatchedLimit(
                variant=name, memory_of=other, wanted_bytes=held, limit_mib=synthetic_trial.HELD_MIB,
                probes=(model.LimitProbe(limit_mib=synthetic_trial.HELD_MIB, rss_bytes=held),),
            )
            for name, other in limits.items()
        ),
        sources={}, measured_epoch_s=synthetic_trial.EPOCH, took_s=60.0,
    )  # fmt: skip


def _header(
    study: Study,
    plan: model.Plan,
    session: str,
    unavailable: Sequence[model.Unavailable],
    fit: model.MemoryFit | None,
) -> model.SessionHeader:
    tools = {"go": "go1.24.1", "java": "25.0.1", "jmeter": "5.6.3"}
    return model.SessionHeader(
        session_id=session, experiment=study.experiment, implementations=study.implementations, plan=plan,
        unavailable=tuple(unavailable),
        provenance=records.provenance(synthetic_trial.EPOCH, definition_sha256=study.definition_sha256, tools=tools),
        notes=_notes(study, plan.profile) | ({} if fit is None else {"memory": fit.model_dump(mode="json")}),
    )  # fmt: skip


def _build(variant: model.Variant) -> model.BuildRecord:
    name, form = variant.implementation, variant.runtime.form
    made = None
    if form in ("jlink", "native"):
        made = model.FormBuild(
            form=form, tool=f"{form} 0.0 (made up)", argv=(form,), build_s=FORM_BUILD_S, image_bytes=50_000_000,
            peak_rss_bytes=3 * 2**30 if form == "native" else None,
        )  # fmt: skip
    return model.BuildRecord(
        implementation=name, source_sha256="0" * 64, argv=("build",), build_s=12.0, artifact_bytes=synthetic_trial.artifact_bytes(name),
        artifact_sha256=synthetic_trial.artifact_sha256(name), aot_training_s=AOT_TRAINING_S if variant.runtime.aot_cache else None,
        aot_cache_bytes=AOT_CACHE_BYTES if variant.runtime.aot_cache else None, form=made,
    )  # fmt: skip
