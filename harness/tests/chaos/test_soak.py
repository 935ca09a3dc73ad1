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
from harness.tests.chaos.faults.agents import agents, end_agents
from harness.tests.chaos.faults.scenes import SCENES
from harness.tests.chaos.faults.sessions import CommandLine
from harness.tests.chaos.growth import LIMITS, growth
from harness.tests.chaos.soak import CONTROL_TRIALS, SESSIONS, STUCK_S, soak
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
