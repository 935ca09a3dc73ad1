# SPDX-License-Identifier: Apache-2.0
"""The pauses behind a trial: placed on the wall clock, laid over its requests, refused where clocks do not allow it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from harness.analysis.gc_logs import (
    LAUNCH_TO_CLOCK_S,
    ClockShift,
    TrialAttribution,
    attribute_trial,
    clock_shift,
    peak_causes,
    placed,
    service_log,
    wall_step_s,
)
from harness.analysis.gc_table import attribution_table
from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.gctrace import read_gctrace
from harness.formats.jvm_log import read_jvm_log
from harness.model import ClockReading, HostClock, TrialRecord
from harness.store import SessionFolder
from harness.tests.synthetic import make_session

GOLDEN = Path(__file__).parent / "golden"
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


def attributed(session: SessionFolder, variant: str) -> TrialAttribution:
    trial = trial_of(session, variant)
    return attribute_trial(session, trial, requests_of(session, trial))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("jvm_log/jdk25-*.log.gz")), ids=lambda path: path.name)
def test_a_real_jvm_log_needs_no_anchor_when_it_carries_the_wall_clock(path: Path) -> None:
    log = read_jvm_log(path)
    found = placed(log, None)
    if log.clock == "epoch":
        assert found.refused is None
        assert sum(map(len, found.events.values())) == len(log.events)
        assert (found.placed_within_s or 1) <= 1e-3
    else:
        assert "nothing anchors it" in (found.refused or "")


def test_a_real_go_log_is_placed_by_the_launch_and_says_how_well() -> None:
    log = read_gctrace(GOLDEN / "gctrace" / "go1.26.log")
    found = placed(log, LAUNCHED)
    first = found.events["gc_pause"][0]
    assert first[0] == pytest.approx(1.7e9 + log.events[0].start_s)
    assert (found.placed_within_s or 0) > LAUNCH_TO_CLOCK_S
    assert placed(log, None).refused is not None


def test_what_pauses_took_from_p99_is_found(session: SessionFolder) -> None:
    one = attributed(session, "serial-64m")
    assert one.refused is None
    assert one.n_pauses == 7
    assert one.longest_pause_s == pytest.approx(0.025, abs=1e-4)
    share = one.by_service["p99"].quantile_share.value
    # without a pause p99 is that of the lognormal law the requests were drawn from
    bare = 0.003 * np.exp(0.3 * 2.326)
    assert share == pytest.approx(1 - bare / one.latency_s["p99"], abs=0.06)
    assert (share or 1) <= one.most_share["p99"]
    assert one.most_share["p99"] == pytest.approx(0.025 / one.latency_s["p99"], abs=1e-3)


def test_the_generators_own_pause_is_no_fault_of_the_service(session: SessionFolder) -> None:
    one = attributed(session, "serial-64m")
    assert "generator_stall" in {part.cause for part in one.whole["p99"].causes}
    assert "generator_stall" not in {part.cause for part in one.by_service["p99"].causes}


def test_pauses_shorter_than_what_their_place_is_known_to_are_refused_and_bounded(
    session: SessionFolder,
) -> None:
    one = attributed(session, "go-gogc-100")
    assert "cannot be placed" in (one.refused or "")
    assert one.by_service == {}
    assert "gc_pause" not in one.events
    assert one.n_pauses == 14  # each collection stops the world twice
    assert 0 < one.most_share["p99"] < 0.05


def test_a_quantile_with_too_few_requests_beyond_it_is_not_said(session: SessionFolder) -> None:
    one = attributed(session, "serial-64m")
    assert "p99.9" not in one.whole
    (row,) = attribution_table([one], quantile="p99.9")
    assert row.share.value is None
    assert "too few requests beyond p99.9" in row.share.warnings


def moved(record: TrialRecord, by_s: float) -> TrialRecord:
    """The record as if the wall clock had been set by ``by_s`` while the load ran."""

    def later(clock: ClockReading) -> ClockReading:
        return clock.model_copy(update={"wall_epoch_s": clock.wall_epoch_s + by_s})

    last = record.phases[-1]
    phases = (*record.phases[:-1], last.model_copy(update={"end": later(last.end)}))
    anchors = (later(record.ended),)
    return record.model_copy(update={"phases": phases, "ended": later(record.ended), "anchors": anchors})


def test_a_wall_clock_that_was_set_during_the_trial_is_noticed(
    session: SessionFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = trial_of(session, "serial-64m")
    record = session.record(trial)
    assert wall_step_s(record) == pytest.approx(0, abs=1e-6)
    monkeypatch.setattr(SessionFolder, "record", lambda *_: moved(record, 0.5))
    assert "wall clock was moved by 500.0 ms" in (
        attribute_trial(session, trial, requests_of(session, trial)).refused or ""
    )


def test_a_log_that_is_gone_or_unreadable_is_said_and_nothing_is_invented(tmp_path: Path) -> None:
    session = make_session(tmp_path, "gc-peaks", "smoke")
    trial = trial_of(session, "serial-64m")
    requests = requests_of(session, trial)
    path = session.path(trial, "gc.log")
    path.unlink()
    gone = attribute_trial(session, trial, requests)
    assert gone.n_pauses is None
    assert gone.refused is not None
    assert gone.by_service == {}
    assert "p99" in gone.whole  # the generator's log is still there
    path.with_name("gc.log").write_text("no log at all\n")
    assert "not a unified JVM log" in (service_log(session, session.record(trial)).refused or "")


def test_a_trial_without_answers_is_an_error_not_a_number(session: SessionFolder) -> None:
    trial = trial_of(session, "serial-64m")
    requests = requests_of(session, trial).assign(ok=False)
    with pytest.raises(InputError, match="no request was answered correctly"):
        attribute_trial(session, trial, requests)


def test_a_slow_request_belongs_to_what_took_most_of_it() -> None:
    start = np.linspace(0.0, 0.99, 100)
    latency = np.full(100, 0.001)
    latency[10], latency[50] = 0.021, 0.021
    causes = peak_causes(start, latency, {"gc_pause": [(0.1, 0.12)]}, from_s=0.02)
    assert causes[10] == "gc_pause"
    assert causes[50] == "unexplained"
    assert causes.count(None) == 98


def test_the_table_has_an_interval_over_trials_and_counts_what_was_refused(session: SessionFolder) -> None:
    trials = [
        attribute_trial(session, trial, requests_of(session, trial))
        for trial in sorted(session.finished())
        if not trial.endswith("-aa")
    ]
    rows = {row.variant: row for row in attribution_table(trials)}
    java, go = rows["serial-64m"], rows["go-gogc-100"]
    assert java.n_trials == java.unexplained_tail.n_trials == 2
    assert java.unexplained_tail.low is not None
    assert java.n_refused == 0
    assert java.share.inputs
    total = [java.service_tail.value, java.generator_tail.value, java.unexplained_tail.value]
    assert sum(part or 0 for part in total) == pytest.approx(1)
    assert go.n_refused == 2
    assert go.share.value is None
    assert go.unexplained_tail.value is None  # what could not be placed is not called unexplained
    assert go.most_share.value is not None


def _far_clock(role: Literal["service", "load"], host: str, wall_offset_s: float) -> HostClock:
    return HostClock(
        role=role,
        host=host,
        at=ClockReading(wall_epoch_s=1e9, monotonic_s=10.0),
        wall_offset_s=wall_offset_s,
        monotonic_offset_s=7.0,
        uncertainty_s=2e-4,
        round_trip_s=4e-4,
        n_questions=31,
    )


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
    assert clock_shift(told, "service").shift_s == pytest.approx(service_s)
    assert clock_shift(told, None).shift_s == pytest.approx(launch_s)


def test_a_far_clock_that_moves_makes_the_placing_less_sure(record: TrialRecord) -> None:
    clocks = (_far_clock("service", "a", 5.0), _far_clock("service", "a", 5.01))
    shift = clock_shift(record.model_copy(update={"clocks": clocks}), "service")
    assert shift.shift_s == pytest.approx(-5.005)
    assert shift.within_s == pytest.approx(5.2e-3)


def test_a_log_of_another_clock_is_placed_on_that_of_the_requests() -> None:
    logs = map(read_jvm_log, sorted(GOLDEN.glob("jvm_log/jdk25-*.log.gz")))
    log = next(log for log in logs if log.clock == "epoch" and log.events)
    plain, shifted = placed(log, None), placed(log, None, clock=ClockShift(shift_s=-5.0, within_s=2e-4))
    for cause, spans in plain.events.items():
        assert np.allclose(np.array(spans) - 5.0, np.array(shifted.events[cause]))
    assert plain.placed_within_s is not None
    assert shifted.placed_within_s == pytest.approx(plain.placed_within_s + 2e-4)
