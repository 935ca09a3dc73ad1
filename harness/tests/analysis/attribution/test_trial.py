# SPDX-License-Identifier: Apache-2.0
"""The pauses behind a trial on the clock of its requests, and the causes beside them; what nobody recorded is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from harness.analysis.attribution import log_clock
from harness.analysis.attribution.share_of_quantile import pooled_and_without
from harness.analysis.attribution.spans import CauseName, attribute_latency
from harness.analysis.attribution.table import attribution_table
from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.gc_events import GcLog
from harness.formats.jfr_json import read_jfr_json
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import LastCollection
from harness.measure.runner.snapshots import keep_recording
from harness.model import ClockReading, DuetRecord, HostClock, LimitsRecord, TrialRecord
from harness.places.hosts.base import Command
from harness.places.hosts.local import LocalHost
from harness.places.launchers.arguments import recording_flags
from harness.store import SessionFolder
from harness.tests.support.available import patient
from harness.tests.support.generated_jtl import report_file
from harness.tests.support.synthetic import make_session
from harness.tests.support.synthetic_pauses import pauses_of, requests_behind
from harness.tests.support.tools_here import reference_jdk

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
LAUNCHED = ClockReading(wall_epoch_s=1.7e9, monotonic_s=100.0)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A made-up smoke session: Java pauses 25 ms seven times a trial, Go a tenth of a millisecond."""
    return make_session(tmp_path_factory.mktemp("peaks"), "gc-peaks", "smoke")


@pytest.fixture(scope="module")
def record(session: SessionFolder) -> TrialRecord:
    return session.record(min(session.finished()))


def requests_of(session: SessionFolder, trial: str) -> pd.DataFrame:
    table = read_any(session.path(trial, "load/samples.jtl"))
    return table.to_frame()  # type: ignore[union-attr]  # a JTL has single requests


def trial_of(session: SessionFolder, variant: str) -> str:
    return min(trial for trial in session.finished() if trial.endswith(variant))


def attributed(session: SessionFolder, variant: str = "serial-3x") -> TrialAttribution:
    trial = trial_of(session, variant)
    return attribute_trial(session, trial, requests_of(session, trial))


def without_pauses(folder: Path) -> SessionFolder:
    """A session whose Java service left a log without a pause, so that its stalls have no cause yet."""
    session = make_session(folder, "gc-peaks", "smoke")
    trial = trial_of(session, "serial-3x")
    for name in ("gc.log", "load/generator-gc.log"):
        with session.open(trial, name) as stream:
            first_line = stream.readline().decode()
        session.path(trial, name).unlink()
        (session.folder / trial / name).write_text(first_line, "utf-8")
    return session


def test_a_real_go_log_is_placed_by_the_launch_and_says_how_well() -> None:
    log = read_runtime_log(GOLDEN / "gctrace" / "go1.26.log")
    found = log_clock.placed(log, LAUNCHED)
    first = found.events["gc_pause"][0]
    assert first[0] - 1.7e9 == pytest.approx(log.events[0].start_s, abs=1e-6)
    assert found.placed_within_s is not None and found.placed_within_s > log_clock.LAUNCH_TO_CLOCK_S
    assert log_clock.placed(log, None).refused is not None
    shifted = log_clock.placed(log, LAUNCHED, clock=log_clock.ClockShift(shift_s=-5.0, within_s=2e-4))
    for cause, spans in found.events.items():
        assert np.allclose(np.array(spans) - 5.0, np.array(shifted.events[cause]), rtol=0, atol=1e-6)
    assert shifted.placed_within_s == pytest.approx(found.placed_within_s + 2e-4)


def end_of(log: GcLog, number: int, start_s: float, late_s: float = 0.0004) -> LastCollection:
    """What /metrics says after collection ``number``, which the log's rounding says ``late_s`` too early."""
    cycle = next(cycle for cycle in log.cycles if cycle.gc_id == number)
    return LastCollection(number=number, ended_epoch_s=start_s + cycle.end_s + late_s)


def test_a_log_and_metrics_of_two_processes_are_not_joined() -> None:
    log = read_runtime_log(GOLDEN / "gctrace" / "go1.26.log")
    assert log_clock.runtime_start(log, [end_of(log, 20, 1.7e9), end_of(log, 100, 1.7e9 + 0.5)]) is None
    assert log_clock.runtime_start(log, [LastCollection(number=10**6, ended_epoch_s=1.7e9)]) is None
    other = log_clock.placed(log, LAUNCHED, reported=[end_of(log, 20, LAUNCHED.wall_epoch_s - 60)])
    assert "not of the process that was launched" in (other.refused or "")


