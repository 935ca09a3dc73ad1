# SPDX-License-Identifier: Apache-2.0
"""A tool's own distribution, with the real Locust and the real JMeter: no row is lost, each process has its record,
nobody outside can reach them, and nothing is left when one of them dies."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from harness.analysis.tables.load import load_requests, load_samples, load_trials
from harness.analysis.tables.tidy import tidy
from harness.formats.row_files import LOCUST_SAMPLES
from harness.hosts.local import LocalHost
from harness.hosts.ssh.host import SshHost
from harness.loadgen.base import LoadCommand, LoadSpec
from harness.loadgen.tools.jmeter.adapter import JMeter
from harness.loadgen.tools.jmeter.distribution import KEY, KEY_PROPERTIES
from harness.loadgen.tools.locust.adapter import Locust
from harness.model import CoordinatorRecord, Outcome, TrialRecord
from harness.runner import Limits
from harness.runner.context import LoadSlot
from harness.session import Assembly, measure, prepare
from harness.session.dry_run import commands_of
from harness.session.host_roles import HostRoles
from harness.session.progress import Progress, ProgressState, Silent
from harness.store import SessionFolder
from harness.tests.support.available import only_when_long
from harness.tests.support.instances import eventually
from harness.tests.support.sessions import make_session_project, running_below, tiny_assembly
from harness.tests.support.sshd import Sshd
from harness.toolchains import Surroundings, find_jdks, find_jmeter

pytestmark = only_when_long()

ROOT = Path(__file__).resolve().parents[3]
USERS, LOOPS = 5, 20
#: Three JVMs at once on a busy machine.
PATIENT = Limits(load_extra_s=90.0, generator_stop_s=0.5)
DEFINITION = """
name = "tiny"
title = "Tiny"
question = "Does a tool's own distribution offer what one process does?"
workload = "strings"
reference = "calm"
load = "%s"

