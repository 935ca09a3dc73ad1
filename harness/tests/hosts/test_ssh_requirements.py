# SPDX-License-Identifier: Apache-2.0
"""What a far host must have, and what it need not: a Python, forwarding; not root, not a new Python."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from harness.errors import HostError
from harness.places.hosts.base import Command
from harness.places.hosts.ssh.agent import agent_file
from harness.places.hosts.ssh.host import SshHost
from harness.tests.support.available import not_run, patient
from harness.tests.support.sshd import Sshd

#: In a mount namespace of its own: what is hidden there is hidden from nobody else.
APART = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")


def needs_mounts() -> None:
    if subprocess.run([*APART, "true"], capture_output=True, check=False).returncode != 0:
        # A right, not a tool that set-up could bring: as root these tests run or fail.
        not_run("hiding files from a far host needs a mount namespace (root has one)")


def test_a_host_on_which_no_python_can_be_found_is_told_what_was_looked_for(tmp_path: Path) -> None:
    needs_mounts()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir"):
        (programs / name).symlink_to(shutil.which(name) or "/nowhere")
    bare = tmp_path / "bare"
    bare.write_text(
        "[ ! -e /usr/bin/python3 ] || mount --bind /dev/null /usr/bin/python3 || exit 99\n"
        f'PATH={programs}\nexec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    without_python = Sshd(tmp_path / "sshd", more=f"ForceCommand {' '.join(APART)} /bin/sh {bare}")
    with without_python as sshd, pytest.raises(HostError) as refused:
        SshHost("bighost", sshd.settings(tmp_path / "base"))
    said = str(refused.value)
    assert said.startswith("bighost: no Python >= 3.8 there (tried: python3 ")
    assert "/usr/bin/python3)" in said and "apt-get install -y python3" in said and "hosts.toml" in said
    assert "\n" not in said


USER = "rematch-nobody"
UID = 64123


def test_a_user_without_any_right_is_host_enough() -> None:
    if os.geteuid() != 0:
        not_run("a far host of somebody who is no root needs root here (TestSshHost is such a host then)")
    needs_mounts()
    with contextlib.ExitStack() as stack:
        # pytest's own folders are closed to others
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rematch-test-")))
        folder.chmod(0o755)
        (folder / "home").mkdir()
        os.chown(folder / "home", UID, UID)
        accounts = folder / "passwd"
        line = f"{USER}:x:{UID}:{UID}::{folder / 'home'}:/bin/sh\n"
        accounts.write_text(Path("/etc/passwd").read_text() + line)
        inside = ("/bin/sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', str(accounts))
        sshd = stack.enter_context(Sshd(folder / "sshd", prefix=(*APART, *inside)))
        host = SshHost("bighost", sshd.settings(Path("unused"), user=USER, folder=None))
        stack.callback(host.close)
        assert host.user.partition(":")[0] == str(UID)
        assert str(host.agent.base) == f"{folder}/home/.cache/rematch"
        (folder / "artifact").mkdir()
        (folder / "artifact" / "run").write_text("#!/bin/sh\nid -u\n")
        (folder / "artifact" / "run").chmod(0o755)
        there = host.install(folder / "artifact")
        assert host.run(Command(argv=(str(there / "run"),), folder=there), patient(20)).stdout == f"{UID}\n"
        assert host.spawn(Command(argv=("sleep", "60"), folder=there)).stop(patient(20)).signal == "SIGTERM"


#: Newer than 3.8, and used only where an AttributeError says that it is not there.
GUARDED = {"os.pidfd_open"}


def too_new(folder: Path) -> list[str]:
    """What a Python 3.8 would stumble over in the sources below a folder."""
    vermin = Path(sys.executable).with_name("vermin")
    words = ["--no-config-file", "--no-tips", "--no-parse-comments", "-p=1", "-t=3.8-", "--violations", "-q"]
    done = subprocess.run([str(vermin), *words, str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(done.stdout.strip()), done.stdout + done.stderr
    found, name = [], ""
    for line in done.stdout.splitlines():
        if not line.startswith("  "):
            name = Path(line.split()[-1]).name if line else ""
        elif not any(f"'{guarded}'" in line for guarded in GUARDED):
            found.append(f"{name}: {line.strip()}")
    return found


def test_the_agent_is_written_for_the_oldest_python_it_promises(tmp_path: Path) -> None:
    with zipfile.ZipFile(BytesIO(agent_file())) as archive:
        archive.extractall(tmp_path)
    shipped = list(tmp_path.rglob("*.py"))
    assert len(shipped) > 10
    assert not [file for file in shipped if "pydantic" in file.read_text("utf-8")]
    assert too_new(tmp_path) == []
