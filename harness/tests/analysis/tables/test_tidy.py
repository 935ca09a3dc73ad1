# SPDX-License-Identifier: Apache-2.0
"""Raw to Parquet: what enters, what is counted out, what is kept, and what damage does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.summaries import summarise
from harness.analysis.tables import tidy as tidy_module
from harness.analysis.tables.load import load_exclusions, load_requests, load_samples, load_trials
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.import_closure import closure, module_path
from harness.model import (
    Boundary,
    ClockReading,
    ClosedLoad,
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
from harness.project import find_root
from harness.store import SessionFolder, SessionWriter
from harness.store.writing import TrialFolder
from harness.tests.support.oha_output import oha_db

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


def header(profile: str, seed: int) -> SessionHeader:
    definition = experiment()
    machine = Machine(
        hostname_hash="h", cpu_model="c", n_cpus=2, memory_bytes=1, kernel="k", distribution="d", cgroup="v2",
        virtualisation=None, descriptor_limit=1024, small=True,
    )  # fmt: skip
    provenance = Provenance(
        commit=None, dirty=None, definition_sha256="", lock_sha256="", machine=machine, tools={},
        python_packages={}, started_epoch_s=EPOCH, clock_source=None,
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


def make_session(
    root: Path,
    *,
    profile: str = "smoke",
    seed: int = 1,
    bundled: bool = False,
    failing: str = "",
    leave_out: str = "",
    write: Callable[[TrialFolder, float, int], object] = write_load,
) -> SessionFolder:
    head = header(profile, seed)
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
        writer.finish(trial, record(planned, head, Outcome.FAILED if fails else Outcome.OK))
    writer.close()
    return writer.session


def trial_ids(session: SessionFolder) -> list[str]:
    return [trial.trial_id for trial in session.header.plan.trials]


def test_a_trial_becomes_a_row_with_its_units(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    result = tidy(tmp_path)
    rows = load_trials(tmp_path, "toy")
    assert len(rows) == len(trial_ids(session)) == result.n_fresh == 10
    row = rows.iloc[0]
    assert row["throughput_per_s"] == pytest.approx(390 / 4.0), "correct answers only"
    assert row["cpu_s_per_request"] == pytest.approx(0.5 * 4 / 400)
    assert row["service_cores"] == pytest.approx(0.5)
    assert row["generator_cores"] == pytest.approx(0.25)
    assert (row["rss_before_bytes"], row["rss_after_bytes"], row["pss_after_bytes"]) == (1000, 1700, 1699)
    assert row["rss_max_bytes"] == 1600, "the highest while the load ran, not after it"
    assert row["headroom_ratio"] == 3.0
    assert row["configuration"].startswith(row["variant"])
    assert np.isnan(row["latency_p999_s"]), "400 requests cannot tell p99.9"
    assert np.isnan(row["build_s"]) and np.isnan(row["steal_s"]), "what is not known is empty, not zero"


def test_latency_is_of_correct_answers_only(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    tidy(tmp_path)
    trial = trial_ids(session)[3]
    requests = load_requests(tmp_path, "toy", session.folder.name, trial)
    row = load_trials(tmp_path, "toy").set_index("trial_id").loc[trial]
    right = np.sort(requests.loc[requests["ok"], "latency_s"])
    assert len(requests) == 400 and len(right) == 390
    assert row["latency_mean_s"] == pytest.approx(right.mean())
    assert row["latency_p99_s"] == right[int(np.ceil(390 * 0.99)) - 1]
    assert list(requests.columns) == ["start_epoch_s", "latency_s", "ok", "label"]


def test_times_since_the_tools_own_start_are_placed_where_its_summary_says(tmp_path: Path) -> None:
    """oha's rows begin near zero; the record says that the first request was sent at second 2."""

    def write_oha(trial: TrialFolder, factor: float, seed: int) -> None:
        write_load(trial, factor, seed)
        (trial.load / "samples.jtl").unlink()
        rows = [
            (0.25 + 0.01 * i, None, 0.06 * factor, 500 if i % 40 == 0 else 200) for i in range(N_REQUESTS)
        ]
        oha_db(trial.load / "samples.db", rows)

    session = make_session(tmp_path, write=write_oha)
    assert not tidy(tmp_path).experiments[0].excluded
    requests = load_requests(tmp_path, "toy", session.folder.name, trial_ids(session)[0])
    assert requests is not None
    assert requests["start_epoch_s"].min() == pytest.approx(EPOCH + 2)
    assert requests["start_epoch_s"].max() == pytest.approx(EPOCH + 2 + 0.01 * (N_REQUESTS - 1))
    assert int((~requests["ok"]).sum()) == 10