[variants.calm]
implementation = "misbehaving"
settings = { %s }
%s
[profiles.smoke]
blocks = 1
"""
LOAD = """
[profiles.smoke.loads.%s]
generator = "%s"
processes = %d
coordination = "tool"
profile = { model = "closed", users = 5, loops = %d }
"""
BOTH = """
[factors.tool]
locust = { load = "locust" }
jmeter = { load = "jmeter" }
"""


class QuicklyUp(JMeter):
    """The real one with a compiler that is done soon: each of these tests starts three JVMs."""

    def command(self, spec: LoadSpec) -> LoadCommand:
        command = super().command(spec)
        java, *words = command.argv
        return command.model_copy(update={"argv": (java, "-XX:TieredStopAtLevel=1", *words)})


def jmeter() -> JMeter:
    around = Surroundings(project=ROOT)
    return QuicklyUp(
        home=find_jmeter(around).require().parent.parent, java=find_jdks(around)[0].java, heap="128m"
    )


def project(
    folder: Path, *tools: str, told: str = "", loops: int = LOOPS, processes: int = 2
) -> tuple[Path, Assembly]:
    root = make_session_project(folder)
    text = DEFINITION % (tools[0], told, BOTH if len(tools) > 1 else "")
    text += "".join(LOAD % (tool, tool, processes, loops) for tool in tools)
    (root / "harness/experiments/tiny.toml").write_text(text)
    parts = dataclasses.replace(tiny_assembly(root), generators={"locust": Locust, "jmeter": jmeter})
    return root, parts


def measured(parts: Assembly, progress: Progress | None = None) -> SessionFolder:
    prepared = prepare(parts, "tiny", profile="smoke", host="local", seed=1)
    return measure(parts, prepared, progress=progress, limits=PATIENT)


def asked_by(folder: SessionFolder, record: TrialRecord) -> int:
    """How many requests the service itself counted between the two boundaries of the load."""
    counts = {}
    for boundary in record.boundaries:
        if boundary.runtime_metrics_file is not None:
            text = folder.open(record.planned.trial_id, boundary.runtime_metrics_file).read().decode()
            counts[boundary.name] = int(text.split()[-1])
    return counts["after-load"] - counts["before-load"]


class Enough(Exception):
    """One trial was what the test wanted."""


class OneTrial(Silent):
    """Ends a session after its first trial."""

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        raise Enough


# --- what comes out


def check(folder: SessionFolder, record: TrialRecord) -> CoordinatorRecord:
    """What must hold of every trial that two members offered."""
    assert record.outcome == Outcome.OK, record.reason
    assert record.load is not None and record.generator is not None and record.coordinator is not None
    parts = [one.load for one in record.generators if one.load is not None]
    assert len(parts) == 2 and sum(part.n_requests for part in parts) == record.load.n_requests
    assert record.load.n_requests == USERS * LOOPS == asked_by(folder, record)
    assert record.load.n_errors == 0
    assert sorted(part.n_requests for part in parts) == [2 * LOOPS, 3 * LOOPS]
    counted = record.coordinator
    assert (counted.n_requests, counted.n_errors, counted.n_rows) == (USERS * LOOPS, 0, USERS * LOOPS)
    assert "counts_differ" not in record.flags
    assert [one.folder for one in record.generators] == ["load/1", "load/2"]
    assert counted.process.folder == "load/coordinator"
    every = [*record.generators, counted.process]
    assert {one.exit_code for one in every} == {0}
    assert record.generator.cpu_s == pytest.approx(sum(one.cpu_s or 0.0 for one in every))
    return counted


@pytest.mark.parametrize("tool", ["locust", "jmeter"])
def test_a_tools_own_distribution_offers_what_was_asked_and_loses_no_row(tmp_path: Path, tool: str) -> None:
    root, parts = project(tmp_path, tool)
    with pytest.raises(Enough):
        measured(parts, OneTrial())
    folder = SessionFolder(root / "data/raw/tiny/smoke-local-1")
    (record,) = folder.records()
    assert folder.verify() == ()
    check(folder, record)
    trial = record.planned.trial_id
    assert not [name for name in record.files if KEY in name or KEY_PROPERTIES in name]
    orders = [folder.open(trial, f"load/{number}/order.json").read() for number in (1, 2)]
    assert len({LoadSpec.model_validate_json(order).seed for order in orders}) == 2
    tidy(root, ["tiny"])
    trials = load_trials(root, "tiny")
    assert not trials["excluded"].any()
    assert trials["generator_cores"].notna().all()
    assert len(load_requests(root, "tiny", record.session_id, trial)) == USERS * LOOPS
    samples = load_samples(root, "tiny", record.session_id, trial)
    assert {"service", "generator", "generator-2", "generator-coordinator"} == set(samples["role"])
    assert eventually(lambda: not running_below(root))


def test_a_plan_shows_the_command_of_who_commands_the_others(tmp_path: Path) -> None:
    _, parts = project(tmp_path, "locust", "jmeter", processes=3)
    said = commands_of(parts, prepare(parts, "tiny", profile="smoke", host="local", seed=1))
    assert "--expect-workers 3" in " ".join(said["load locust locust hello (commanding 3)"])
    assert "-R 127.0.0.1:" in " ".join(said["load jmeter jmeter hello (commanding 3)"])


# --- one of them dies


def running(root: Path, folder: str) -> psutil.Process | None:
    """The process of a trial that runs in this folder of its load."""
    for pid in running_below(root):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.cwd().endswith(f"/load/{folder}"):
                return process
    return None


def sockets(process: psutil.Process | None) -> list[tuple[str, int, str]]:
    """Address, port and state of its TCP sockets."""
    with contextlib.suppress(psutil.Error):
        found = [] if process is None else process.net_connections("tcp")
        return [(one.laddr.ip, one.laddr.port, one.status) for one in found]
    return []


def all_have_met(root: Path, tool: str) -> bool:
    """Locust's master has both its workers; JMeter's engines both have begun."""
    time.sleep(0.1)  # to look costs time that they need
    if tool == "jmeter":
        said = [path.read_text() for path in root.rglob("load/*/generator.stdout.txt")]
        return sum("Starting the test on host" in text for text in said) == 2
    mine = sockets(running(root, "coordinator"))
    ports = {port for _, port, state in mine if state == psutil.CONN_LISTEN}
    return sum(port in ports for _, port, state in mine if state == psutil.CONN_ESTABLISHED) == 2


@pytest.mark.parametrize(
    ("tool", "victim", "reason"),
    [
        ("locust", "2", "load generator 2 of 2 was killed by signal 9"),
        ("locust", "coordinator", "the coordinator of 2 load generators was killed by signal 9"),
        ("jmeter", "2", "load generator 2 of 2 was killed by signal 9"),
    ],
)
def test_one_that_is_killed_fails_the_trial_and_nothing_is_left_and_nobody_else_could_reach_it(
    tmp_path: Path, tool: str, victim: str, reason: str
) -> None:
    root, parts = project(tmp_path, tool, told="slow_s = 0.2", loops=600)
    listening: list[str] = []

    def kill() -> None:
        assert eventually(lambda: all_have_met(root, tool), within_s=90)
        for pid in running_below(root):
            with contextlib.suppress(psutil.Error):
                mine = sockets(psutil.Process(pid))
                listening.extend(ip for ip, _, state in mine if state == psutil.CONN_LISTEN)
        process = running(root, victim)
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(Enough):
        measured(parts, OneTrial())
    killer.join()
    (record,) = SessionFolder(root / "data/raw/tiny/smoke-local-1").records()
    assert (record.outcome, record.reason) == (Outcome.FAILED, reason)
    assert len(listening) >= 2 and set(listening) <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert record.coordinator is not None and record.coordinator.n_requests is None
    assert not [name for name in record.files if KEY in name or KEY_PROPERTIES in name]
    assert eventually(lambda: not running_below(root))


# --- over the network


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    started = Sshd(tmp_path_factory.mktemp("sshd"))
    started.start()
    yield started
    started.die()


def test_workers_on_two_hosts_are_put_on_the_clock_of_the_first(sshd: Sshd, tmp_path: Path) -> None:
    """Both hosts are this machine under other addresses; the second says that its clock is five seconds ahead."""
    root, parts = project(tmp_path / "project", "locust", processes=1)
    first = SshHost("first", sshd.settings(tmp_path / "one", service_address="127.0.0.2"))
    second = SshHost("second", sshd.settings(tmp_path / "two", service_address="127.0.0.3", skew_s=5.0))
    here = LocalHost()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    parts = dataclasses.replace(
        parts,
        host=here,
        load_host=first,
        further_loads=lambda _: (LoadSlot(host=second),),
        stations=HostRoles(service=here, load=first, further_loads=(second,), cpus=cpus),
    )
    try:
        with pytest.raises(Enough):
            measured(parts, OneTrial())
    finally:
        first.close()
        second.close()
    raw = SessionFolder(root / "data/raw/tiny/smoke-local-1")
    (record,) = raw.records()
    counted = check(raw, record)
    assert "--master-bind-host 127.0.0.2" in " ".join(counted.process.argv)
    assert [counted.process.host, *(one.host for one in record.generators)] == ["first", "first", "second"]
    shift_s = record.generators[1].clock_shift_s
    assert shift_s == pytest.approx(-5.0, abs=0.3)
    name = next(name for name in record.files if name.startswith("load/2/samples.csv"))
    theirs = LOCUST_SAMPLES.read(raw.path(record.planned.trial_id, name)).start_epoch_s
    tidy(root, ["tiny"])
    merged = load_requests(root, "tiny", record.session_id, record.planned.trial_id)["start_epoch_s"]
    assert np.isin(np.round(theirs + shift_s, 5), np.round(merged, 5)).all()
