# SPDX-License-Identifier: Apache-2.0
"""A small session of two variants in five blocks, written by the store, whose numbers tests know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.model import (
    Boundary,
    ClockReading,
    ClosedLoad,
    CpuSpeed,
    Experiment,
    GeneratorRecord,
    Implementation,
    InstanceRecord,
    Level,
    Load,
    LoadSummary,
    Machine,
    Outcome,
    Phase,
    PlannedTrial,
    ProfileDefinition,
    Provenance,
    ResourceReading,
    SessionHeader,
    TrialRecord,
    Variant,
    make_plan,
)
from harness.store import SessionFolder, SessionWriter
from harness.store.writing import TrialFolder

EPOCH = 1_700_000_000.0
MONOTONIC = 500.0
N_REQUESTS = 400


def at(seconds: float) -> ClockReading:
    return ClockReading(wall_epoch_s=EPOCH + seconds, monotonic_s=MONOTONIC + seconds)


def experiment() -> Experiment:
    load = Load(generator="jmeter", profile=ClosedLoad(users=10, loops=40))
    return Experiment(
        name="toy",
        title="t",
        question="q",
        workload="strings",
        reference="go-nethttp",
        load="users",
        variants={
            "go-nethttp": Variant(implementation="go-nethttp", label="Go net/http"),
            "java-jdkhttp": Variant(implementation="java-jdkhttp"),
        },
        factors={"logging": {"on": Level(), "off": Level()}, "generator": {"jmeter": Level()}},
        profiles={
            "quick": ProfileDefinition(blocks=5, loads={"users": load}),
            "smoke": ProfileDefinition(blocks=2, loads={"users": load}),
        },
    )


def implementation(name: str) -> Implementation:
    language, _, framework = name.partition("-")
    return Implementation(
        name=name, workload="strings", language=language, framework=framework,
        runtime="go" if language == "go" else "jvm", artifact="a", start=("./a",),
    )  # fmt: skip


def header(profile: str, seed: int, *, began_s: float = 0.0) -> SessionHeader:
    definition = experiment()
    machine = Machine(
        hostname_hash="h", cpu_model="c", n_cpus=2, memory_bytes=1, kernel="k", distribution="d", cgroup="v2",
        virtualisation=None, descriptor_limit=1024, small=True,
    )  # fmt: skip
    provenance = Provenance(
        commit=None, dirty=None, definition_sha256="", lock_sha256="", machine=machine, tools={},
        python_packages={}, started_epoch_s=EPOCH + began_s, clock_source=None,
    )  # fmt: skip
    return SessionHeader(
        session_id=f"{profile}-local-{seed}",
        experiment=definition,
        implementations={name: implementation(name) for name in definition.variants},
        plan=make_plan(definition, profile, seed),  # type: ignore[arg-type]  # one of the profile names
        provenance=provenance,
    )


def reading(seconds: float, *, rss: int, cpu: float) -> ResourceReading:
    return ResourceReading(
        at=at(seconds), rss_bytes=rss, pss_bytes=rss - 1, cpu_s=cpu, n_threads=9, n_descriptors=9
    )


def write_load(trial: TrialFolder, factor: float, seed: int) -> np.ndarray:
    """400 requests from second 2 to 6, one in forty wrong; samples of second 0 to 7 at half a core."""
    rng = np.random.default_rng(seed)
    elapsed = np.round(factor * rng.lognormal(np.log(60), 0.2, N_REQUESTS)).astype(int)
    lines = ["timeStamp,elapsed,label,responseCode,success"]
    for i, ms in enumerate(elapsed):
        start = int(1000 * EPOCH) + 2000 + 10 * i
        lines.append(f"{start},{ms},hello,{'500,false' if i % 40 == 0 else '200,true'}")
    (trial.load / "samples.jtl").write_text("\n".join(lines) + "\n", "utf-8")
    rows = ["monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors"]
    for tick in np.arange(0, 7.01, 0.05):
        cpu = 0.5 * max(0.0, tick - 2)
        rows.append(f"{MONOTONIC + tick},service,{1000 + int(100 * tick)},{cpu},9,")
        rows.append(f"{MONOTONIC + tick},generator,5000,{0.25 * tick},9,3")
    (trial.folder / "samples.csv").write_text("\n".join(rows) + "\n", "utf-8")
    return elapsed


def record(planned: PlannedTrial, head: SessionHeader, outcome: Outcome) -> TrialRecord:
    phase = Phase(name="measurement", start=at(1), end=at(6.5))
    instance = InstanceRecord(
        argv=("./a",), environment={}, pid=1, process_start_ticks=1, port=1, launched=at(-1), cpu_affinity=(0,),
        cpu_limit=None, artifact_sha256="s", artifact_bytes=77, runtime_bytes=None, runtime_version=None,
    )  # fmt: skip
    load = LoadSummary(
        n_requests=N_REQUESTS, n_errors=10, start_epoch_s=EPOCH + 2, duration_s=4.0, offered_per_s=None,
        achieved_per_s=100.0, latency_mean_s=0.06, resolution_s=0.001, has_requests=True,
    )  # fmt: skip
    ok = outcome == Outcome.OK
    return TrialRecord(
        experiment="toy",
        session_id=head.session_id,
        planned=planned,
        outcome=outcome,
        reason=None if ok else "the service ended",
        flags=("few_requests",),
        started=at(-1),
        ended=at(8),
        phases=(phase,) if ok else (),
        instance=instance,
        load=load if ok else None,
        generator=GeneratorRecord(
            name="jmeter",
            version="5.6.3",
            argv=(),
            cpu_affinity=(),
            cpu_s=None,
            exit_code=0,
            echo_achieved_per_s=300.0,
            headroom_ratio=3.0,
        ),
        boundaries=(
            Boundary(name="before-load", reading=reading(1, rss=1000, cpu=0.0)),
            Boundary(name="after-load", reading=reading(7, rss=1700, cpu=2.0)),
        ),
    )


def speeds(step_ns: float) -> tuple[CpuSpeed, ...]:
    """Return readings of the service's CPU, which is 0, and of another one that is as fast as ever."""
    return tuple(
        CpuSpeed(cpu=cpu, n_readings=20, step_ns_p05=60.0, step_ns_p50=mean, step_ns_mean=mean)
        for cpu, mean in ((0, step_ns), (1, 60.0))
    )


