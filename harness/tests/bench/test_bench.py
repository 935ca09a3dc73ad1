# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' own logic: ratios are computed, targets judged, and no number depends on this machine's speed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.errors import InputError, RematchError
from harness.formats.detect import read_any
from harness.formats.runtime_log import read_runtime_log
from harness.formats.table import RequestTable
from harness.project import find_root
from harness.sampling import tick_source_here
from harness.tests.benchmarks import BENCHMARKS, run_bench, simulated
from harness.tests.benchmarks.bootstrap import bench_bootstrap
from harness.tests.benchmarks.child import Taken, take
from harness.tests.benchmarks.ingest import JMETER, PANDAS, PLAIN, SMALL, bench_ingest, growth
from harness.tests.benchmarks.overhead import wall_time_s
from harness.tests.benchmarks.page import PAGE, read_sections, write_page
from harness.tests.benchmarks.result import BenchResult, BenchRow, at_least, over
from harness.tests.benchmarks.sampler import bench_sampler
from harness.tests.benchmarks.services import compare_pair
from harness.tests.benchmarks.simulated import write_jtl
from harness.verify.machine_load import at_most, judge

ROOT = find_root(Path(__file__).parent)


def row(holds: bool | None, *, target: str | None = "<= 1 s") -> BenchRow:
    return BenchRow(name="work", value=1.0, unit="s", target=target, holds=holds)


def result(*rows: BenchRow, name: str = "ingest") -> BenchResult:
    return BenchResult(name=name, question="How long?", rows=rows, place="2 cores")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.5, 0.6, 2.0], True), ([1.5, 2.0, 3.0], False), ([0.5, 2.0, 3.0], None), ([1.0], True)],
)
def test_repetitions_on_both_sides_of_a_limit_cannot_say(values: list[float], verdict: bool | None) -> None:
    assert at_most(1.0, values) is verdict


def test_a_miss_beside_others_work_cannot_say_but_on_an_idle_machine_it_is_one() -> None:
    assert judge(1.0, [2.0], 0.5) is None
    assert judge(1.0, [2.0], None) is None
    assert judge(1.0, [2.0], 0.05) is False
    assert judge(1.0, [0.5], 0.9) is True


@pytest.mark.parametrize(
    ("value", "high", "verdict"),
    [(0.9, 1.0, True), (0.7, 0.75, False), (0.75, 0.85, None), (0.7, None, None), (None, None, None)],
)
def test_only_a_whole_interval_below_the_limit_fails(
    value: float | None, high: float | None, verdict: bool | None
) -> None:
    assert at_least(0.8, value, high) is verdict


def test_a_result_holds_only_when_every_target_does_and_rows_without_one_do_not_count() -> None:
    assert result(row(True), row(None, target=None)).holds is True
    assert result(row(True), row(None)).holds is None
    assert result(row(None), row(False)).holds is False


def test_there_is_no_ratio_to_an_unknown_or_to_zero() -> None:
    assert over(3.0, 2.0) == 1.5
    assert over(None, 2.0) is None and over(3.0, None) is None and over(3.0, 0.0) is None


