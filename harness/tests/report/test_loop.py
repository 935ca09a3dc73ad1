# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on anybody's file: which loop its numbers come from, and what waiting users hid."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.report.output import main
from harness.tests.support import generated_jtl


@generated_jtl.SOME
@given(users=st.integers(1, 40), each=st.integers(40, 80), median_s=st.floats(0.001, 2.0),
       think=st.floats(0, 20), seed=generated_jtl.seeds)  # fmt: skip
def test_threads_that_wait_are_users(users: int, each: int, median_s: float, think: float, seed: int) -> None:
    made = generated_jtl.closed_load(users, each, median_s, think_s=think * median_s, seed=seed)
    report = generated_jtl.reported(made)
    loop = report.loop
    assert loop is not None and (loop.kind, loop.users) == ("closed", users)
    # all users may think for so long at once that these are two runs, which have no correction
    assume(len(report.runs) <= 1)
    assert loop.corrected_ms is not None and any("pauses hide" in said for said in loop.warnings)


@generated_jtl.SOME
@given(n=st.integers(300, 1200), rate=st.floats(5, 500), median_s=st.floats(0.002, 0.2), even=st.booleans(),
       columns=generated_jtl.COLUMNS, seed=generated_jtl.seeds)  # fmt: skip
def test_arrivals_are_never_called_a_closed_loop(
    n: int, rate: float, median_s: float, even: bool, columns: tuple[str, ...], seed: int
) -> None:
    made = generated_jtl.open_load(n, rate, median_s, even=even, seed=seed)
    loop = generated_jtl.reported(made, columns).loop
    assert loop is not None and loop.kind != "closed" and loop.corrected_ms is None
    if "threadName" in columns and rate * median_s < n / 50:
        assert loop.kind == "open"


def with_stalls(users: int | None) -> generated_jtl.Load:
    """Five stalls of half a second: users wait through them, arrivals go on coming."""
    rng = np.random.default_rng(5)
    if users is None:
        load = generated_jtl.open_load(6000, 200.0, 0.004, seed=5)
        start, latency = load.start, load.latency.copy()
        for low in (4.0, 9.0, 14.0, 19.0, 24.0):
            held = (start >= low) & (start < low + 0.5)
            latency[held] += low + 0.5 - start[held]
        return generated_jtl.Load(start=start, latency=latency, thread=load.thread, threads=load.threads)
    stalls = np.array([4.0, 9.0, 14.0, 19.0, 24.0])
    rows: list[tuple[float, float, int]] = []
    for user in range(users):
        at = float(rng.uniform(0, 0.01))
        while at < 30:
            took = float(rng.lognormal(np.log(0.004), 0.4))
            inside = stalls[(stalls < at + took) & (at < stalls + 0.5)]
            took = float(inside[0]) + 0.5 - at + took if len(inside) else took
            rows.append((at, took, user))
            at += took + float(rng.exponential(0.03))
    start, latency, thread = (np.array(column) for column in zip(*rows, strict=True))
    return generated_jtl.Load(
        start=start, latency=latency, thread=thread.astype(int), threads=np.full(len(start), users)
    )


def test_arrivals_that_go_on_through_stalls_are_an_open_loop_without_any_name() -> None:
    loop = generated_jtl.reported(with_stalls(None), generated_jtl.BARE).loop
    assert loop is not None and loop.kind == "open" and "does not wait for them" in loop.evidence[0]


def test_a_hidden_tail_is_put_beside_the_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = generated_jtl.write_load(tmp_path / "closed.jtl", with_stalls(10))
    report = generated_jtl.report_file(path)
    assert report.loop is not None and report.loop.users == 10 and report.loop.corrected_ms is not None
    hidden, corrected = report.latency_ms["p99"], report.loop.corrected_ms["p99"]
    assert hidden is not None and corrected is not None and corrected > 10 * hidden
    main([path], html=tmp_path / "page.html")
    text, page = capsys.readouterr().out, (tmp_path / "page.html").read_text()
    assert "closed loop, 10 users" in text and f"{corrected:,.0f}" in text
    assert "pauses hide" in " ".join(text.split())
    assert "Closed loop, 10 users" in page and f"<td>{corrected:,.0f}</td>" in page
    main([path], as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert plain["loop"]["kind"] == "closed" and plain["loop"]["corrected_ms"]["p99"] == corrected


def test_a_correction_for_short_pauses_warns_that_it_restores_too_little() -> None:
    load = with_stalls(10)
    stalls = np.array([4.0, 9.0, 14.0, 19.0, 24.0])
    shorter = load.latency.copy()
    for low in stalls:
        held = (load.latency > 0.4) & (load.start >= low - 0.05) & (load.start < low + 0.5)
        shorter[held] -= 0.45
    # Their next requests still come when they came: what matters here is how long the stalls were.
    report = generated_jtl.reported(
        generated_jtl.Load(start=load.start, latency=shorter, thread=load.thread, threads=load.threads)
    )
    assert report.loop is not None and report.loop.kind == "closed"
    assert any(said.startswith("correction: ") for said in report.loop.warnings)


def test_real_files_of_jmeter_tell_their_loop_and_a_wrong_unit(tmp_path: Path) -> None:
    """Ten users, and open arrivals, against a server that stops for 0.4 s every 3 s; JMeter's default columns."""
    golden = Path(__file__).resolve().parents[1] / "golden" / "jmeter"
    closed, opened = (
        generated_jtl.report_file(golden / name)
        for name in ("closed-10-users.jtl.gz", "open-arrivals.jtl.gz")
    )
    assert closed.loop is not None and (closed.loop.kind, closed.loop.users) == ("closed", 10)
    assert opened.loop is not None and opened.loop.kind == "open"
    assert generated_jtl.accused(closed) == generated_jtl.accused(opened) == []
    for name in ("closed-10-users.jtl.gz", "open-arrivals.jtl.gz"):
        rows = pd.read_csv(golden / name)
        for unit, factor in (("us", 1e3), ("ns", 1e6), ("s", 1e-3)):
            wrong = tmp_path / f"{unit}.jtl"
            rows.assign(elapsed=(rows["elapsed"] * factor).astype("int64")).to_csv(wrong, index=False)
            assert generated_jtl.suspected(generated_jtl.report_file(wrong)) == {unit}
    bare = tmp_path / "bare.jtl"
    pd.read_csv(golden / "closed-10-users.jtl.gz")[list(generated_jtl.BARE)].to_csv(bare, index=False)
    by_rhythm = generated_jtl.report_file(bare).loop
    assert by_rhythm is not None and (by_rhythm.kind, by_rhythm.users) == ("closed", 10)


def test_a_calm_file_without_names_cannot_say_its_loop() -> None:
    loop = generated_jtl.reported(generated_jtl.open_load(500, 100.0, 0.005), generated_jtl.BARE).loop
    assert loop is not None and loop.kind == "cannot say"
    assert "only the times of the requests" in loop.evidence[0]
