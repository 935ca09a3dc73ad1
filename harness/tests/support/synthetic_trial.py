# SPDX-License-Identifier: Apache-2.0
"""One made-up trial: its record, and the files that stand beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness import model
from harness.tests.support import records, synthetic_pauses

N_REQUESTS = 1200
#: Connections to the upstream that the made-up published Go opens under load.
OPENED_PUBLISHED = 800


def write_requests(
    folder: Path, start_epoch_s: float, lasts_s: float, mean_s: float, rng: np.random.Generator
) -> None:
    elapsed = np.maximum(np.round(rng.lognormal(np.log(mean_s) - 0.3, 0.77, N_REQUESTS) * 1e3), 1).astype(int)
    begun = np.round((start_epoch_s + np.sort(rng.uniform(0, lasts_s, N_REQUESTS))) * 1e3).astype(int)
    synthetic_pauses.write_jtl(folder / "load" / "samples.jtl", begun, elapsed, "uppercase")


def write_database(folder: Path, launched_epoch_s: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.1, 0.1)
    names = (
        "epoch_s", "n_active", "n_idle", "n_idle_in_transaction", "n_starting", "n_waiting_for_lock",
        "n_locks_not_granted", "deadlocks", "xact_commit", "xact_rollback",
    )  # fmt: skip
    pairs = zip((launched_epoch_s + seconds).tolist(), (seconds * 100).astype(int).tolist(), strict=True)
    lines = [f"{at_s},3,5,0,0,0,0,0,{committed},0\n" for at_s, committed in pairs]
    (folder / "database.csv").write_text(",".join(names) + "\n" + "".join(lines), "utf-8")


def write_opened(folder: Path, boundary: str, published: bool) -> str:
    """Go's count of connections to the upstream: the published face opens one for most requests."""
    opened = {"before-load": 30, "after-load": OPENED_PUBLISHED + 30 if published else 30}[boundary]
    name = f"boundary-{boundary}.prom"
    (folder / name).write_text(f"upstream_connections_opened_total {opened}\n", "utf-8")
    return name


def write_samples(folder: Path, begun: float, memory: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.06, 0.05)
    at_s = (begun + seconds).tolist()
    held = (memory * (0.4 + 0.6 * (1 - np.exp(-seconds)))).astype(int).tolist()
    lines = [
        f"{at},{role},{rss},{cpu},9,20\n"
        for role, share in (("service", 1.2), ("generator", 0.7))
        for at, rss, cpu in zip(at_s, held, (seconds * share).tolist(), strict=True)
    ]
    header = "monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n"
    (folder / "samples.csv").write_text(header + "".join(lines), "utf-8")


#: implementation -> (requests per second, MiB after load, seconds to first response)
_NATURE = {
    "go-kit": (9_000.0, 22.0, 0.02), "go-kit-2020": (8_500.0, 20.0, 0.02), "go-nethttp": (12_000.0, 18.0, 0.012),
    "java-helidon": (11_000.0, 190.0, 0.7), "java-helidon2-published": (10_000.0, 170.0, 0.9),
    "java-jaxrs": (7_000.0, 260.0, 1.1), "java-jaxrs-2020": (5_500.0, 230.0, 1.4),
    "java-jaxrs-published": (6_500.0, 240.0, 1.0), "java-jdkhttp": (11_900.0, 150.0, 0.3),
    "go-gorilla": (3_000.0, 20.0, 0.02), "go-pgx": (4_000.0, 19.0, 0.02), "java-spring": (2_800.0, 310.0, 2.5),
    "java-quarkus": (2_900.0, 280.0, 1.4), "java-vertx": (3_100.0, 210.0, 0.9),
}  # fmt: skip
#: What a Java program was made up to hold, in MiB.
HELD_MIB = 150
#: Seconds that a collection stops the program; experiments named so hold its requests back by it.
_PAUSE_S = {"go-nethttp": 0.0001, "java-jdkhttp": 0.025}
_WITH_PAUSES = "gc-"
_SPEED = {"on": 0.7, "off": 1.0, "none": 0.96, "calls-1000": 1.0}
EPOCH = 1_700_000_000.0
_LOAD_STARTS_S = 2.5
_AROUND_LOAD = ("before-load", "after-load")


#: What the JIT compilers of a made-up JVM that is warm work during its load, in seconds.
COMPILED_S = 0.001
#: What the first window of a made-up JVM lacks of its warm throughput, and windows until most of that is gone.
COLD_SHARE, COLD_WINDOWS = 0.7, 2.0


