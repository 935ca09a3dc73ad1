# SPDX-License-Identifier: Apache-2.0
"""What is kept on a far host is sent once and looked at again; what comes back is the very bytes, or refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import HostError
from harness.places.hosts.base import Command
from harness.places.hosts.ssh import workspace
from harness.places.hosts.ssh.agent import Agent
from harness.places.hosts.ssh.host import SshHost
from harness.places.hosts.ssh.settings import HostSettings
from harness.tests.support.available import patient

MADE_LATER = ("aot-",)


@pytest.fixture
def later(settings: HostSettings, far: SshHost) -> Iterator[SshHost]:
    """Another session's connection: it finds what the first one sent."""
    host = SshHost("bighost", settings, alone=False)
    yield host
    host.close()


def artifact(tmp_path: Path) -> Path:
    folder = tmp_path / "artifact"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.jar").write_bytes(os.urandom(100_000))
    (folder / "run").write_text("#!/bin/sh\necho here\n")
    (folder / "run").chmod(0o755)
    return folder


def test_what_one_session_sent_no_other_sends_again(
    far: SshHost, later: SshHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = artifact(tmp_path)
    there = far.install(here, without=MADE_LATER)
    (there / "aot-1.aot").write_bytes(b"made over there")

    def sent(*_: object, **__: object) -> None:
        raise AssertionError("it was sent again")

    monkeypatch.setattr(workspace, "send_files", sent)
    assert later.install(here, without=MADE_LATER) == there
    assert (there / "aot-1.aot").read_bytes() == b"made over there"
    assert later.run(Command(argv=(str(there / "run"),), folder=there), patient(20)).stdout == "here\n"
    monkeypatch.undo()
    (here / "lib" / "a.jar").write_bytes(b"\2")
    assert far.install(here.rename(tmp_path / "changed"), without=MADE_LATER) != there


def test_a_copy_that_was_changed_is_sent_again(far: SshHost, later: SshHost, tmp_path: Path) -> None:
    ours = {damage: artifact(tmp_path / damage) for damage in ("byte", "right", "too few", "too many")}
    there = {damage: far.install(here, without=MADE_LATER) for damage, here in ours.items()}
    assert len(set(there.values())) == len(ours)
    for copy in there.values():
        (copy / "aot-1.aot").write_bytes(b"made of what is damaged")
    content = bytearray((ours["byte"] / "lib" / "a.jar").read_bytes())
    content[50_000] ^= 1
    (there["byte"] / "lib" / "a.jar").write_bytes(content)
    (there["right"] / "run").chmod(0o644)
    (there["too few"] / "run").unlink()
    (there["too many"] / "lib" / "b.jar").write_bytes(b"on the same class path")
    for damage, here in ours.items():
        assert later.install(here, without=MADE_LATER) == there[damage]
    for damage, copy in there.items():
        names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*"))
        assert names == ["lib", "lib/a.jar", "run"], damage
        assert (copy / "lib" / "a.jar").read_bytes() == (ours[damage] / "lib" / "a.jar").read_bytes()
        assert (copy / "run").stat().st_mode & 0o777 == 0o755


def test_damaged_arrivals_are_refused(far: SshHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trial").mkdir()
    words = ("sh", "-c", "mkdir logs; head -c 70000 /dev/urandom > logs/gc.log")
    there = far.open_folder(tmp_path / "trial")
    assert far.run(Command(argv=words, folder=there), patient(20)).exit_code == 0
    send, fetch = workspace.send_files, workspace.fetch_files

    def sends_otherwise(agent: Agent, files: dict[str, Path], folder: str) -> None:
        (tmp_path / "other").write_text("other")
        send(agent, dict.fromkeys(files, tmp_path / "other"), folder)

    def fetches_otherwise(agent: Agent, folder: str, files: dict[str, Path]) -> None:
        fetch(agent, folder, files)
        for file in files.values():
            file.write_bytes(file.read_bytes()[:-1] + b"?")

    with monkeypatch.context() as patch:
        patch.setattr(workspace, "send_files", sends_otherwise)
        with pytest.raises(HostError, match="lib/a.jar arrived in .* with another content"):
            far.install(artifact(tmp_path))
    assert (far.install(tmp_path / "artifact") / "run").stat().st_mode & 0o777 == 0o755
    monkeypatch.setattr(workspace, "fetch_files", fetches_otherwise)
    with pytest.raises(HostError, match="bighost: logs/gc.log arrived here with another content") as refused:
        far.close_folder(tmp_path / "trial")
    assert "\n" not in str(refused.value)
    assert not [path for path in (tmp_path / "trial").rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/outside", "", ".", "a\0b"])
def test_a_host_that_names_a_file_outside_of_the_trials_folder_is_refused(name: str) -> None:
    with pytest.raises(HostError, match=r"^bighost: .* not below the trial's folder"):
        workspace.refuse_outside(("logs/good.log", name), "bighost")
