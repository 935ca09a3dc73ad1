# SPDX-License-Identifier: Apache-2.0
"""Causes beside the service's pauses, connecting above all: none is found where it is not, none takes what an
earlier one has taken, and what nobody recorded is said to be so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from harness.analysis.attribution.event_matching import Beside, most_lost_s, peak_causes, stall_causes
from harness.analysis.attribution.log_clock import waiting
from harness.analysis.attribution.share_of_quantile import attributable_fractions
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Span, attribute_latency
from harness.analysis.attribution.table import attribution_table
from harness.errors import InputError
from harness.formats.jfr_json import read_jfr_json
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.launchers.arguments import recording_flags
from harness.model import TrialRecord
from harness.report.analyse import report_file
from harness.runner.snapshots import keep_recording
from harness.store import SessionFolder
from harness.tests.support.patience import patient
from harness.tests.support.paused_session import attributed, java_trial, requests_of, without_pauses
from harness.tests.support.synthetic import make_session
from harness.tests.support.synthetic_pauses import pauses_of, requests_behind
from harness.tests.support.tiny_java import reference_jdk

BEGIN_S = 1_700_000_000.0


def test_a_request_that_was_slow_to_connect_is_put_down_to_connecting_and_to_no_pause() -> None:
    start, latency = np.linspace(0.0, 1.999, 2000), np.full(2000, 0.002)
    connect = np.zeros_like(start)
    slow = np.arange(50, 2000, 50)
    latency[slow] += 0.030
    connect[slow] = 0.030
    events: dict[CauseName, list[Span]] = {"gc_pause": [(t + 0.040, t + 0.041) for t in start[slow[:-1]]]}  # elsewhere
    for times, cause in ((connect, "connect"), (np.zeros_like(start), "unexplained")):
        causes = peak_causes(start, latency, events, from_s=0.02, connect_s=times)
        assert set(causes) - {None} == {cause}
    (tail,) = attributable_fractions(start, latency, events, connect_s=connect)
    assert tail.causes["connect"].value == pytest.approx(1, abs=0.02)
    assert tail.causes["gc_pause"].value == pytest.approx(0, abs=0.02)


def test_connecting_in_a_pause_belongs_to_the_pause_and_only_what_is_more_than_ordinary_counts() -> None:
    start, latency = np.arange(5.0), np.array([0.010, 0.100, 0.100, 0.010, 0.010])
    connect = np.array([0.0, 0.090, 0.090, 0.0, 0.0])
    taken = attribute_latency(start, latency, {"gc_pause": [(1.0, 1.080)]}, connect_s=connect)
    assert taken["gc_pause"] == pytest.approx([0, 0.080, 0, 0, 0])
    assert taken["connect"] == pytest.approx([0, 0.010, 0.090, 0, 0])
    anew = np.array([0.001, 0.001, 0.021, 0.001, 0.001])  # every arrival connects
    assert attribute_latency(start, 0.001 + anew, {}, connect_s=anew)["connect"] == pytest.approx([0, 0, 0.020, 0, 0])


@settings(max_examples=80, deadline=None)
@given(
    gaps=st.lists(
        st.tuples(st.floats(0, 0.3), st.floats(0.01, 0.5), st.floats(0, 1)), min_size=1, max_size=8
    ),
    requests=st.lists(st.tuples(st.floats(-0.5, 4), st.floats(0.001, 2)), min_size=1, max_size=20),
)
def test_the_most_that_was_lost_is_what_a_walk_over_all_spans_gives(
    gaps: list[tuple[float, float, float]], requests: list[tuple[float, float]]
) -> None:
    ends = np.cumsum([gap + length for gap, length, _ in gaps]).tolist()
    spans = tuple((end - length, end) for end, (_, length, _) in zip(ends, gaps, strict=True))
    lost_s = tuple(length * share for _, length, share in gaps)
    start, latency = (np.array(column) for column in zip(*requests, strict=True))
    walked = [
        sum(
            min(max(min(s + took, high) - max(s, low), 0.0), most)
            for (low, high), most in zip(spans, lost_s, strict=True)
        )
        for s, took in requests
    ]
    found = most_lost_s(start, latency, Beside(cause="run_queue", spans=spans, lost_s=lost_s))
    assert found == pytest.approx(walked, abs=1e-9)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    return make_session(tmp_path_factory.mktemp("causes"), "gc-peaks", "smoke")


def test_what_nobody_recorded_is_told_and_is_no_zero(session: SessionFolder) -> None:
    one = attributed(session, requests_of(session))
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
    (session.folder / java_trial(session) / "machine.csv").write_text(text, "utf-8")


def test_what_a_busy_machine_can_have_taken_is_bounded(tmp_path: Path) -> None:
    session = without_pauses(tmp_path)
    record = session.record(java_trial(session))
    found = {}
    for share in (0.0, 0.02, 0.95):
        with_machine(session, machine_csv(record, [share] * 12))
        one = attributed(session, requests_of(session))
        assert one.tail["p99"]["unexplained"] == pytest.approx(1)  # nothing is subtracted
        found[share] = one.most_beside["p99"]["run_queue"]
    assert found[0.0] == 0
    assert 0.1 < found[0.02] < found[0.95]  # 10 ms in half a second is no bound to many of 25 ms
    assert found[0.95] == pytest.approx(1)


def test_pressure_that_this_kernel_does_not_tell_is_not_recorded(tmp_path: Path) -> None:
    session = without_pauses(tmp_path)
    trial = java_trial(session)
    record = session.record(trial)
    for text, words in (
        ("monotonic_s,steal_s\n1,0\n2,0\n", "no psi_cpu_some_s"),
        ("monotonic_s,psi_cpu_some_s,steal_s\n1,,0\n2,,0\n", "this kernel does not tell"),
    ):
        with_machine(session, text)
        with pytest.raises(InputError, match=words):
            waiting(session, record)
    with_machine(session, machine_csv(record, [0.2] * 12, columns="psi_cpu_some_s,other"))
    assert waiting(session, record)[0].lost_s == pytest.approx([0.1] * 12)


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
    trial = java_trial(session)
    record = session.record(trial)
    file = session.folder / trial / "recording.json"
    for spans, least, most in (([(3.05, 3.2), (3.4, 3.401)], 0.0, 0.5), ([(2.0, 6.0)], 0.999, 1.001)):
        file.write_text(recorded(record, spans), "utf-8")
        one = attributed(session, requests_of(session))
        assert "jit" not in one.events  # nothing is subtracted by it
        assert least < one.most_beside["p99"]["jit"] < most
    file.write_text('{"recording": {"events": []}}', "utf-8")
    assert "was it asked for" in attributed(session, requests_of(session)).missing["jit"]


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
