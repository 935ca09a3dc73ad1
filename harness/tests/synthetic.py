# SPDX-License-Identifier: Apache-2.0
"""A made-up measurement in a project of its own, in the documented layout: for tests of notebooks and paper.

Raw sessions are written through the store, tables as ``docs/data.md`` describes them. The numbers follow
from a seed and from factors chosen here; nothing of it is ever a result.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from harness.definitions import Study, load_study
from harness.model import (
    ClockReading,
    InstanceRecord,
    LoadSummary,
    Machine,
    Outcome,
    Phase,
    PlannedTrial,
    ProfileName,
    Provenance,
    SessionHeader,
    StartUp,
    TrialRecord,
    make_plan,
)
from harness.store import SessionWriter, Store

ROOT = Path(__file__).resolve().parents[2]
#: variant -> (requests per second, MiB after load, seconds to first response)
_NATURE = {
    "go-kit": (9_000.0, 22.0, 0.02),
    "go-nethttp": (12_000.0, 18.0, 0.012),
    "java-helidon": (11_000.0, 190.0, 0.7),
    "java-jaxrs": (7_000.0, 260.0, 1.1),
    "java-jdkhttp": (11_900.0, 150.0, 0.3),
}
_SLOWER = {"on": 0.7, "off": 1.0, "none": 0.96, "calls-1000": 1.0}
_CLOCK = 1_700_000_000.0
N_REQUESTS = 1500


def make_project(folder: Path, *, profile: ProfileName = "quick", experiments: tuple[str, ...] = (
    "strings-rounds", "strings-startup"
), seed: int = 1) -> Path:
    """Return the root of a project with notebooks, paper and made-up sessions of the profile."""
    root = folder / "project"
    (root / "data").mkdir(parents=True)
    for name in ("harness", "services"):
        (root / name).symlink_to(ROOT / name)
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, root / name)
    for name in ("notebooks", "paper", "data/published"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("generated", "main.*[!x]", ".*"))
    for experiment in experiments:
        make_session(root, experiment, profile, seed)
    return root


def make_session(root: Path, experiment: str, profile: ProfileName, seed: int = 1, *, missing: int = 0) -> None:
    """Write a session and its tables; the last ``missing`` trials of the plan are not made."""
    study = load_study(ROOT, experiment)
    plan = make_plan(study.experiment, profile, seed)
    session = Store(root).session(experiment, f"{profile}-local-{seed}")
    writer = SessionWriter(session, min_free_bytes=0)
    writer.write_header(_header(study, plan_profile=profile, seed=seed))
    rng = np.random.default_rng(seed)
    rows = []
    for trial in plan.trials[: len(plan.trials) - missing]:
        record, row = _trial(study, trial, session.folder.name, profile, rng)
        writer.finish(writer.begin(trial.trial_id), record)
        rows.append(row)
        _tables(root, experiment, session.folder.name, row, rng)
    writer.close()
    target = root / "data" / "processed" / experiment
    target.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(target / "trials.parquet")


def _header(study: Study, *, plan_profile: ProfileName, seed: int) -> SessionHeader:
    return SessionHeader(
        session_id=f"{plan_profile}-local-{seed}",
        experiment=study.experiment,
        implementations=study.implementations,
        plan=make_plan(study.experiment, plan_profile, seed),
        provenance=Provenance(
            commit="0" * 40, dirty=False, definition_sha256=study.definition_sha256, lock_sha256="0" * 64,
            machine=Machine(
                hostname_hash="synthetic", cpu_model="Synthetic CPU & Co. 100%", n_cpus=2, memory_bytes=8 * 2**30,
                kernel="6.1", distribution="Debian GNU/Linux 12", cgroup="v2", virtualisation="kvm",
                descriptor_limit=20_000, small=True,
            ),
            tools={"go": "go1.24.1", "java": "25.0.1", "jmeter": "5.6.3"}, python_packages={}, started_epoch_s=_CLOCK,
            clock_source="tsc",
        ),
    )


def _trial(
    study: Study, trial: PlannedTrial, session: str, profile: str, rng: np.random.Generator
) -> tuple[TrialRecord, dict[str, object]]:
    configuration = trial.configuration
    variant = configuration.variant
    speed, memory, first = _NATURE[variant.implementation]
    for level in configuration.levels.values():
        speed *= _SLOWER.get(level, 1.0)
    first *= 0.5 if variant.runtime.aot_cache else 1.0
    noise = float(np.exp(rng.normal(0, 0.03)))
    load = configuration.load is not None
    start = trial.position * 10.0
    throughput = speed * noise
    measured_s = N_REQUESTS / throughput
    row: dict[str, object] = {
        "experiment": study.experiment.name, "session_id": session, "trial_id": trial.trial_id, "profile": profile,
        "host": "local", "launcher": "process", "block": trial.block, "position": trial.position,
        "duplicate": trial.duplicate, "is_reference": configuration.variant_name == study.experiment.reference,
        "variant": configuration.variant_name, "label": variant.label, "implementation": variant.implementation,
        "language": study.implementations[variant.implementation].language,
        "framework": study.implementations[variant.implementation].framework,
        "runtime_kind": study.implementations[variant.implementation].runtime, "gc": variant.runtime.gc,
        **configuration.levels, "configuration": configuration.key, "mix": configuration.mix,
        "load_name": configuration.load_name, "generator": "jmeter" if load else None,
        "load_model": "closed" if load else None, "outcome": "ok", "reason": None, "excluded": False,
        "exclusion_reason": None, "flags": "shared_cores",
        "n_requests": N_REQUESTS if load else np.nan, "n_errors": 0 if load else np.nan, "n_dropped": np.nan,
        "offered_per_s": np.nan, "throughput_per_s": throughput if load else np.nan,
        "measurement_s": measured_s if load else np.nan,
        "latency_mean_s": 80 / throughput if load else np.nan, "latency_resolution_s": 0.001 if load else np.nan,
        **{f"latency_{q}_s": 80 / throughput * f if load else np.nan for q, f in
           (("p50", 0.8), ("p90", 1.8), ("p95", 2.4), ("p99", 4.0), ("p999", 7.0), ("max", 9.0))},
        "cpu_s_per_request": 1.2 / throughput if load else np.nan, "service_cores": 1.2 if load else np.nan,
        "generator_cores": 0.7 if load else np.nan,
        "rss_before_bytes": memory * 0.6 * 2**20 if load else np.nan,
        "rss_after_bytes": memory * noise * 2**20 if load else np.nan,
        "rss_max_bytes": memory * 1.1 * 2**20 if load else np.nan,
        "pss_after_bytes": memory * 0.9 * 2**20 if load else np.nan,
        "time_to_first_response_s": first * noise, "cpu_s_at_first_response": first * 1.3 * noise,
        "rss_at_first_response_bytes": memory * 0.4 * 2**20 * noise,
        "idle_rss_bytes": np.nan if load else memory * 0.45 * 2**20 * noise, "idle_cpu_s": np.nan if load else 0.01,
        "echo_per_s": 14_000.0 if load else np.nan, "headroom_ratio": 14_000 / throughput if load else np.nan,
        "artifact_bytes": 9e6, "runtime_bytes": 0.0 if variant.implementation.startswith("go") else 2e8,
        "build_s": 12.0, "psi_cpu_some_s": 0.3, "steal_s": 0.01, "other_cpu_s": 0.05, "throttled_s": np.nan,
    }
    return _record(trial, session, start, first * noise, throughput if load else None, measured_s), row


def _record(
    trial: PlannedTrial, session: str, start: float, first: float, throughput: float | None, measured_s: float
) -> TrialRecord:
    def clock(second: float) -> ClockReading:
        return ClockReading(wall_epoch_s=_CLOCK + start + second, monotonic_s=start + second)

    phases = [Phase(name="start-up", start=clock(0.0), end=clock(first))]
    if throughput is not None:
        phases += [
            Phase(name="warm-up", start=clock(1.5), end=clock(2.5)),
            Phase(name="measurement", start=clock(2.5), end=clock(5.5)),
        ]
    return TrialRecord(
        experiment="synthetic", session_id=session, planned=trial, outcome=Outcome.OK, started=clock(0.0),
        ended=clock(6.0), phases=tuple(phases),
        instance=InstanceRecord(
            argv=("service",), environment={}, pid=1, process_start_ticks=1, port=1, launched=clock(0.0),
            cpu_affinity=(0,), cpu_limit=2, artifact_sha256="0" * 64, artifact_bytes=9_000_000, runtime_bytes=None,
            runtime_version=None,
        ),
        start_up=StartUp(
            time_to_first_response_s=first, polls=3, cpu_s_at_first_response=first, rss_bytes_at_first_response=1
        ),
        load=None if throughput is None else LoadSummary(
            n_requests=N_REQUESTS, n_errors=0, start_epoch_s=None, duration_s=measured_s, offered_per_s=None,
            achieved_per_s=throughput, latency_mean_s=80 / throughput, resolution_s=0.001, has_requests=True,
        ),
        files={},
    )


def _tables(
    root: Path, experiment: str, session: str, row: dict[str, object], rng: np.random.Generator
) -> None:
    folder = root / "data" / "processed" / experiment
    seconds = np.arange(0, 6, 0.05)
    memory = float(np.nanmax([float(str(row["rss_after_bytes"])), float(str(row["rss_at_first_response_bytes"]))]))
    samples = pd.DataFrame({
        "monotonic_s": seconds, "since_launch_s": seconds, "role": "service",
        "rss_bytes": memory * (0.4 + 0.6 * (1 - np.exp(-seconds))), "cpu_s": seconds, "n_threads": 9, "n_descriptors": 20,
    })
    path = folder / "samples" / session
    path.mkdir(parents=True, exist_ok=True)
    samples.to_parquet(path / f"{row['trial_id']}.parquet")
    if row["load_name"] is None:
        return
    mean = float(str(row["latency_mean_s"]))
    latency = np.maximum(np.round(rng.lognormal(np.log(mean) - 0.3, 0.77, N_REQUESTS), 3), 0.001)
    requests = pd.DataFrame({
        "start_epoch_s": _CLOCK + np.sort(rng.uniform(0, 3, N_REQUESTS)), "latency_s": latency, "ok": True,
        "label": pd.Categorical(["uppercase"] * N_REQUESTS),
    })
    path = folder / "requests" / session
    path.mkdir(parents=True, exist_ok=True)
    requests.to_parquet(path / f"{row['trial_id']}.parquet")