def test_what_pauses_took_from_p99_is_found(session: SessionFolder) -> None:
    one = attributed(session)
    assert one.refused is None
    assert one.n_pauses == 7
    assert one.longest_pause_s == pytest.approx(0.025, abs=1e-4)
    share = 1 - float(pooled_and_without([one.without_pauses[0].clear], 0.99)[0]) / one.latency_s["p99"]
    # without a pause p99 is that of the lognormal law the requests were drawn from
    bare = 0.003 * np.exp(0.3 * 2.326)
    assert share == pytest.approx(1 - bare / one.latency_s["p99"], abs=0.06)
    assert share <= one.most_share["p99"]
    assert one.most_share["p99"] == pytest.approx(0.025 / one.latency_s["p99"], abs=1e-3)


def test_gos_short_pauses_are_placed_and_their_shares_have_intervals(session: SessionFolder) -> None:
    one = attributed(session, "go-gogc-100")
    assert one.refused is None
    record = session.record(trial_of(session, "go-gogc-100"))
    within_s = log_clock.service_log(session, record).placed_within_s
    assert within_s is not None and within_s < 1.1e-3
    assert one.n_pauses == 14  # each collection stops the world twice
    assert len(one.without_pauses) == 3, "they are short against what their place is known to"
    p99 = [pooled_and_without([place.unpaused], 0.99)[0] for place in one.without_pauses]
    assert min(p99) > 0.95 * one.latency_s["p99"]  # a tenth of a millisecond cannot be more of several
    # the log cut the starts; what was laid over requests is where the pauses were, to what is said
    begin_s = next(phase for phase in record.phases if phase.name == "measurement").start.wall_epoch_s
    truth = pauses_of(begin_s, 0.0001)
    laid = sorted(one.events["gc_pause"])[::2]
    for (low, _), (true_low, _) in zip(laid, truth, strict=True):
        assert abs(low - true_low) <= within_s


