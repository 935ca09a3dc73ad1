# SPDX-License-Identifier: Apache-2.0
"""Sessions on a far machine: its clocks may be wrong, and a cut link or a full disk costs one trial at most."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HostError
from harness.model import Outcome, TrialRecord
from harness.places.hosts.ssh.host import SshHost
from harness.places.hosts.ssh.settings import HostSettings
from harness.store import Store
from harness.tests.support.available import only_in_ci, patient
from harness.tests.support.instances import eventually
from harness.tests.support.namespace import Namespace, tidy_namespace
from harness.tests.support.remote_sessions import measure_remote, when
from harness.tests.support.sessions import calm_alone, make_session_project, running_with, tiny_folder
from harness.tests.support.small_disk import small_disk
from harness.tests.support.sshd import Sshd


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    yield from tidy_namespace()


@pytest.fixture
def cuttable(namespace: Namespace, tmp_path: Path) -> Iterator[Sshd]:
    """An sshd behind a link that can be cut."""
    with Sshd(tmp_path / "sshd", address=namespace.far, prefix=namespace.prefix) as started:
        yield started


def bighost(settings: HostSettings, **options: Any) -> contextlib.closing[SshHost]:
    return contextlib.closing(SshHost("bighost", settings, **options))


def test_far_clocks_that_are_wrong_are_flagged_and_moments_are_on_ours(sshd: Sshd, tmp_path: Path) -> None:
    root = calm_alone(make_session_project(tmp_path / "project"))
    with bighost(sshd.settings(tmp_path / "base", skew_s=5.0)) as host:
        there = measure_remote(root, host)
    assert there.complete and there.verify() == ()
    for record in there.records():
        assert record.outcome == Outcome.OK and "clock_skew" in record.flags
        _moments_fit(record, there.open(record.planned.trial_id, "samples.csv").read().decode())
        assert record.instance is not None
        assert all(str(tmp_path) not in word for word in record.instance.argv)
    assert there.header.provenance.machines.keys() == {"service", "harness"}
    assert eventually(lambda: not list((tmp_path / "base" / "sessions").iterdir()))


def _moments_fit(record: TrialRecord, samples: str) -> None:
    """The far clocks were wrong by seconds, and a trial lasts about one."""
    assert record.clocks and record.instance is not None
    slack_s = 0.2 + 2 * max(clock.uncertainty_s for clock in record.clocks)
    begin_s, end_s = record.started.monotonic_s - slack_s, record.ended.monotonic_s + slack_s
    moments = [float(row.split(",")[0]) for row in samples.splitlines()[1:]]
    moments += [record.instance.launched.monotonic_s]
    moments += [boundary.reading.at.monotonic_s for boundary in record.boundaries]
    assert begin_s < min(moments) and max(moments) < end_s


def _measured_while(holds: Callable[[], bool], act: Callable[[], object], root: Path, host: SshHost) -> None:
    """Measure, and do something once something holds."""
    beside = threading.Thread(target=when(holds, act))
    beside.start()
    try:
        measure_remote(root, host)
    finally:
        beside.join()


def _load_runs(tmp_path: Path) -> bool:
    return bool(running_with(f"{tmp_path}/base/sessions/")) and any(
        b"fake_client" in Path(f"/proc/{pid}/cmdline").read_bytes()
        for pid in running_with(f"{tmp_path}/base/sessions/")
        if Path(f"/proc/{pid}/cmdline").exists()
    )


@only_in_ci("a link that is cut under a session")
def test_a_cut_link_costs_one_trial(namespace: Namespace, cuttable: Sshd, tmp_path: Path) -> None:
    root = make_session_project(tmp_path / "project", other="slow_s = 0.2", loops=8)
    settings = cuttable.settings(tmp_path / "base", grace_s=patient(4))
    with bighost(settings) as host:
        with pytest.raises(HostError, match="bighost is gone"):
            _measured_while(lambda: _load_runs(tmp_path), namespace.cut, root, host)
        base = tmp_path / "base"
        assert eventually(lambda: not running_with(f"{base}/artifacts"), within_s=60)
        assert eventually(lambda: not list((base / "sessions").iterdir()), within_s=60)
    namespace.join()
    with bighost(settings) as again:
        folder = measure_remote(root, again)
    assert folder.complete and folder.verify() == ()
    assert tiny_folder(root).key != folder.key


@only_in_ci("a disk that a far session fills")
def test_a_full_disk_there_stops_it(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.places.hosts.ssh.workspace.MIN_FREE_BYTES", 2 << 20)
    root = make_session_project(tmp_path / "project", other="slow_s = 0.2", loops=8)
    with small_disk(tmp_path / "base", "8m") as disk:
        settings = sshd.settings(disk)
        full = "bighost: .*o space left.*hosts.toml"
        with bighost(settings) as host, pytest.raises(HostError, match=full) as stop:
            _measured_while(lambda: _load_runs(tmp_path), lambda: _fill(disk), root, host)
        assert "\n" not in str(stop.value)
        assert eventually(lambda: not running_with(f"{disk}/"))
        assert eventually(lambda: not list((disk / "sessions").iterdir()))
        kept = list(Store(root).session("tiny", "smoke-bighost-1").records())
        assert [record.outcome for record in kept] == [Outcome.OK] * len(kept) and len(kept) < 3
        (disk / "filler").unlink()
        with bighost(settings) as host:
            folder = measure_remote(root, host)
        assert folder.complete and folder.verify() == ()
        assert [record.outcome for record in folder.records()] == [Outcome.OK] * 3
        assert list(folder.records())[: len(kept)] == kept


def _fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(1 << 16))
