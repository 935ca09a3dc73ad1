# SPDX-License-Identifier: Apache-2.0
"""One trial: whatever the service or the generator does, it ends with a record, and nothing lives on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness import model
from harness.agent.platforms import usable_cpus
from harness.agent.sampler import Subject
from harness.loadgen.base import LoadSpec
from harness.measure.runner import Limits
from harness.measure.runner.outcome import judge_load, trial_flags
from harness.measure.session import measure
from harness.places.launchers.base import Instance
from harness.store import SessionFolder
from harness.tests.support import sessions
from harness.tests.support.fakes import CLIENT, FakeLoadGenerator
from harness.tests.support.instances import eventually

#: What shall be ended is ended soon.
SHORT = replace(sessions.LIMITS, ready_s=5.0, load_extra_s=3.0)

#: Variants that misbehave under the limits of every test, and what each is told.
MISBEHAVING = {
    "fails-to-start": 'fail_start = "no such database"',
    "port-always-taken": 'port_taken = "always"',
    "port-taken-once": 'port_taken = "once"',
    "wrong-in-conformance": "wrong_answers = 1",
    "wrong-under-load": "wrong_answers = 7",
    "wrong-now-and-then": "wrong_answers = 12",
    "crashes-under-load": "crash_after = 6",
    "out-of-memory": "memory_error_after = 6",
    "killed": "killed_after = 6",
    "hangs-on-stop": 'hang_on_stop = "true"',
    "with-a-child": 'child = "true"',
}
#: Variants that take too long.
SLOW = {"silent": 'never_ready = "silent"', "slow-under-load": "slow_s = 0.35"}


def lay_out(root: Path, variants: Mapping[str, str], *, loops: int = 5) -> Path:
    """Lay out the tiny project with these variants beside the calm one; each is told something, as TOML."""
    sessions.make_session_project(root, loops=loops)
    file = root / "harness" / "experiments" / "tiny.toml"
    head, _, rest = file.read_text().partition("\n[variants.other]")
    tables = "".join(
        f'\n[variants.{name}]\nimplementation = "misbehaving"\nsettings = {{ {told} }}\n'
        for name, told in variants.items()
    )
    file.write_text(f"{head}{tables}\n{rest[rest.index('[profiles.smoke]') :]}")
    return root


def measured(root: Path, limits: Limits = sessions.LIMITS) -> dict[str, model.TrialRecord]:
    """Measure the tiny experiment; return variant -> its record, of all but the calm one."""
    folder = sessions.measure_whole(sessions.tiny_assembly(root), limits)
    assert not list((root / ".cache" / "running").glob("*.json"))
    calm = [record for record in folder.records() if record.planned.configuration.variant_name == "calm"]
    assert [record.outcome for record in calm] == [model.Outcome.OK, model.Outcome.OK]
    assert {record.extra["ticks_by"] for record in calm} == {"interpreter"}
    named = {record.planned.configuration.variant_name: record for record in folder.records()}
    return {name: record for name, record in named.items() if name != "calm"}


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> dict[str, model.TrialRecord]:
    """The records of one session of all that misbehave."""
    return measured(lay_out(tmp_path_factory.mktemp("misbehaving"), MISBEHAVING))


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, model.TrialRecord]:
    """The records of one session of all that take too long, under short limits."""
    return measured(lay_out(tmp_path_factory.mktemp("slow"), SLOW, loops=20), SHORT)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SessionFolder]:
    """A project and its session, in which everything is as it should be."""
    root = sessions.calm_alone(
        sessions.make_session_project(tmp_path_factory.mktemp("good"), echo=True, loops=1500)
    )
    return root, sessions.measure_tiny(root)


@pytest.mark.parametrize(
    ("variant", "outcome", "words"),
    [
        ("fails-to-start", model.Outcome.FAILED, "exited with 3.*no such database"),
        ("port-always-taken", model.Outcome.FAILED, "port.*taken"),
        ("port-taken-once", model.Outcome.OK, None),
        ("wrong-in-conformance", model.Outcome.NONCONFORMING, "1 of 6 cases: hello: expected"),
        ("crashes-under-load", model.Outcome.FAILED, "while under load.*exit code 2.*told to crash"),
        ("out-of-memory", model.Outcome.OUT_OF_MEMORY, "while under load.*MemoryError"),
        ("killed", model.Outcome.FAILED, "signal 9, which another program sent, or the kernel"),
        ("wrong-under-load", model.Outcome.OVERLOADED, "requests went wrong"),
        ("wrong-now-and-then", model.Outcome.OK, None),
        ("hangs-on-stop", model.Outcome.OK, None),
        ("with-a-child", model.Outcome.OK, None),
    ],
)
def test_misbehaviour_is_an_outcome_with_its_reason(
    misbehaving: dict[str, model.TrialRecord], variant: str, outcome: model.Outcome, words: str | None
) -> None:
    record = misbehaving[variant]
    assert record.outcome == outcome
    assert (record.reason is None) == (words is None) and "\n" not in (record.reason or "")
    assert re.search(words or "", record.reason or "")
    assert ("errors_seen" in record.flags) == (variant in ("wrong-under-load", "wrong-now-and-then"))
    killed = record.instance is not None and record.instance.stop_signal == "SIGKILL"
    assert killed == ("killed_on_stop" in record.flags) == (variant == "hangs-on-stop")


def test_a_service_that_is_never_ready_times_out(slow: dict[str, model.TrialRecord]) -> None:
    silent, slow_load = slow["silent"], slow["slow-under-load"]
    assert (silent.outcome, slow_load.outcome) == (model.Outcome.TIMED_OUT, model.Outcome.TIMED_OUT)
    assert silent.load is None and silent.start_up is None
    assert "the load took longer than" in (slow_load.reason or "")


def test_a_signal_after_the_launch_leaves_no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(instance: Instance) -> Subject:
        assert instance.exited() is None
        raise KeyboardInterrupt

    root = sessions.make_session_project(tmp_path)
    monkeypatch.setattr("harness.measure.runner.trial.watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sessions.measure_tiny(root)
    assert not sessions.running_below(root)


def test_a_killed_generator_is_a_failed_trial_that_says_so(tmp_path: Path) -> None:
    root = sessions.make_session_project(tmp_path, other="slow_s = 0.2", loops=10)
    killer = threading.Thread(target=_kill_generator_of_other, args=(root,))
    killer.start()
    record = measured(root)["other"]
    killer.join()
    assert record.outcome == model.Outcome.FAILED
    assert record.reason == "the load generator was killed by signal 9"


def _kill_generator_of_other(root: Path) -> None:
    """Wait until the slow variant is under load, then kill its generator alone."""

    def generator() -> int | None:
        words = b""
        for pid in sessions.running_below(root):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            argv = words.split(b"\0")  # before it is executed, all of this stands in one word of the stub
            if argv[3:4] == [bytes(CLIENT)] and b"-other/load" in argv[4]:
                return pid
        return None

    assert eventually(lambda: generator() is not None, within_s=30)
    pid = generator()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_a_good_trial_has_everything_a_reader_asks_for(good: tuple[Path, SessionFolder]) -> None:
    _, folder = good
    for record in folder.records():
        names = [phase.name for phase in record.phases]
        assert names == ["start-up", "conformance", "measurement", "cool-down"]
        starts = [phase.start.monotonic_s for phase in record.phases]
        assert starts == sorted(starts)
        boundaries = [boundary.name for boundary in record.boundaries]
        assert boundaries == ["first-response", "before-load", "after-load"]
        for boundary in record.boundaries:
            assert boundary.reading.rss_bytes and boundary.reading.pss_bytes
            if boundary.name == "first-response":  # asking would wake what start-up is compared without
                assert boundary.runtime_metrics_file is None
                continue
            assert boundary.runtime_metrics_file is not None
            assert folder.open(record.planned.trial_id, boundary.runtime_metrics_file).read()
        assert record.load is not None and record.load.n_requests == 3000
        assert record.generator is not None and record.generator.cpu_s is not None
        assert record.generator.headroom_ratio == pytest.approx(
            folder.echo()[0].achieved_per_s / record.load.achieved_per_s
        )
        echo_s = folder.echo()[0].latency_quantiles_s
        assert 0 < echo_s["p50"] <= echo_s["p99"] and (folder.echo()[0].latency_mean_s or 0) > 0
        assert record.machine is not None and record.placement
        assert {one.cpu for one in record.cpu_speeds} == set(usable_cpus())
        assert len(record.anchors) == 2
        rows = folder.open(record.planned.trial_id, "samples.csv").read().decode().splitlines()
        assert {row.split(",")[1] for row in rows[1:]} == {"service", "generator"}


def test_no_place_of_this_machine_stands_in_the_data(good: tuple[Path, SessionFolder]) -> None:
    root, folder = good
    for path in folder.folder.rglob("*"):
        if path.is_file() and path.suffix != ".gz":
            assert os.fsencode(root) not in path.read_bytes(), path
    for record in folder.records():
        assert record.instance is not None
        assert record.instance.argv[0] == "{python_env}/bin/python"


def summary(n: int, errors: int, offered: float | None = None, **changes: Any) -> model.LoadSummary:
    return model.LoadSummary(
        n_requests=n, n_errors=errors, start_epoch_s=None, duration_s=1.0, offered_per_s=offered,
        achieved_per_s=changes.pop("achieved", 100.0), latency_mean_s=None, resolution_s=1e-3, has_requests=False,
    ).model_copy(update=changes)  # fmt: skip


@pytest.mark.parametrize(
    ("load", "outcome"),
    [
        (summary(0, 0), model.Outcome.FAILED),
        (summary(100, 50), model.Outcome.OK),
        (summary(100, 51), model.Outcome.OVERLOADED),
        (summary(100, 0, offered=200.0), model.Outcome.OK),
        (summary(100, 0, offered=201.0), model.Outcome.OVERLOADED),
        (summary(100, 10, offered=190.0), model.Outcome.OVERLOADED),
        # all answered, and late; or more never sent than answered
        (summary(100, 0, offered=100.0, achieved=20.0, n_dropped=0), model.Outcome.OK),
        (summary(100, 0, offered=100.0, achieved=20.0, n_dropped=101), model.Outcome.OVERLOADED),
    ],
)
def test_more_than_half_wrong_or_unanswered_is_overloaded(
    load: model.LoadSummary, outcome: model.Outcome
) -> None:
    assert judge_load(load)[0] == outcome


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        # seven steps, and the last of them always answers 200 with the wrong balance: one request in seven is wrong
        (summary(70, 10), "10 of 10 passes went wrong (10 wrong body)"),
        (summary(70, 5), None),
        # users were still on their way when the load ended: neither right nor wrong
        (summary(20, 2), None),
        (summary(70, 5, offered=70.0), None),
        (summary(70, 4, offered=70.0, n_flows_right=4, n_dropped=2),
         "4 of 12 arrivals went rightly through all steps (4 wrong body)"),
        (summary(70, 0, offered=150.0, achieved=70.0), "70 of 150 requests/s of its arrivals answered"),
    ],
)  # fmt: skip
def test_a_flow_is_judged_by_passes_and_names_what_was_wrong(
    load: model.LoadSummary, reason: str | None
) -> None:
    right = 10 - load.n_errors if load.n_flows_right is None else load.n_flows_right
    kinds = {"wrong body": load.n_errors} if load.n_errors else {}
    load = load.model_copy(update={"n_flows": 10, "n_flows_right": right, "errors_by_kind": kinds})
    assert judge_load(load) == (model.Outcome.OK if reason is None else model.Outcome.OVERLOADED, reason)


def flags_of(load: model.LoadSummary, generator: str, other_cpu_s: float, wait_s: float | None) -> set[str]:
    """The flags of ten seconds of load by a generator that used a whole CPU of its own."""
    window = dict.fromkeys(model.MachineWindow.model_fields, None) | {"other_cpu_s": other_cpu_s}
    begun, ended = (model.ClockReading(wall_epoch_s=at, monotonic_s=at) for at in (0.0, 10.0))
    record = model.GeneratorRecord(
        name=generator, version=None, argv=(), cpu_affinity=(1,), cpu_s=10.0, exit_code=0,
        echo_achieved_per_s=1000.0, headroom_ratio=1.5,
    )  # fmt: skip
    flags = trial_flags(
        load=load, generator=record, instance=None, machine=model.MachineWindow.model_validate(window),
        longest_gap_s=None, phases=(model.Phase(name="measurement", start=begun, end=ended),), shared=True,
        service_wait_s=wait_s,
    )  # fmt: skip
    return {str(flag) for flag in flags} - {"noisy_machine", "shared_cores"}


@pytest.mark.parametrize(
    ("changes", "generator", "wait_s", "other_cpu_s", "flagged"),
    [
        ({"n_dropped": None}, "metronome", None, 0.0, set()),
        ({"n_dropped": 0}, "metronome", None, 0.0, set()),
        ({"n_dropped": 1}, "metronome", None, 0.0, set()),
        ({"n_dropped": 2}, "metronome", None, 0.0, {"arrivals_dropped"}),
        ({"late_share": None}, "metronome", None, 9.0, set()),
        ({"late_share": 0.005}, "metronome", 0.4, 9.0, set()),
        # a service's threads that wait for each other are nobody else's doing
        ({"late_share": 0.006}, "metronome", 9.0, 0.4, {"generator_late"}),
        ({"late_share": None}, "metronome", 0.6, 0.6, {"service_waited"}),
        ({}, "k6", None, 0.0, {"generator_bottleneck"}),  # one that sleeps should not use a whole CPU
    ],
)
def test_loads_are_flagged_by_what_they_dropped_by_lateness_and_by_waiting(
    changes: dict[str, Any], generator: str, wait_s: float | None, other_cpu_s: float, flagged: set[str]
) -> None:
    load = summary(1000, 0, offered=1000.0, achieved=1000.0, **changes)
    assert flags_of(load, generator, other_cpu_s, wait_s) == flagged


@dataclass(frozen=True, kw_only=True)
class Afterwards(FakeLoadGenerator):
    """The fake, with a command to be run when the load is over."""

    last: tuple[str, ...] = ()

    def after(self, spec: LoadSpec) -> tuple[tuple[str, ...], ...]:
        return (self.last,)


RENAME = "import os; os.rename('samples.csv', 'x'); os.rename('x', 'samples.csv'); open('done', 'w').close()"


@pytest.mark.parametrize(
    ("code", "words"), [(RENAME, None), ("raise SystemExit('no such encoding')", "no such encoding")]
)
def test_what_a_tool_does_afterwards_may_fail_its_trial(tmp_path: Path, code: str, words: str | None) -> None:
    assembly, prepared = sessions.tiny_session(sessions.make_session_project(tmp_path))
    after = (sys.executable, "-c", code)
    assembly = replace(assembly, generators={"locust": lambda: Afterwards(last=after)})
    first = prepared.plan.model_copy(update={"trials": prepared.plan.trials[:1]})
    (record,) = measure(assembly, replace(prepared, plan=first), limits=sessions.LIMITS).records()
    if words is None:
        assert record.outcome == model.Outcome.OK and "load/done" in record.files
    else:
        assert record.outcome == model.Outcome.FAILED
        assert re.search(f"after the load.*{words}", record.reason or "")