def trials(service: list[float], lean: list[float]) -> pd.DataFrame:
    """A block a pair: throughput as given, CPU time per request its inverse."""
    rows = [
        {
            "experiment": "lean", "session_id": "s", "trial_id": f"{block}-{name}", "block": block, "variant": name,
            "excluded": False, "duplicate": False, "source": "measured",
            "throughput_per_s": value, "cpu_s_per_request": 1 / value,
        }
        for name, values in (("go", service), ("go-lean", lean))
        for block, value in enumerate(values, 1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_pair_is_compared_by_block_and_cpu_is_turned_so_that_less_is_better() -> None:
    lean = [1000.0, 2000.0, 500.0, 1500.0]
    shares = [0.9, 0.91, 0.89, 0.9]
    table = trials([share * value for share, value in zip(shares, lean, strict=True)], lean)
    throughput, cpu = compare_pair(table, "go", "go-lean")
    for one in (throughput, cpu):
        assert one.ratio == pytest.approx(0.9, rel=0.01)
        assert one.ratio_low is not None and one.ratio_low > 0.85 and one.holds is True
    assert cpu.value is not None and cpu.peer_value is not None and cpu.value > cpu.peer_value


def test_a_service_whose_whole_interval_lies_below_the_limit_fails_and_a_straddling_one_cannot_say() -> None:
    lean = [1000.0] * 5
    slow = compare_pair(trials([500.0, 510.0, 490.0, 505.0, 495.0], lean), "go", "go-lean")[0]
    assert slow.name == "go: throughput" and slow.holds is False
    unsure = compare_pair(trials([500.0, 1100.0, 900.0, 700.0, 1000.0], lean), "go", "go-lean")[0]
    assert unsure.holds is None


def test_a_pair_that_its_services_did_not_limit_or_that_still_compiled_is_not_judged() -> None:
    table = trials([500.0, 510.0, 490.0, 505.0, 495.0], [1000.0] * 5)
    bound = table.assign(bound_by="service", age="warm")
    assert compare_pair(bound, "go", "go-lean")[0].holds is False
    others = bound.assign(bound_by="generator")
    (throughput, _) = compare_pair(others, "go", "go-lean")
    assert throughput.holds is None and throughput.ratio is not None
    assert "not about the services: bound by the generator (10 of 10 trials)" in throughput.said
    young = bound.assign(age=bound["age"].where(bound["block"] > 3, "young"))
    for row in compare_pair(young, "go", "go-lean"):
        assert row.holds is None and "young processes" in row.said
    one_is = bound.assign(age=bound["age"].where(bound["block"] > 1, "young"))
    (throughput, _) = compare_pair(one_is, "go", "go-lean")
    assert throughput.holds is False and "4 blocks; 2 trials left out for their age" in throughput.said


def test_an_excluded_trial_takes_its_block_out_and_no_block_at_all_is_said() -> None:
    table = trials([900.0, 900.0, 1.0], [1000.0, 1000.0, 1000.0])
    table.loc[(table["variant"] == "go") & (table["block"] == 3), "excluded"] = True
    assert compare_pair(table, "go", "go-lean")[0].ratio == pytest.approx(0.9)
    table["excluded"] = True
    nothing = compare_pair(table, "go", "go-lean")[0]
    assert nothing.value is None and nothing.holds is None and "nothing can be said" in nothing.said


def test_a_simulated_file_is_read_whole_and_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_jtl(tmp_path / f"{name}.jtl", tmp_path / f"{name}.log", n_rows=5000, seed=3)
    assert (tmp_path / "a.jtl").read_bytes() == (tmp_path / "b.jtl").read_bytes()
    table = read_any(tmp_path / "a.jtl")
    assert isinstance(table, RequestTable)
    assert table.n_requests == 5000 and table.n_errors == 0 and table.unreadable.n == 0
    log = read_runtime_log(tmp_path / "a.log")
    assert log.clock == "epoch" and log.n_unknown == 0
    first, last = table.start_epoch_s.min(), table.start_epoch_s.max()
    assert log.events and all(first - 1 <= event.start_s <= last for event in log.events)


def test_a_longer_simulated_file_repeats_a_stretch_at_later_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "STRETCH", 2000)
    write_jtl(tmp_path / "a.jtl", tmp_path / "a.log", n_rows=5000, seed=3)
    table = read_any(tmp_path / "a.jtl")
    assert isinstance(table, RequestTable)
    assert table.n_requests == 5000 and table.unreadable.n == 0
    assert np.array_equal(table.latency_s[:2000], table.latency_s[2000:4000])
    later = np.round((table.start_epoch_s[2000:4000] - table.start_epoch_s[:2000]) * 1e3)
    assert len(set(later)) == 1 and later[0] >= 1000
    assert table.start_epoch_s[4000:].min() > table.start_epoch_s[2000:4000].max()
    events = read_runtime_log(tmp_path / "a.log").events
    assert [b.start_s > a.end_s for a, b in pairwise(events)].count(False) == 0


def test_ingest_compares_the_same_file_in_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # To compile all of pandas takes longer than all else here.
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(ROOT / ".cache" / "tests" / "byte-code"))
    found = bench_ingest(tmp_path, sizes=(2000,), repeats=1, long_rows=(3000,))
    compared = found.rows[:3]
    assert [(one.peer, one.unit) for one in compared] == [(PANDAS, "s"), (PANDAS, "s"), (PANDAS, "MiB")]
    assert [one.name for one in found.rows[3:]] == ["time per row, 3,000 rows", "memory, 3,000 rows"]
    assert found.rows[0].name.startswith(PLAIN) and found.rows[0].target == "ratio <= 2"
    assert any(f"not compared with {JMETER}" in note for note in found.notes)  # tmp_path has no tools
    for one in compared:
        assert one.value is not None and one.value > 0 and one.peer_value is not None
        assert one.ratio == pytest.approx(one.value / one.peer_value)


def took(cpu_s: float, mib: float = 100.0) -> list[Taken]:
    return [Taken(wall_s=9.0, cpu_s=cpu_s, peak_rss_bytes=int(mib * 2**20), exit_code=0)]