def made_trial(
    experiment: str, trial: model.PlannedTrial, session: str, folder: Path, rng: np.random.Generator
) -> model.TrialRecord:
    """Write a trial's files into its folder, and return the record that goes with them."""
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
    is_jvm = name.startswith("java") and cell.variant.runtime.form != "native"
    compiles = is_jvm and cell.warm_up is not None

    def clock(second: float) -> model.ClockReading:
        return model.ClockReading(wall_epoch_s=EPOCH + begun + second, monotonic_s=begun + second)

    def boundary(which: str, second: float, share: float) -> model.Boundary:
        compile_s = 5.0 + (COMPILED_S if which == "after-load" else 0.0) if compiles else None
        held = memory * share
        reading = records.reading(
            clock(second), int(held), first_s * 1.3, pss_bytes=int(held * 0.9), compile_s=compile_s
        )
        tells = paused and name.startswith("go") and which == "after-load"
        file = synthetic_pauses.AFTER_LOAD if tells else None
        if cell.workload == "clients" and name.startswith("go") and which in _AROUND_LOAD:
            file = write_opened(folder, which, cell.levels.get("face") == "published")
        return model.Boundary.model_validate(
            {"name": which, "reading": reading, "runtime_metrics_file": file}
        )

    loaded = cell.load is not None
    paused = experiment.startswith(_WITH_PAUSES)
    n_requests = synthetic_pauses.N_REQUESTS if paused else N_REQUESTS
    lasts_s = synthetic_pauses.LASTS_S if paused else _lasts_s(cell.load, speed)
    last_s = _LOAD_STARTS_S + lasts_s
    phases = [model.Phase(name="start-up", start=clock(0.0), end=clock(first_s))]
    boundaries = [boundary("first-response", first_s, 0.4)]
    if loaded:
        phases.append(model.Phase(name="warm-up", start=clock(1.5), end=clock(_LOAD_STARTS_S)))
        phases.append(model.Phase(name="measurement", start=clock(_LOAD_STARTS_S), end=clock(last_s)))
        boundaries += [boundary("before-load", 2.4, 0.6), boundary("after-load", last_s, 1.0)]
        first_epoch_s = EPOCH + begun + _LOAD_STARTS_S
        if paused:
            synthetic_pauses.write_trial(
                folder, runtime="go" if name.startswith("go") else "jvm", launched_s=EPOCH + begun,
                begin_s=first_epoch_s, pause_s=_PAUSE_S[name], rng=rng,
            )  # fmt: skip
        else:
            write_requests(folder, first_epoch_s, lasts_s, 80 / speed, rng)
    else:
        phases.append(model.Phase(name="idle", start=clock(first_s), end=clock(first_s + 1)))
        boundaries.append(boundary("idle", first_s + 1, 0.45))
    if cell.workload != "strings":
        write_database(folder, EPOCH + begun, last_s)
    write_samples(folder, begun, memory, last_s if loaded else first_s + 1)
    load = records.load_summary(
        n_requests, EPOCH + begun + _LOAD_STARTS_S, lasts_s, latency_mean_s=80 / speed
    )
    generator = records.generator(echo_achieved_per_s=14_000.0, headroom_ratio=14_000 / speed)
    return model.TrialRecord(
        experiment=experiment, session_id=session, planned=trial, outcome=model.Outcome.OK, flags=("shared_cores",),
        started=clock(0.0), ended=clock(6.0), phases=tuple(phases), boundaries=tuple(boundaries),
        invariants=(model.InvariantReading(name="money", found=7, expected=7),) if cell.workload == "bank" else (),
        instance=records.instance(
            clock(0.0), argv=("service",), cpu_limit=2, artifact_sha256=artifact_sha256(name),
            artifact_bytes=artifact_bytes(name), runtime_bytes=0 if name.startswith("go") else 200_000_000,
        ),
        start_up=model.StartUp(
            time_to_first_response_s=first_s, polls=3, cpu_s_at_first_response=first_s * 1.3,
            rss_bytes_at_first_response=int(memory * 0.4),
        ),
        warm_up=None if cell.warm_up is None else _warm_up(cell.warm_up, speed, is_jvm),
        request_log=_request_log(cell, n_requests),
        load=load if loaded else None,
        generator=generator if loaded else None,
    )  # fmt: skip


def _request_log(cell: model.Configuration, n_requests: int) -> model.RequestLogRecord | None:
    """Of a program that logs into a file or a pipe; an asynchronous logger loses a tenth of its lines in a pipe."""
    settings = cell.variant.settings
    if settings.get("logging") != "on" or settings.get("log_sink") not in ("file", "pipe"):
        return None
    loses = settings.get("log_sink") == "pipe" and str(settings.get("logger")).endswith("-async")
    lines = n_requests - n_requests // 10 if loses else n_requests
    return model.RequestLogRecord.model_validate(
        {"sink": settings["log_sink"], "requests": n_requests, "lines": lines, "bytes": 150 * lines}
    )


def _warm_up(spec: model.WarmUpSpec, per_s: float, is_jvm: bool) -> model.WarmUpRecord:
    """A JVM begins slowly and becomes warm; everything else is warm at once."""
    windows = []
    for place in range(min(2 * spec.n_windows + 5, spec.at_most_s)):
        slower = 1 - COLD_SHARE * float(np.exp(-place / COLD_WINDOWS)) if is_jvm else 1.0
        windows.append(
            model.WarmUpWindow(
                start_s=place * 1.1 * spec.window_s, duration_s=float(spec.window_s), n_errors=0,
                n_requests=int(per_s * slower * spec.window_s), cpu_s=0.9 * spec.window_s,
                compile_s=(1 - slower) * spec.window_s if is_jvm else None,
            )
        )  # fmt: skip
    return model.WarmUpRecord(spec=spec, windows=tuple(windows), end="settled")


def _lasts_s(load: model.Load | None, speed: float) -> float:
    """An open loop lasts as long as it was told; the others as long as the service takes."""
    profile = load.profile if load else None
    return profile.whole_s if isinstance(profile, model.OpenLoad) else N_REQUESTS / speed


def artifact_bytes(name: str) -> int:
    return 7_000_000 if name.startswith("go") else 12_000_000


def artifact_sha256(name: str) -> str:
    return name.encode().hex().ljust(64, "0")[:64]