def make_session(
    root: Path,
    *,
    profile: str = "smoke",
    seed: int = 1,
    bundled: bool = False,
    failing: str = "",
    leave_out: str = "",
    write: Callable[[TrialFolder, float, int], object] = write_load,
    began_s: float = 0.0,
    n_noisy: int = 0,
    step_ns: Callable[[int], float] | None = None,
) -> SessionFolder:
    """Write a session of five blocks (``smoke``: two).

    Args:
        began_s: how long after the others it was begun.
        n_noisy: how many of its trials, the first ones, are flagged as ``noisy_machine``.
        step_ns: position of a trial -> what a step of the fixed calculation took meanwhile; ``None``: not read.
    """
    head = header(profile, seed, began_s=began_s)
    base = root / "data" / "raw" / ("bundled/toy" if bundled else "toy")
    writer = SessionWriter(SessionFolder(base / head.session_id, bundled=bundled), min_free_bytes=0)
    writer.write_header(head)
    for planned in head.plan.trials:
        if planned.trial_id == leave_out:
            continue
        trial = writer.begin(planned.trial_id)
        fails = planned.trial_id == failing
        if not fails:
            java = planned.configuration.variant_name.startswith("java")
            write(trial, 1.3 if java else 1.0, 7 * planned.position + seed)
        told = record(planned, head, Outcome.FAILED if fails else Outcome.OK)
        if planned.position <= n_noisy:
            told = told.model_copy(update={"flags": (*told.flags, "noisy_machine")})
        if step_ns is not None:
            told = told.model_copy(update={"cpu_speeds": speeds(step_ns(planned.position))})
        writer.finish(trial, told)
    writer.close()
    return writer.session


def trial_ids(session: SessionFolder) -> list[str]:
    return [trial.trial_id for trial in session.header.plan.trials]