def test_growth_is_per_row_and_leaves_the_start_of_the_program_out() -> None:
    linear = {SMALL: took(1.0), 101_000: took(2.0), 1_001_000: took(11.0)}
    (one,) = growth(linear, 101_000, 1_001_000)
    assert one.ratio == pytest.approx(1.0) and one.value == pytest.approx(10.0) and one.holds is True
    quadratic = linear | {1_001_000: took(101.0)}
    (one,) = growth(quadratic, 101_000, 1_001_000)
    assert one.ratio == pytest.approx(10.0) and one.holds is False


def test_memory_of_the_large_file_has_the_same_limit() -> None:
    taken = {SMALL: took(1.0), 101_000: took(2.0), 1_001_000: took(11.0), 10_001_000: took(101.0, mib=700)}
    memory = growth(taken, 101_000, 1_001_000)[-1]
    assert memory.unit == "MiB" and memory.ratio == pytest.approx(7.0) and memory.holds is False


def test_a_child_that_fails_is_an_error_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(RematchError, match=r"ended with 3.*no such luck"):
        take(("sh", "-c", "echo no such luck >&2; exit 3"), tmp_path)


def test_a_childs_peak_memory_is_its_own_and_not_that_of_its_parent(tmp_path: Path) -> None:
    ballast = bytearray(b"x" * (200 << 20))
    taken = take(("sh", "-c", "exit 0"), tmp_path)
    assert taken.peak_rss_bytes < len(ballast) // 2


def test_bootstrap_scales_the_peers_time_and_says_so() -> None:
    (one,) = bench_bootstrap(ROOT, n_values=2000, n_resamples=200, peer_resamples=10, repeats=3).rows
    assert one.peer == "scipy.stats.bootstrap" and "scaled to 200" in one.said
    assert one.low is not None and one.high is not None and one.value is not None
    assert one.low <= one.value <= one.high


def test_sampler_measures_what_a_session_uses_and_counts_ticks_of_all_on_one_schedule() -> None:
    result = bench_sampler(ROOT, duration_s=0.3, hz=50.0, rounds=1)
    cpu, beside_interpreter, beside_waking, *beside_bare, each, missed = result.rows
    assert len(beside_bare) == (tick_source_here()[1] is None)
    assert all(row.peer_value is not None and row.peer_value > 0 for row in beside_bare)
    assert any(note.startswith(f"ticks taken by: {tick_source_here()[0].name}") for note in result.notes)
    assert beside_interpreter.value == cpu.value and beside_interpreter.peer_value is not None
    assert beside_interpreter.peer_value > 0
    assert cpu.value is not None and cpu.value > 0 and cpu.peer_value is not None and cpu.peer_value > 0
    assert beside_waking.value == cpu.value and beside_waking.peer_value is not None
    assert beside_waking.peer_value > 0
    assert each.ratio is not None and missed.value is not None and missed.value >= 0
    assert "of 1" in missed.name or "of 2" in missed.name  # 0.3 s at 50 Hz and the last moment


def event(at: float, what: str) -> dict[str, object]:
    return {"at_epoch_s": at, "event": what}


def test_time_between_two_starts_of_a_session_is_not_its_wall_time() -> None:
    events = [event(0, "started"), event(10, "interrupted"), event(100, "resumed"), event(105, "finished")]
    assert wall_time_s(events, ()) == 15
    assert wall_time_s(events[:1], ()) == 0  # killed before its first trial was done


def test_a_page_keeps_the_sections_that_did_not_run_again(tmp_path: Path) -> None:
    first = (result(row(True), name="ingest"), result(row(False), name="sampler"))
    write_page(tmp_path, first, BENCHMARKS)
    write_page(tmp_path, (result(row(None), name="ingest"),), BENCHMARKS)
    text = (tmp_path / PAGE).read_text()
    assert list(read_sections(text)) == ["ingest", "sampler"]
    assert "cannot say" in read_sections(text)["ingest"]
    assert "DOES NOT HOLD" in read_sections(text)["sampler"]
    again = (tmp_path / PAGE).read_text()
    write_page(tmp_path, (), BENCHMARKS)
    assert (tmp_path / PAGE).read_text() == again


def test_an_unknown_benchmark_names_those_there_are() -> None:
    with pytest.raises(InputError, match="allowed: services, ingest, bootstrap, sampler, overhead, all"):
        run_bench("speed", ROOT)


def test_a_result_is_json_with_its_verdict() -> None:
    plain = json.loads(result(row(False)).model_dump_json())
    assert plain["holds"] is False and plain["rows"][0]["target"] == "<= 1 s"
