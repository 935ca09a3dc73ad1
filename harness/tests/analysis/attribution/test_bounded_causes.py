# SPDX-License-Identifier: Apache-2.0
"""Causes that are seen beside the requests: a machine whose processors were waited for, and compilers at work.
They name a stall that they cover and bound what they can have taken, and nothing is subtracted for them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.attribution.log_clock import waiting
from harness.errors import InputError
from harness.formats.jfr_json import read_jfr_json
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.launchers.arguments import recording_flags
from harness.model import TrialRecord
from harness.runner.snapshots import keep_recording
from harness.store import SessionFolder
from harness.tests.support.patience import patient
from harness.tests.support.paused_session import attributed, java_trial, requests_of, without_pauses
from harness.tests.support.tiny_java import reference_jdk


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