def test_samples_are_joined_to_the_launch_and_absent_stays_absent(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    tidy(tmp_path)
    samples = load_samples(tmp_path, "toy", session.folder.name, trial_ids(session)[0])
    assert samples["since_launch_s"].iloc[0] == pytest.approx(1.0)
    assert samples.loc[samples["role"] == "service", "n_descriptors"].isna().all()


def test_a_second_call_reads_nothing_again_and_gives_the_same_bytes(tmp_path: Path) -> None:
    make_session(tmp_path)
    tidy(tmp_path)
    trials = tmp_path / "data" / "processed" / "toy" / "trials.parquet"
    before = trials.read_bytes()
    again = tidy(tmp_path)
    assert (again.n_fresh, again.n_unchanged) == (0, 10)
    assert trials.read_bytes() == before


def test_changed_code_makes_every_table_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_session(tmp_path)
    tidy(tmp_path)
    monkeypatch.setattr(tidy_module, "_code_hash", lambda: "another make")
    assert tidy(tmp_path).n_fresh == 10


def test_editing_any_module_that_tidying_imports_makes_every_table_stale(tmp_path: Path) -> None:
    root = find_root(Path(__file__).parent)
    sources = tmp_path / "sources"
    shutil.copytree(
        root / "harness", sources / "harness", ignore=shutil.ignore_patterns("tests", "__pycache__")
    )
    before = tidy_module._code_hash(sources)
    assert before == tidy_module._code_hash(), "the same code gives the same hash at any place"
    for module in closure(root, {tidy_module.__name__}):
        path = module_path(sources, module)
        assert path is not None
        text = path.read_text("utf-8")
        path.write_text(f"{text}# changed\n", "utf-8")
        assert tidy_module._code_hash(sources) != before, module
        path.write_text(text, "utf-8")
    assert tidy_module._code_hash(sources) == before


def test_every_module_that_a_process_loads_to_tidy_is_one_whose_change_is_noticed() -> None:
    """Packages may be loaded on the way to their modules: what they hold themselves makes no table."""
    program = (
        f"import sys, {tidy_module.__name__}\n"
        "print(*(n for n, m in sys.modules.items() if n.startswith('harness.') and not hasattr(m, '__path__')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert tidy_module.__name__ in loaded
    assert loaded <= set(closure(find_root(Path(__file__).parent), {tidy_module.__name__}))


def test_a_table_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    tidy(tmp_path)
    trial = trial_ids(session)[2]
    (tmp_path / "data/processed/toy/requests" / session.folder.name / f"{trial}.parquet").unlink()
    assert tidy(tmp_path).n_fresh == 1
    assert len(load_requests(tmp_path, "toy", session.folder.name, trial)) == 400


def test_failed_and_unmade_trials_are_counted_by_reason(tmp_path: Path) -> None:
    ids = [t.trial_id for t in header("smoke", 1).plan.trials]
    make_session(tmp_path, failing=ids[1], leave_out=ids[4])
    tidy(tmp_path)
    found = load_exclusions(tmp_path, "toy")
    assert (found.n_planned, found.n_made, found.n_kept, found.n_excluded) == (10, 9, 8, 1)
    assert found.by_reason == {"failed": 1, "not made": 1}
    row = load_trials(tmp_path, "toy").set_index("trial_id").loc[ids[1]]
    assert row["excluded"] and row["exclusion_reason"] == "failed: the service ended"


@pytest.mark.parametrize("how", ["record", "cut", "same length", "missing"])
def test_a_damaged_trial_is_counted_not_fatal(tmp_path: Path, how: str) -> None:
    session = make_session(tmp_path)
    trial = trial_ids(session)[0]
    stored = session.path(trial, "load/samples.jtl")
    if how == "record":
        (session.folder / trial / "record.json").write_text("{", "utf-8")
    elif how == "cut":
        stored.write_bytes(stored.read_bytes()[:-20])
    elif how == "same length":
        packed = bytearray(stored.read_bytes())  # as the store keeps it, which may be compressed
        packed[len(packed) // 2] ^= 1
        stored.write_bytes(packed)
    else:
        stored.unlink()
    tidy(tmp_path)
    found = load_exclusions(tmp_path, "toy")
    assert found.by_reason == {"damaged": 1}
    assert found.n_kept == 9
    assert found.excluded[0].trial == f"toy/smoke-local-1/{trial}"


def test_a_damaged_header_costs_its_session_only(tmp_path: Path) -> None:
    broken = make_session(tmp_path, seed=1)
    make_session(tmp_path, seed=2)
    (broken.folder / "session.json").write_text("[]", "utf-8")
    tidy(tmp_path)
    assert len(load_trials(tmp_path, "toy")) == 10
    assert "session.json" in load_exclusions(tmp_path, "toy").problems[0]


def test_the_profile_chooses_between_measured_and_bundled(tmp_path: Path) -> None:
    make_session(tmp_path, bundled=True)
    tidy(tmp_path)
    assert set(load_trials(tmp_path, "toy")["source"]) == {"bundled"}, "all there is"
    with pytest.raises(InputError, match="allowed: sample"):
        load_trials(tmp_path, "toy", "smoke")
    make_session(tmp_path)
    tidy(tmp_path)
    assert set(load_trials(tmp_path, "toy")["source"]) == {"measured"}
    assert set(load_trials(tmp_path, "toy", "sample")["source"]) == {"bundled"}
    assert set(load_trials(tmp_path, "toy", "smoke")["source"]) == {"measured"}
    with pytest.raises(InputError, match="allowed: sample, smoke"):
        load_trials(tmp_path, "toy", "full")


def test_what_is_missing_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="harness tidy"):
        load_trials(tmp_path, "toy")
    with pytest.raises(InputError, match="toy: no session of this experiment"):
        tidy(tmp_path, ["toy"])
    assert tidy(tmp_path).experiments == ()


def test_a_factor_named_like_a_standard_column_keeps_both(tmp_path: Path) -> None:
    make_session(tmp_path)
    tidy(tmp_path)
    rows = load_trials(tmp_path, "toy")
    assert set(rows["generator"]) == set(rows["factor_generator"]) == {"jmeter"}


def test_from_raw_to_a_comparison_that_names_its_trials(tmp_path: Path) -> None:
    make_session(tmp_path, profile="quick", bundled=True)
    tidy(tmp_path)
    rows = load_trials(tmp_path, "toy", "sample")
    found = compare(rows, "latency_mean_s", reference="go-nethttp", by=("logging",))
    assert sorted(c.levels["logging"] for c in found) == ["off", "on"]
    for comparison in found:
        assert comparison.ratio.value == pytest.approx(1.3, abs=0.05)
        assert comparison.ratio.n_trials == 5
        assert all(name.startswith("bundled/toy/quick-local-1/") for name in comparison.ratio.inputs)
    assert aa_noise(rows, "latency_mean_s").n_blocks == 10, "five blocks in each of two cells"
    assert len(summarise(rows, "throughput_per_s", by=("variant", "logging"))) == 4
    assert json.loads((tmp_path / "data/processed/bundled/toy/exclusions.json").read_text())["n_kept"] == 30
