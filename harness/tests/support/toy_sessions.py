# SPDX-License-Identifier: Apache-2.0
"""A small session of two variants in five blocks, written by the store, whose numbers tests know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness import model
from harness.store import SessionFolder, SessionWriter
from harness.store.writing import TrialFolder
from harness.tests.support import records

EPOCH = 1_700_000_000.0
MONOTONIC = 500.0
N_REQUESTS = 400


def at(seconds: float) -> model.ClockReading:
    return model.ClockReading(wall_epoch_s=EPOCH + seconds, monotonic_s=MONOTONIC + seconds)


def experiment() -> model.Experiment:
    load = model.Load(generator="jmeter", profile=model.ClosedLoad(users=10, loops=40))
    return model.Experiment(
        name="toy", title="t", question="q", workload="strings", reference="go-nethttp", load="users",
        variants={
            "go-nethttp": model.Variant(implementation="go-nethttp", label="Go net/http"),
            "java-jdkhttp": model.Variant(implementation="java-jdkhttp"),
        },
        factors={"logging": {"on": model.Level(), "off": model.Level()}, "generator": {"jmeter": model.Level()}},
        profiles={
            "quick": model.ProfileDefinition(blocks=5, loads={"users": load}),
            "smoke": model.ProfileDefinition(blocks=2, loads={"users": load}),
        },
    )  # fmt: skip


def implementation(name: str) -> model.Implementation:
    language, _, framework = name.partition("-")
    return model.Implementation(
        name=name, workload="strings", language=language, framework=framework,
        runtime="go" if language == "go" else "jvm", artifact="a", start=("./a",),
    )  # fmt: skip


def header(profile: str, seed: int, *, began_s: float = 0.0) -> model.SessionHeader:
    definition = experiment()
    return model.SessionHeader(
        session_id=f"{profile}-local-{seed}",
        experiment=definition,
        implementations={name: implementation(name) for name in definition.variants},
        plan=model.make_plan(definition, profile, seed),  # type: ignore[arg-type]  # one of the profile names
        provenance=records.provenance(EPOCH + began_s, commit=None, dirty=None, clock_source=None),
    )


def reading(seconds: float, *, rss: int, cpu: float) -> model.ResourceReading:
    return records.reading(at(seconds), rss, cpu, pss_bytes=rss - 1, n_descriptors=9)


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


def record(
    planned: model.PlannedTrial, head: model.SessionHeader, outcome: model.Outcome
) -> model.TrialRecord:
    ok = outcome == model.Outcome.OK
    load = records.load_summary(N_REQUESTS, EPOCH + 2, 4.0, n_errors=10, latency_mean_s=0.06)
    return model.TrialRecord(
        experiment="toy", session_id=head.session_id, planned=planned, outcome=outcome,
        reason=None if ok else "the service ended", flags=("few_requests",), started=at(-1), ended=at(8),
        phases=(model.Phase(name="measurement", start=at(1), end=at(6.5)),) if ok else (),
        instance=records.instance(at(-1)),
        load=load if ok else None,
        generator=records.generator(
            argv=(), cpu_affinity=(), cpu_s=None, echo_achieved_per_s=300.0, headroom_ratio=3.0
        ),
        boundaries=(
            model.Boundary(name="before-load", reading=reading(1, rss=1000, cpu=0.0)),
            model.Boundary(name="after-load", reading=reading(7, rss=1700, cpu=2.0)),
        ),
    )  # fmt: skip


def speeds(step_ns: float) -> tuple[model.CpuSpeed, ...]:
    """Return readings of the service's CPU, which is 0, and of another one that is as fast as ever."""
    return tuple(
        model.CpuSpeed(cpu=cpu, n_readings=20, step_ns_p05=60.0, step_ns_p50=mean, step_ns_mean=mean)
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
    """Write a session of five blocks (``smoke``: two)."""
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
        told = record(planned, head, model.Outcome.FAILED if fails else model.Outcome.OK)
        if planned.position <= n_noisy:
            told = told.model_copy(update={"flags": (*told.flags, "noisy_machine")})
        if step_ns is not None:
            told = told.model_copy(update={"cpu_speeds": speeds(step_ns(planned.position))})
        writer.finish(trial, told)
    writer.close()
    return writer.session


def trial_ids(session: SessionFolder) -> list[str]:
    return [trial.trial_id for trial in session.header.plan.trials]