def test_badly_placed_pauses_are_bounded(session: SessionFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.analysis.attribution.log_clock.last_collections", lambda *_: ())
    one = attributed(session, "go-gogc-100")
    assert "cannot be placed" in (one.refused or "")
    assert one.without_pauses == () and "gc_pause" not in one.events and one.n_pauses == 14
    assert 0 < one.most_share["p99"] < 0.05
    (row,) = attribution_table([one])
    assert row.numbers["share"].value is None
    assert row.numbers["unexplained_tail"].value is None  # what could not be placed is not called unexplained
    assert row.numbers["most_share"].value is not None


def test_no_pause_is_laid_over_moved_clocks(session: SessionFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    record = session.record(trial_of(session, "serial-3x"))
    about = {"partner": "0002-go", "cpus": (0,), "partner_cpus": (1,), "file": "exchanges.csv"}
    duet = DuetRecord.model_validate({**about, "interval_s": 0.5, "n_exchanges": 4})
    assert log_clock.wall_step_s(record) == pytest.approx(0, abs=1e-6)
    in_duet = (
        record.model_copy(update={"duet": duet}),
        "in a duet the other arm and the exchanges of CPUs stop",
    )
    for changed, words in (in_duet, (moved(record, 0.5), "the wall clock was moved by 500.0 ms")):
        monkeypatch.setattr(SessionFolder, "record", lambda *_, changed=changed: changed)
        one = attributed(session)
        assert (one.refused or "").startswith(words)
        assert one.without_pauses == () and "gc_pause" not in one.events


def test_a_quantile_with_too_few_requests_beyond_it_is_not_said(session: SessionFolder) -> None:
    one = attributed(session)
    assert "p99.9" not in one.tail
    (row,) = attribution_table([one], quantile="p99.9")
    share = row.numbers["share"]
    assert share.value is None and "beyond p99.9: " in share.warnings[0]
    assert "too few requests beyond p99.9" in row.numbers["latency_s"].warnings
    with pytest.raises(InputError, match="quantile: .*; found 'p95'; allowed: p99, p99.9"):
        attribution_table([one], quantile="p95")


def test_a_number_that_is_missing_says_why_of_itself_and_not_of_another(session: SessionFolder) -> None:
    one = attributed(session)
    assert not one.excess  # Serial never works beside the program
    (row,) = attribution_table([one.model_copy(update={"rss_bytes": None})])
    assert row.numbers["share"].value is None  # one short trial
    assert row.numbers["share"].warnings[0].startswith("too few requests clear of every pause beyond p99")
    assert row.numbers["cycle_excess"].warnings == ("no collection at work beside the program",)
    assert row.numbers["rss_bytes"].warnings == ("not read after the load",)
    unknown = dict.fromkeys(("n_pauses", "paused_s", "longest_pause_s", "n_collections", "cycles_per_s"))
    (row,) = attribution_table([one.model_copy(update={**unknown, "refused": "there is no gc.log"})])
    for name in ("pauses_per_s", "paused_share", "longest_pause_s", "collections", "cycles_per_s"):
        assert row.numbers[name].warnings == ("there is no gc.log",)


def moved(record: TrialRecord, by_s: float) -> TrialRecord:
    """The record as if the wall clock had been set by ``by_s`` while the load ran."""

    def later(clock: ClockReading) -> ClockReading:
        return clock.model_copy(update={"wall_epoch_s": clock.wall_epoch_s + by_s})

    last = record.phases[-1]
    phases = (*record.phases[:-1], last.model_copy(update={"end": later(last.end)}))
    anchors = (later(record.ended),)
    return record.model_copy(update={"phases": phases, "ended": later(record.ended), "anchors": anchors})


def test_a_log_that_is_gone_or_unreadable_is_said_and_a_denied_cpu_is_bounded(tmp_path: Path) -> None:
    session = make_session(tmp_path, "gc-peaks", "smoke")
    trial = trial_of(session, "serial-3x")
    record, path = session.record(trial), session.path(trial, "gc.log")
    path.unlink()
    rows = [f"{record.started.monotonic_s + half / 2},{half},{half * 0.1}" for half in range(12)]
    machine = "\n".join(["monotonic_s,n_throttled,throttled_s", *rows]) + "\n"
    (session.folder / trial / "machine.csv").write_text(machine, "utf-8")
    gone = attribute_trial(session, trial, requests_of(session, trial))
    assert gone.n_pauses is None and gone.refused is not None and gone.without_pauses == ()
    assert "p99" in gone.tail  # the generator's log is still there
    assert gone.most_beside["p99"]["cgroup_throttle"] > 0
    assert record.instance is not None  # what is read of the harness's groups says nothing of another one
    limits = LimitsRecord(enforced_by="cgroup v1", cpu_quota=0.25, memory_limit_bytes=2**28)
    limited = record.model_copy(update={"instance": record.instance.model_copy(update={"limits": limits})})
    with pytest.raises(InputError, match="a control group of its own"):
        log_clock.throttling(session, limited)
    path.with_name("gc.log").write_text("no log at all\n")
    assert "no log of a JVM" in (log_clock.service_log(session, record).refused or "")


def test_metronome_pauses_where_it_held_up_a_request(tmp_path: Path) -> None:
    session = make_session(tmp_path, "gc-peaks", "smoke")
    trial = trial_of(session, "serial-3x")
    record = session.record(trial)
    cell = record.planned.configuration
    assert cell.load is not None
    load = cell.load.model_copy(update={"generator": "metronome"})
    planned = record.planned.model_copy(update={"configuration": cell.model_copy(update={"load": load})})
    record = record.model_copy(update={"planned": planned})
    rows = [
        "100.000,0.0010,true,a,,0.0009,0.00004",  # in time
        "200.000,0.0050,true,a,,0.0030,0.00200",  # sent 2 ms after it was due
        "200.001,0.0050,true,a,,0.0040,0.00100",  # meanwhile
        "300.000,0.0090,true,a,,0.0030,0.00100",  # waited 5 ms for a connection, then 1 ms
    ]
    head = "due_epoch_s,latency_s,ok,name,error,service_time_s,send_delay_s"
    (session.folder / trial / "load/samples.csv").write_text("\n".join([head, *rows, ""]), "utf-8")
    log = log_clock.generator_log(session, record)
    (first, second) = log.events["generator_stall"]
    assert first == pytest.approx((200.0, 200.002)) and second == pytest.approx((300.005, 300.006))
    assert log.placed_within_s == 0 and log.refused is None


def test_the_table_has_an_interval_over_trials_and_counts_what_was_refused(session: SessionFolder) -> None:
    trials = sorted(session.finished())
    every = {trial: attribute_trial(session, trial, requests_of(session, trial)) for trial in trials}
    with_pair = {row.variant: row for row in attribution_table(list(every.values()))}["go-gogc-100"]
    assert with_pair.n_trials == 4 and with_pair.numbers["paused_share"].low is not None
    alone = attribution_table([one for trial, one in every.items() if not trial.endswith("-aa")])
    rows = {row.variant: row for row in alone}
    java, go = rows["serial-3x"], rows["go-gogc-100"]
    unexplained = java.numbers["unexplained_tail"]
    assert java.n_trials == unexplained.n_trials == 2
    assert unexplained.low is None and "two trials" in unexplained.warnings[0]
    for row in (java, go):
        parts = (row.numbers[f"{part}_tail"].value for part in ("service", "generator", "unexplained"))
        assert sum(part or 0 for part in parts) == pytest.approx(1)
    assert 0 < (go.numbers["service_tail"].value or 0) < 0.05
    assert go.numbers["cycles_per_s"].value == pytest.approx(7 / 3, rel=0.1)


def _far_clock(role: Literal["service", "load"], host: str, wall_offset_s: float) -> HostClock:
    return HostClock(
        role=role, host=host, at=ClockReading(wall_epoch_s=1e9, monotonic_s=10.0), wall_offset_s=wall_offset_s,
        monotonic_offset_s=7.0, uncertainty_s=2e-4, round_trip_s=4e-4, n_questions=31,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("clocks", "service_s", "launch_s"),
    [
        ((), 0.0, 0.0),
        ((_far_clock("service", "a", 5.0),), -5.0, 0.0),
        ((_far_clock("service", "a", 5.0), _far_clock("load", "a", 5.0)), 0.0, 5.0),
        ((_far_clock("service", "a", 5.0), _far_clock("load", "b", 2.0)), -3.0, 2.0),
        ((_far_clock("load", "b", 2.0),), 2.0, 2.0),
    ],
)
def test_a_far_clock_is_allowed_for_on_the_way_to_the_clock_of_the_requests(
    record: TrialRecord, clocks: tuple[HostClock, ...], service_s: float, launch_s: float
) -> None:
    told = record.model_copy(update={"clocks": clocks})
    assert log_clock.clock_shift(told, "service").shift_s == pytest.approx(service_s)
    assert log_clock.clock_shift(told, None).shift_s == pytest.approx(launch_s)


BEGIN_S = 1_700_000_000.0


def test_connecting_in_a_pause_belongs_to_the_pause_and_only_what_is_more_than_ordinary_counts() -> None:
    start, latency = np.arange(5.0), np.array([0.010, 0.100, 0.100, 0.010, 0.010])
    connect = np.array([0.0, 0.090, 0.090, 0.0, 0.0])
    taken = attribute_latency(start, latency, {"gc_pause": [(1.0, 1.080)]}, connect_s=connect)
    assert taken["gc_pause"] == pytest.approx([0, 0.080, 0, 0, 0])
    assert taken["connect"] == pytest.approx([0, 0.010, 0.090, 0, 0])
    anew = np.array([0.001, 0.001, 0.021, 0.001, 0.001])  # every arrival connects
    taken = attribute_latency(start, 0.001 + anew, {}, connect_s=anew)
    assert taken["connect"] == pytest.approx([0, 0, 0.020, 0, 0])


def test_what_nobody_recorded_is_told_and_is_no_zero(session: SessionFolder) -> None:
    one = attributed(session)
    why: dict[CauseName, str] = {
        "cgroup_throttle": "there is no machine.csv", "jit": "no flight recording",
        "connect": "does not report the time to connect", "run_queue": "there is no machine.csv",
    }  # fmt: skip
    assert set(one.missing) == set(why)
    for cause, words in why.items():
        assert one.missing[cause].startswith("not recorded: ") and words in one.missing[cause]
    assert one.most_beside["p99"] == {}
    assert "connect" not in one.tail["p99"]
    (row,) = attribution_table([one])
    for name in ("connect_tail", "throttle_most", "jit_most", "run_queue_most"):
        assert row.numbers[name].value is None
        assert row.numbers[name].warnings[0].startswith("not recorded: ")
    assert row.numbers["unexplained_tail"].value is not None


def jtl(folder: Path, *, slow: bool) -> Path:
    """Requests that were held up seven times by something of 25 ms; by connecting, if that is slow."""
    frame = requests_behind(BEGIN_S, pauses_of(BEGIN_S, 0.025), np.random.default_rng(5))
    late = np.maximum(frame["elapsed"] - 3, 0) * (frame["elapsed"] > 11)
    path = folder / f"{slow}.jtl"
    frame.assign(Connect=late if slow else 0).to_csv(path, index=False)
    return path


def test_a_report_puts_a_stall_down_to_connecting_where_the_file_tells_it(tmp_path: Path) -> None:
    for slow, cause in ((True, "connect"), (False, None)):
        report = report_file(jtl(tmp_path, slow=slow))
        assert report.stalls and {stall.cause for stall in report.stalls} == {cause}


def machine_csv(record: TrialRecord, shares: list[float], *, columns: str = "psi_cpu_some_s,steal_s") -> str:
    """Readings every half a second from the trial's start, with these shares of waiting between them."""
    at, waited, rows = record.started.monotonic_s, 0.0, []
    for number, share in enumerate([0.0, *shares]):
        waited += share * 0.5
        rows.append(f"{at + number / 2},{waited:.4f},0.0")
    return "\n".join([f"monotonic_s,{columns}", *rows]) + "\n"


def with_machine(session: SessionFolder, text: str) -> None:
    (session.folder / trial_of(session, "serial-3x") / "machine.csv").write_text(text, "utf-8")


def test_what_a_busy_machine_can_have_taken_is_bounded(tmp_path: Path) -> None:
    session = without_pauses(tmp_path)
    record = session.record(trial_of(session, "serial-3x"))
    found = {}
    for share in (0.0, 0.02, 0.95):
        with_machine(session, machine_csv(record, [share] * 12))
        one = attributed(session)
        assert one.tail["p99"]["unexplained"] == pytest.approx(1)  # nothing is subtracted
        found[share] = one.most_beside["p99"]["run_queue"]
    assert found[0.0] == 0
    assert 0.1 < found[0.02] < found[0.95]  # 10 ms in half a second is no bound to many of 25 ms
    assert found[0.95] == pytest.approx(1)


def test_pressure_that_this_kernel_does_not_tell_is_not_recorded(tmp_path: Path) -> None:
    session = without_pauses(tmp_path)
    trial = trial_of(session, "serial-3x")
    record = session.record(trial)
    for text, words in (
        ("monotonic_s,steal_s\n1,0\n2,0\n", "no psi_cpu_some_s"),
        ("monotonic_s,psi_cpu_some_s,steal_s\n1,,0\n2,,0\n", "this kernel does not tell"),
    ):
        with_machine(session, text)
        with pytest.raises(InputError, match=words):
            log_clock.waiting(session, record)
    with_machine(session, machine_csv(record, [0.2] * 12, columns="psi_cpu_some_s,other"))
    assert log_clock.waiting(session, record)[0].lost_s == pytest.approx([0.1] * 12)


def recorded(record: TrialRecord, spans: list[tuple[float, float]]) -> str:
    """A flight recording with compilations at these seconds after the trial's start, and one deoptimisation."""

    def at(second: float) -> str:
        return pd.Timestamp(record.started.wall_epoch_s + second, unit="s", tz="UTC").isoformat()

    events = [
        {"type": "jdk.Compilation", "values": {"startTime": at(low), "duration": f"PT{high - low:.6f}S"}}
        for low, high in spans
    ]
    events.append({"type": "jdk.Deoptimization", "values": {"startTime": at(3.0)}})
    return json.dumps({"recording": {"events": events}})


def test_compilers_at_work_are_bounded_and_are_no_pause(tmp_path: Path) -> None:
    session = without_pauses(tmp_path)
    trial = trial_of(session, "serial-3x")
    record = session.record(trial)
    file = session.folder / trial / "recording.json"
    for spans, least, most in (([(3.05, 3.2), (3.4, 3.401)], 0.0, 0.5), ([(2.0, 6.0)], 0.999, 1.001)):
        file.write_text(recorded(record, spans), "utf-8")
        one = attributed(session)
        assert "jit" not in one.events  # nothing is subtracted by it
        assert least < one.most_beside["p99"]["jit"] < most
    file.write_text('{"recording": {"events": []}}', "utf-8")
    assert "was it asked for" in attributed(session).missing["jit"]


BUSY = """
public class Busy {
  public static void main(String[] words) {
    long sum = 0;
    for (int i = 0; i < 3_000_000; i++) sum += Integer.toString(i).hashCode();
    System.out.println(sum);
  }
}
"""


def test_a_jvm_that_was_asked_leaves_a_recording_and_its_own_jdk_prints_it(tmp_path: Path) -> None:
    jdk, host = reference_jdk(), LocalHost()
    (tmp_path / "Busy.java").write_text(BUSY)
    java = str(jdk.home / "bin" / "java")
    done = host.run(Command(argv=(java, *recording_flags(), "Busy.java"), folder=tmp_path), patient(60.0))
    assert done.exit_code == 0, done.stderr
    assert keep_recording(host, jdk.home / "bin" / "jfr", tmp_path, tmp_path)
    found = read_jfr_json(tmp_path / "recording.json")
    assert found.compilations and found.log.n_unknown == 0
    assert set(found.n_by_type) <= {"jdk.Compilation", "jdk.Deoptimization"}
    assert all(high - low >= 0.5e-3 for low, high in found.compilations)
