# SPDX-License-Identifier: Apache-2.0
"""What a tool's own distribution is made of: shares, seats, keys, plans with blanks, and rows taken apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import TrialFailure, UnsupportedLoad
from harness.formats.jtl import read_jtl
from harness.hosts.local import LocalHost
from harness.loadgen.base import LoadSpec
from harness.loadgen.distribution import Seats, divided
from harness.loadgen.tools.jmeter.adapter import JMeter
from harness.loadgen.tools.jmeter.distribution import KEY, KEY_PROPERTIES, new_key, split_by_engine
from harness.loadgen.tools.jmeter.plan import LOG, render_plan
from harness.loadgen.tools.locust.adapter import Locust
from harness.loadgen.tools.wrk.adapter import Wrk
from harness.model import ClosedLoad, CoordinatorRecord, Load, OpenLoad
from harness.model.endpoint import Endpoint
from harness.runner.load_coordination import meeting_addresses
from harness.runner.outcome import trial_flags
from harness.tests.support.answering_server import request_to

#: Nothing of it is started here.
JMETER = JMeter(home=None, java=None)


def test_hosts_that_cannot_reach_each_other_are_refused_before_anything_starts() -> None:
    assert meeting_addresses([LocalHost(listen_address="192.0.2.1")]) == ("127.0.0.1",)
    near, far = LocalHost(listen_address="192.0.2.1"), LocalHost(listen_address="192.0.2.2")
    assert meeting_addresses([near, far]) == ("192.0.2.1", "192.0.2.2")
    with pytest.raises(
        UnsupportedLoad, match=r"local has no address for the others, found 127.0.0.1: give it"
    ):
        meeting_addresses([near, LocalHost()])


def test_a_count_that_is_not_the_rows_is_flagged() -> None:
    process = {
        "name": "locust",
        "version": None,
        "argv": (),
        "cpu_affinity": (),
        "cpu_s": None,
        "exit_code": 0,
    }
    record = CoordinatorRecord.model_validate(
        {
            "process": {**process, "echo_achieved_per_s": None, "headroom_ratio": None},
            "n_requests": 99,
            "n_errors": 0,
            "n_rows": 100,
        }
    )
    assert record.disagrees
    assert not record.model_copy(update={"n_rows": 99}).disagrees
    assert not record.model_copy(update={"n_requests": None}).disagrees
    said = trial_flags(
        load=None, generator=None, instance=None, machine=None, longest_gap_s=None, phases=(), placement=None,
        coordinator=record,
    )  # fmt: skip
    assert "counts_differ" in said


# --- what is asked for


def test_only_several_generators_of_a_tool_that_can_are_coordinated() -> None:
    closed, open_loop = ClosedLoad(users=5, loops=3), OpenLoad(rate_per_s=30, duration_s=2)
    coordinated = Load(generator="locust", profile=closed, processes=2, coordination="tool")
    assert divided(coordinated, Locust(), 2) == (closed, closed)  # the master divides
    with pytest.raises(UnsupportedLoad, match="5 users cannot be divided among 6"):
        divided(coordinated, Locust(), 6)
    with pytest.raises(UnsupportedLoad, match="this load has one: say how many"):
        divided(coordinated, Locust(), 1)
    with pytest.raises(UnsupportedLoad, match="wrk has no distribution of its own"):
        divided(coordinated, Wrk(program=None), 2)
    for profile in (closed, open_loop):
        load = coordinated.model_copy(update={"profile": profile})
        alone = load.model_copy(update={"coordination": "independent"})
        assert divided(load, JMETER, 3) == divided(alone, JMETER, 3)
    even = coordinated.model_copy(update={"profile": open_loop.model_copy(update={"arrivals": "constant"})})
    with pytest.raises(UnsupportedLoad, match="cannot space arrivals evenly"):
        divided(even, JMETER, 2)


@pytest.mark.parametrize("profile", [ClosedLoad(users=7, loops=3), OpenLoad(rate_per_s=31, duration_s=2)])
def test_a_plan_for_several_engines_names_no_share_but_where_each_finds_its_own(
    tmp_path: Path, profile: ClosedLoad | OpenLoad
) -> None:
    endpoint = Endpoint(host="127.0.0.1", port=1)
    order = LoadSpec(
        profile=profile, requests=(request_to("/right"),), endpoint=endpoint, folder=tmp_path, seed=4711
    )
    text = render_plan(order, shared=True)
    assert "4711" not in text and ">7<" not in text and "rate(31" not in text
    blanks = {"rematch.users"} if isinstance(profile, ClosedLoad) else {"rematch.rate_per_s", "rematch.seed"}
    assert {
        name for name in ("rematch.users", "rematch.rate_per_s", "rematch.seed") if name in text
    } == blanks


def test_every_load_has_a_key_of_its_own() -> None:
    one, other = new_key(), new_key()
    assert one.keys() == other.keys() == {KEY, KEY_PROPERTIES}
    assert one[KEY] != other[KEY] and one[KEY_PROPERTIES] != other[KEY_PROPERTIES]


# --- rows of several engines in one file

HEADER = "timeStamp,elapsed,label,threadName,success\n"
ROWS = {
    "a:1-": ["1,2,x,a:1-users 1-1,true\n", '3,2,"a, ""b"" and\nc",a:1-users 1-2,false\n'],
    "a:11-": ["2,2,x,a:11-users 1-1,true\n"],
}


def test_every_row_goes_as_it_is_to_its_engine(tmp_path: Path) -> None:
    source = tmp_path / "all.jtl"
    (first, third), (second,) = ROWS.values()
    source.write_text(HEADER + first + second + third)
    targets = {key: tmp_path / f"{n}.jtl" for n, key in enumerate(ROWS)}
    assert split_by_engine(source, targets) == {"a:1-": 2, "a:11-": 1}
    for key, path in targets.items():
        assert path.read_text() == HEADER + "".join(ROWS[key])
    assert not source.exists()


def test_rows_that_an_engine_could_not_deliver_fail_the_trial(tmp_path: Path) -> None:
    said = "2026-11-21 21:51:58,865 ERROR o.a.j.s.BatchSampleSender: sampleOccurred\njava.rmi.ConnectException: x\n"
    seat = Endpoint(host="a", port=1)
    seats = Seats(coordinator=seat, members=(seat, seat))
    for name, text in {"coordinator": "", "1": "", "2": said + said}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / LOG).write_text(text)
    with pytest.raises(TrialFailure, match=r"engine 2 could not deliver rows \(2 batches of up to 500\)"):
        JMETER.distribution.gather(tmp_path / "coordinator", [tmp_path / "1", tmp_path / "2"], seats)
    (tmp_path / "2" / LOG).write_text("")
    with pytest.raises(TrialFailure, match="controller left no samples"):
        JMETER.distribution.gather(tmp_path / "coordinator", [tmp_path / "1", tmp_path / "2"], seats)


def test_a_half_written_last_row_is_kept_where_it_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "all.jtl"
    (first, _), (second,) = ROWS.values()
    source.write_text(HEADER + first + second + "4,2,x")
    targets = {key: tmp_path / f"{n}.jtl" for n, key in enumerate(ROWS)}
    split_by_engine(source, targets)
    assert targets["a:1-"].read_text() == HEADER + first + "4,2,x"
    table = read_jtl(targets["a:1-"])
    assert (table.n_requests, table.unreadable.n) == (1, 1)


def test_a_row_of_nobody_is_a_failure_and_the_file_stays(tmp_path: Path) -> None:
    source = tmp_path / "all.jtl"
    source.write_text(HEADER + "".join(row for rows in ROWS.values() for row in rows))
    with pytest.raises(TrialFailure, match="1 rows of .* are of no engine that is known"):
        split_by_engine(source, {"a:1-": tmp_path / "1.jtl"})
    assert source.exists() and not (tmp_path / "1.jtl").exists()
