# SPDX-License-Identifier: Apache-2.0
"""A made-up measurement in a project of its own, in the documented layout: for tests of notebooks and paper.

Raw sessions are written through the store, and tidied as real ones are. The numbers follow from a seed
and from factors chosen here; nothing of it is ever a result.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import JsonValue

from harness.definitions import Study, load_study
from harness.memory.fit import asked_of, heap_mib
from harness.model import (
    Boundary,
    BuildRecord,
    Calibration,
    ClockReading,
    ContainerRecord,
    FormBuild,
    GeneratorRecord,
    GroupReading,
    HeldMemory,
    InstanceRecord,
    InvariantReading,
    LeastHeap,
    LimitProbe,
    Load,
    LoadSummary,
    Machine,
    MatchedLimit,
    MemoryFit,
    OpenLoad,
    Outcome,
    Phase,
    Plan,
    PlannedTrial,
    ProfileName,
    Provenance,
    ResourceReading,
    SessionHeader,
    StartUp,
    TrialRecord,
    Unavailable,
    Variant,
)
from harness.session.planning import plan_without, session_name
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests import synthetic_files, synthetic_pauses

ROOT = Path(__file__).resolve().parents[2]
BOTH = ("strings-rounds", "strings-startup")
#: implementation -> (requests per second, MiB after load, seconds to first response)
_NATURE = {
    "go-kit": (9_000.0, 22.0, 0.02),
    "go-nethttp": (12_000.0, 18.0, 0.012),
    "java-helidon": (11_000.0, 190.0, 0.7),
    "java-jaxrs": (7_000.0, 260.0, 1.1),
    "java-jdkhttp": (11_900.0, 150.0, 0.3),
    "go-gorilla": (3_000.0, 20.0, 0.02),
    "go-pgx": (4_000.0, 19.0, 0.02),
    "java-spring": (2_800.0, 310.0, 2.5),
    "java-quarkus": (2_900.0, 280.0, 1.4),
    "java-vertx": (3_100.0, 210.0, 0.9),
}
#: What the made-up calibration found, passes per second.
CAPACITY_PER_S = 150.0
#: What the made-up search for a least heap found, and what a Java program was made up to hold, in MiB.
LEAST_MIB, HELD_MIB = 10, 150
#: Seconds that a collection stops the program; experiments named so hold its requests back by it.
_PAUSE_S = {"go-nethttp": 0.0001, "java-jdkhttp": 0.025}
_WITH_PAUSES = "gc-"
_SPEED = {"on": 0.7, "off": 1.0, "none": 0.96, "calls-1000": 1.0}
_EPOCH = 1_700_000_000.0
_LOAD_STARTS_S = 2.5
#: Of each container: the layers of its image, and what its control group held at the end.
LAYERS_BYTES, GROUP_BYTES = (40 * 2**20, 2 * 2**20), 15 * 2**20
#: What the forms of Java programs took to make.
FORM_BUILD_S, AOT_TRAINING_S, AOT_CACHE_BYTES = 90.0, 3.5, 33 * 2**20
_AROUND_LOAD = ("before-load", "after-load")


def make_project(
    folder: Path, *, profile: ProfileName = "quick", experiments: tuple[str, ...] = BOTH, seed: int = 1
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
    profile: ProfileName,
    seed: int = 1,
    *,
    missing: int = 0,
    bundled: bool = False,
    unavailable: Sequence[Unavailable] = (),
    launcher: Literal["process", "container"] = "process",
) -> SessionFolder:
    """Write a session; the last ``missing`` trials of its plan are not made, nor those of ``unavailable`` variants."""
    defined = _calibrated(load_study(ROOT, experiment), profile)
    fit = memory_fit_of(defined, profile)
    study = defined if fit is None else _fitted(defined, fit)
    plan = plan_without(study.experiment, profile, unavailable, host="local", seed=seed, launcher=launcher)
    name = session_name(profile, "local", launcher, seed)
    folder = Store(root).raw.joinpath(*(("bundled",) if bundled else ()), experiment, name)
    session = SessionFolder(folder, bundled=bundled)
    writer = SessionWriter(session, min_free_bytes=0)
    writer.write_header(_header(study, plan, name, unavailable, fit))
    variants = [trial.configuration.variant for trial in plan.trials]
    writer.write_builds({variant.build_name: _build(variant) for variant in variants})
    rng = np.random.default_rng(seed)
    for trial in plan.trials[: len(plan.trials) - missing]:
        under_way = writer.begin(trial.trial_id)
        made = _trial(experiment, trial, folder.name, under_way.folder, rng)
        writer.finish(under_way, made if launcher == "process" else in_container(made))
    writer.close()
    return session


def _calibrated(study: Study, profile: ProfileName) -> Study:
    if not study.experiment.profiles[profile].scaled_loads:
        return study
    return study.model_copy(update={"experiment": study.experiment.calibrated(profile, CAPACITY_PER_S)})


def _notes(study: Study, profile: ProfileName) -> dict[str, JsonValue]:
    """The calibration, where the definition has one."""
    defined = load_study(ROOT, study.experiment.name).experiment
    order = defined.profiles[profile].calibration
    if order is None:
        return {}
    found = Calibration(
        order=order,
        variant=defined.reference,
        configuration=defined.reference,
        mix=defined.mix,
        n_steps=1,
        capacity_per_s=CAPACITY_PER_S,
        n_requests=600,
        n_errors=0,
        duration_s=4.0,
        measured_epoch_s=_EPOCH,
    )
    return {"calibration": found.model_dump(mode="json")}


def memory_fit_of(study: Study, profile: ProfileName) -> MemoryFit | None:
    """What was made up of memory, where the definition leaves any to be measured; else ``None``."""
    experiment = study.experiment
    asked = asked_of(experiment, experiment.profiles[profile].variants or tuple(experiment.variants))
    if not asked:
        return None
    runtimes = {name: experiment.variants[name].runtime for name in asked}
    heaps = {name: one.heap_multiple for name, one in runtimes.items() if one.heap_multiple is not None}
    limits = {name: one.memory_of for name, one in runtimes.items() if one.memory_of is not None}
    held = HELD_MIB * 2**20
    return MemoryFit(
        asked=asked,
        resolved={name: {"heap_max": f"{heap_mib(multiple, LEAST_MIB)}m"} for name, multiple in heaps.items()}
        | {name: {"gomemlimit": f"{HELD_MIB}MiB"} for name in limits},
        mix=experiment.mix,
        rate_per_s=200.0,
        n_requests=300,
        cold_requests=100,
        at_once=100,
        most_late_s=0.5,
        hold_s=1.0,
        warm_up_requests=experiment.warm_up_requests,
        least=tuple(
            LeastHeap(
                implementation=experiment.variants[name].implementation,
                collector=runtimes[name].gc,
                variants=(name,),
                least_mib=LEAST_MIB,
                step_mib=1,
                steady=True,
                probes=(),
            )
            for name in heaps
        ),
        held=tuple(
            HeldMemory(variant=other, heap_max=None, rss_bytes=held)
            for other in dict.fromkeys(limits.values())
        ),
        limits=tuple(
            MatchedLimit(
                variant=name,
                memory_of=other,
                wanted_bytes=held,
                limit_mib=HELD_MIB,
                probes=(LimitProbe(limit_mib=HELD_MIB, rss_bytes=held),),
            )
            for name, other in limits.items()
        ),
        sources={},
        measured_epoch_s=_EPOCH,
        took_s=60.0,
    )


def _fitted(study: Study, fit: MemoryFit) -> Study:
    return study.model_copy(update={"experiment": study.experiment.with_memory(fit.resolved)})


def _header(
    study: Study, plan: Plan, session: str, unavailable: Sequence[Unavailable], fit: MemoryFit | None
) -> SessionHeader:
    return SessionHeader(
        session_id=session,
        experiment=study.experiment,
        implementations=study.implementations,
        plan=plan,
        unavailable=tuple(unavailable),
        provenance=Provenance(
            commit="0" * 40,
            dirty=False,
            definition_sha256=study.definition_sha256,
            lock_sha256="0" * 64,
            machine=Machine(
                hostname_hash="synthetic",
                cpu_model="Synthetic CPU & Co. 100 %",
                n_cpus=2,
                memory_bytes=8 * 2**30,
                kernel="6.1.0",
                distribution="Debian GNU/Linux 12",
                cgroup="v2",
                virtualisation="kvm",
                descriptor_limit=20_000,
                small=True,
            ),
            tools={"go": "go1.24.1", "java": "25.0.1", "jmeter": "5.6.3"},
            python_packages={},
            started_epoch_s=_EPOCH,
            clock_source="tsc",
        ),
        notes=_notes(study, plan.profile) | ({} if fit is None else {"memory": fit.model_dump(mode="json")}),
    )


def _build(variant: Variant) -> BuildRecord:
    name, form = variant.implementation, variant.runtime.form
    made = None
    if form in ("jlink", "native"):
        made = FormBuild(
            form=form,
            tool=f"{form} 0.0 (made up)",
            argv=(form,),
            build_s=FORM_BUILD_S,
            image_bytes=50_000_000,
            peak_rss_bytes=3 * 2**30 if form == "native" else None,
        )
    return BuildRecord(
        implementation=name,
        source_sha256="0" * 64,
        argv=("build",),
        build_s=12.0,
        artifact_bytes=_artifact_bytes(name),
        artifact_sha256=_sha(name),
        aot_training_s=AOT_TRAINING_S if variant.runtime.aot_cache else None,
        aot_cache_bytes=AOT_CACHE_BYTES if variant.runtime.aot_cache else None,
        form=made,
    )


def _artifact_bytes(name: str) -> int:
    return 7_000_000 if name.startswith("go") else 12_000_000


def _sha(name: str) -> str:
    return name.encode().hex().ljust(64, "0")[:64]


def _trial(
    experiment: str, trial: PlannedTrial, session: str, folder: Path, rng: np.random.Generator
) -> TrialRecord:
    cell = trial.configuration
    name = cell.variant.implementation
    speed, memory_mib, first_s = _NATURE[name]
    if cell.variant.runtime.gomemlimit == f"{HELD_MIB}MiB":
        memory_mib = HELD_MIB  # what it was given
    for level in cell.levels.values():
        speed *= _SPEED.get(level, 1.0)
    noise = float(np.exp(rng.normal(0, 0.03)))
    speed, memory, first_s = speed * noise, memory_mib * noise * 2**20, first_s * noise
    first_s *= 0.5 if cell.variant.runtime.aot_cache else 1.0
    begun = trial.position * 10.0

    def clock(second: float) -> ClockReading:
        return ClockReading(wall_epoch_s=_EPOCH + begun + second, monotonic_s=begun + second)

    def boundary(which: str, second: float, share: float) -> Boundary:
        reading = ResourceReading(
            at=clock(second),
            rss_bytes=int(memory * share),
            pss_bytes=int(memory * share * 0.9),
            cpu_s=first_s * 1.3,
            n_threads=9,
            n_descriptors=20,
        )
        tells = paused and name.startswith("go") and which == "after-load"
        told = synthetic_pauses.AFTER_LOAD if tells else None
        if cell.workload == "clients" and name.startswith("go") and which in _AROUND_LOAD:
            told = synthetic_files.write_opened(folder, which, cell.levels.get("face") == "published")
        return Boundary.model_validate({"name": which, "reading": reading, "runtime_metrics_file": told})

    loaded = cell.load is not None
    paused = experiment.startswith(_WITH_PAUSES)
    n_requests = synthetic_pauses.N_REQUESTS if paused else synthetic_files.N_REQUESTS
    lasts_s = synthetic_pauses.LASTS_S if paused else _lasts_s(cell.load, speed)
    last_s = _LOAD_STARTS_S + lasts_s
    phases = [Phase(name="start-up", start=clock(0.0), end=clock(first_s))]
    boundaries = [boundary("first-response", first_s, 0.4)]
    if loaded:
        phases.append(Phase(name="warm-up", start=clock(1.5), end=clock(_LOAD_STARTS_S)))
        phases.append(Phase(name="measurement", start=clock(_LOAD_STARTS_S), end=clock(last_s)))
        boundaries += [boundary("before-load", 2.4, 0.6), boundary("after-load", last_s, 1.0)]
        first_epoch_s = _EPOCH + begun + _LOAD_STARTS_S
        if paused:
            synthetic_pauses.write_trial(
                folder,
                runtime="go" if name.startswith("go") else "jvm",
                launched_s=_EPOCH + begun,
                begin_s=first_epoch_s,
                pause_s=_PAUSE_S[name],
                rng=rng,
            )
        else:
            synthetic_files.write_requests(folder, first_epoch_s, lasts_s, 80 / speed, rng)
    else:
        phases.append(Phase(name="idle", start=clock(first_s), end=clock(first_s + 1)))
        boundaries.append(boundary("idle", first_s + 1, 0.45))
    if cell.workload != "strings":
        synthetic_files.write_database(folder, _EPOCH + begun, last_s)
    synthetic_files.write_samples(folder, begun, memory, last_s if loaded else first_s + 1)
    return TrialRecord(
        experiment=experiment,
        session_id=session,
        planned=trial,
        outcome=Outcome.OK,
        flags=("shared_cores",),
        started=clock(0.0),
        ended=clock(6.0),
        phases=tuple(phases),
        boundaries=tuple(boundaries),
        invariants=(InvariantReading(name="money", found=7, expected=7),) if cell.workload == "bank" else (),
        instance=InstanceRecord(
            argv=("service",),
            environment={},
            pid=1,
            process_start_ticks=1,
            port=1,
            launched=clock(0.0),
            cpu_affinity=(0,),
            cpu_limit=2,
            artifact_sha256=_sha(name),
            artifact_bytes=_artifact_bytes(name),
            runtime_bytes=0 if name.startswith("go") else 200_000_000,
            runtime_version=None,
        ),
        start_up=StartUp(
            time_to_first_response_s=first_s,
            polls=3,
            cpu_s_at_first_response=first_s * 1.3,
            rss_bytes_at_first_response=int(memory * 0.4),
        ),
        load=LoadSummary(
            n_requests=n_requests,
            n_errors=0,
            start_epoch_s=_EPOCH + begun + _LOAD_STARTS_S,
            duration_s=lasts_s,
            offered_per_s=None,
            achieved_per_s=n_requests / lasts_s,
            latency_mean_s=80 / speed,
            resolution_s=0.001,
            has_requests=True,
        )
        if loaded
        else None,
        generator=GeneratorRecord(
            name="jmeter",
            version="5.6.3",
            argv=("jmeter",),
            cpu_affinity=(1,),
            cpu_s=1.0,
            exit_code=0,
            echo_achieved_per_s=14_000.0,
            headroom_ratio=14_000 / speed,
        )
        if loaded
        else None,
    )


def in_container(record: TrialRecord) -> TrialRecord:
    """The same trial as if it had been made in a container, whose group holds less than its process."""
    assert record.instance is not None
    at_stop = GroupReading(
        version="v1",
        memory_bytes=GROUP_BYTES,
        memory_max_bytes=None,
        cpu_s=2.5,
        n_throttled=3,
        throttled_s=0.25,
        rss_bytes=GROUP_BYTES + 2**20,
        process_cpu_s=2.4,
    )
    container = ContainerRecord(
        engine="0.0",
        image_id="sha256:0",
        image_bytes=sum(LAYERS_BYTES),
        layer_bytes=LAYERS_BYTES,
        network="host",
        user="0",
        cpuset=None,
        cpu_quota=1.0,
        memory_limit_bytes=None,
        create_s=0.125,
        start_s=0.5,
        at_stop=at_stop,
        out_of_memory=False,
    )
    instance = record.instance.model_copy(update={"container": container})
    return record.model_copy(update={"instance": instance})


def _lasts_s(load: Load | None, speed: float) -> float:
    """An open loop lasts as long as it was told; the others as long as the service takes."""
    profile = load.profile if load else None
    return profile.whole_s if isinstance(profile, OpenLoad) else synthetic_files.N_REQUESTS / speed
