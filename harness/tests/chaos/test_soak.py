# SPDX-License-Identifier: Apache-2.0
"""What a session holds does not grow with its trials; one that leaks is found."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from harness.agent.processes import alive
from harness.hosts.base import Command
from harness.hosts.ssh.host import SshHost
from harness.project import find_root
from harness.session.progress import ProgressState, in_words
from harness.tests.chaos.faults.agents import agents, end_agents
from harness.tests.chaos.faults.scenes import SCENES
from harness.tests.chaos.faults.sessions import CommandLine
from harness.tests.chaos.growth import LIMITS, growth
from harness.tests.chaos.soak import CONTROL_TRIALS, SESSIONS, STUCK_S, soak
from harness.tests.chaos.watch import bytes_below, held, in_seconds, last_said, own_memory
from harness.tests.support.available import not_run, only_when_long
from harness.tests.support.machine.lacking import Lacking
from harness.tests.support.patience import patient
from harness.tests.support.sshd import Sshd

ROOT = find_root(Path(__file__).parent)
LEAKED = ("memory", "descriptors", "threads", "files left on disk")


def series(
    slope: float, *, n: int = 4000, noise: float = 3.0, jump: float = 0.0, seed: int = 5
) -> list[tuple[float, float]]:
    """Values that go up and down, each near the one before it; ``jump``: once, in the first tenth."""
    rng, off, found = random.Random(seed), 0.0, []
    for i in range(n):
        off = 0.5 * off + rng.gauss(0, noise)
        found.append((float(i), 100 + slope * i + off + (jump if i > n // 10 else 0)))
    return found


@pytest.mark.parametrize(
    ("slope", "judged"),
    [(0.0, "flat"), (0.001, "undecided"), (0.02, "grows"), (1.0, "grows"), (-0.02, "flat")],
)
def test_a_leak_is_told_from_noise(slope: float, judged: str) -> None:
    found = growth("session", "descriptors", series(slope))
    assert found is not None and found.judged == judged
    assert found.low <= found.per_1000_trials <= found.high
    assert found.per_1000_trials == pytest.approx(1000 * slope, abs=1)


def test_nothing_is_decided_of_few_readings_that_go_up_and_down() -> None:
    found = growth("session", "descriptors", series(0, n=60))
    assert found is not None and found.judged == "undecided"


def test_the_interval_has_the_slope_in_it_as_often_as_it_says() -> None:
    made = [growth("session", "memory", series(2.0, n=800, seed=seed)) for seed in range(200)]
    covered = sum(one is not None and one.low <= 2000 <= one.high for one in made)
    assert 0.91 <= covered / len(made) <= 0.99
    wrong = sum(one is not None and one.low <= 0 <= one.high for one in made)
    assert wrong == 0, "of no growth, which is not what there is"


def test_what_builds_up_once_is_no_leak() -> None:
    found = growth("session", "threads", series(0, noise=0, jump=50))
    assert found is not None and found.judged == "flat" and found.per_1000_trials == found.high == 0


@pytest.mark.parametrize("at", [0.25, 0.4, 0.6, 0.8])
def test_a_mebibyte_that_the_allocator_adds_once_in_2000_trials_is_no_leak(at: float) -> None:
    n = 2000
    found = growth("agent", "memory", [(i / 4, 2.0**20 * (i > 4 * at * n)) for i in range(4 * n)])
    assert found is not None and found.judged == "flat"


@pytest.mark.parametrize(("leak", "judged"), [(0.0, "flat"), (0.01, "grows")])
def test_other_work_that_begins_halfway_is_no_growth_and_hides_none(leak: float, judged: str) -> None:
    """A process has seven descriptors between trials and up to twenty in one; on a busy machine a trial has other
    shares of them."""
    rng, found = random.Random(6), []
    for i in range(8000):
        within = rng.random() < (0.3 if i < 4000 else 0.9)
        found.append((i / 4, 7 + within * rng.randint(9, 13) + int(leak * i / 4)))
    judgement = growth("agent", "descriptors", [(x, float(y)) for x, y in found])
    assert judgement is not None and judgement.judged == judged


def test_trials_that_take_ten_times_as_long_count_as_much_as_the_others() -> None:
    """One step of the allocator, among trials that other work slows down."""
    slow = [(1400 + i / 40, 2.0**20 * (i > 12000)) for i in range(24000)]
    found = growth("agent", "memory", [*((i / 4, 0.0) for i in range(5600)), *slow])
    assert found is not None and found.judged == "flat"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_few_readings_tell_nothing(n: int) -> None:
    assert growth("session", "memory", series(1, n=n)) is None


def test_a_process_is_read_and_one_that_is_gone_is_not() -> None:
    own = held(os.getpid())
    assert own is not None and own.keys() < LIMITS.keys() and min(own.values()) >= 1
    assert held(2**22 + 1) is None


def test_memory_is_what_a_process_has_written_to_and_no_pages_of_files() -> None:
    status = (
        "Name:\tx\nVmRSS:\t 112 kB\nRssAnon:\t 10 kB\nRssFile:\t 100 kB\nRssShmem:\t 2 kB\nVmSwap:\t 3 kB\n"
    )
    assert own_memory(status) == 15 * 1024
    assert own_memory("Name:\tx\nState:\tZ (zombie)\n") is None


def test_the_bytes_of_folders_are_added_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x").write_bytes(bytes(10))
    (tmp_path / "a" / "b" / "y").write_bytes(bytes(5))
    (tmp_path / "large").write_bytes(bytes(1000))
    linked = tmp_path / "a" / "link"
    linked.symlink_to(tmp_path / "large")
    assert bytes_below([tmp_path / "a", tmp_path / "none"]) == 15 + linked.lstat().st_size


@pytest.mark.parametrize("seconds", [0, 59, 75, 3600, 7320])
def test_the_lines_of_progress_are_read_as_they_are_written(seconds: int) -> None:
    state = ProgressState(
        session="a/b", done=7, total=9, left_s=seconds, doing="trial 8, block 1: x", not_ok=2
    )
    said = last_said(f"a remark\n{state.line()}: ok\n")
    assert said is not None and (said.done, said.total, said.left_s) == (7, 9, seconds)
    assert in_seconds(in_words(seconds)) == seconds
    assert last_said("nothing yet\n") is None


@only_when_long("a session that leaks and one that does not, a hundred trials each")
def test_a_session_that_leaks_is_found() -> None:
    try:
        leaking = soak(ROOT, "on this machine", CONTROL_TRIALS, seed=3, leaks=True, say=lambda _: None)
        sound = soak(ROOT, "on this machine", CONTROL_TRIALS, seed=3, say=lambda _: None)
    except Lacking as problem:
        not_run(str(problem))
    assert {one.what for one in leaking.growths if one.judged == "grows"} >= set(LEAKED)
    assert {one.what for one in sound.growths} == set(LIMITS)
    assert {one.what for one in sound.growths if one.judged == "grows"} <= {"memory"}, "pools still fill"
    for one in (leaking, sound):
        assert one.n_trials == CONTROL_TRIALS and one.most_behind <= 2
        assert one.left_ratios.keys() == {"25%", "50%", "75%"}


def test_a_session_over_ssh_is_not_ended_by_a_busy_machine() -> None:
    """An agent that hears nothing for its time of grace ends its session, which beside other work takes seconds."""
    assert min(told.grace_s for scene, told in SCENES.items() if scene in SESSIONS.values()) >= STUCK_S


def test_who_was_interrupted_gets_the_answer_to_his_next_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal stops a campaign while it waits for its session, whose end it then waits for."""
    with CommandLine(ROOT, tmp_path) as line:
        running = line.start(("list", "--help"), {})
        read = line._read

        def interrupted() -> dict[str, object]:
            monkeypatch.setattr(line, "_read", read)
            raise KeyboardInterrupt

        monkeypatch.setattr(line, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            line.wait(os.getpid(), 0.0)  # whose answer, that it is no fork, would be taken for the session's
        assert running.ended(patient(60)) and running.result().code == 0


def test_an_agent_that_a_killed_session_left_does_not_outlive_its_scene(tmp_path: Path) -> None:
    sshd = Sshd(tmp_path / "sshd")
    sshd.start()
    base = tmp_path / "base"
    host = SshHost("far", sshd.settings(base, grace_s=300.0))
    try:
        process = host.spawn(Command(argv=("sleep", "300"), folder=tmp_path))
        (agent,) = agents(base)
        end_agents(base)
        assert agents(base) == [] and not agent.runs
        assert not alive(process.pid, process.start_ticks), "what it started is ended with it"
    finally:
        host.close()
        sshd.die()
