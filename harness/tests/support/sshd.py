# SPDX-License-Identifier: Apache-2.0
"""A real sshd with keys of its own, on a high port of loopback or in a network namespace; where there is none, tests
say so."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

from harness.agent.ports import free_port
from harness.places.hosts.ssh.settings import HostSettings
from harness.tests.support.available import not_run, patient

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin") or "/usr/sbin/sshd"
_CONFIG = """
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
MaxSessions 50
{environment}
{more}
"""


@dataclass
class Sshd:
    """One sshd. ``prefix``: the words before it, such as ``ip netns exec NAME``; ``more``: for its configuration;
    ``environment``: of who logs in, beside that of the system."""

    folder: Path
    address: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()
    more: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    def start(self) -> None:
        """Start it; return when it answers. Where there is none, the test says that it was not run."""
        if not os.access(SSHD, os.X_OK) or shutil.which("ssh-keygen") is None:
            not_run("hosts over SSH need sshd and ssh-keygen (apt-get install -y openssh-server)")
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("host_key", "client_key", "other_key"):
            if not (self.folder / name).exists():
                words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "of a test", "-f"]
                subprocess.run([*words, str(self.folder / name)], check=True)
        authorized = self.folder / "authorized_keys"
        shutil.copy2(self.folder / "client_key.pub", authorized)
        kind, key, *_ = (self.folder / "host_key.pub").read_text().split()
        (self.folder / "known_hosts").write_text(f"[{self.address}]:{self.port} {kind} {key}\n")
        config = self.folder / "sshd_config"
        variables = " ".join(f'"{name}={value}"' for name, value in self.environment.items())
        config.write_text(
            _CONFIG.format(
                address=self.address, port=self.port, folder=self.folder, more=self.more,
                environment=f"SetEnv {variables}" if variables else "",
            )
        )  # fmt: skip
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd locks itself in there
        self.process = subprocess.Popen(
            [*self.prefix, SSHD, "-D", "-f", str(config), "-E", str(self.folder / "sshd.log")],
            start_new_session=True,
        )
        deadline = time.monotonic() + patient(60)
        while True:
            try:
                with socket.create_connection((self.address, self.port), timeout=patient(5)) as answered:
                    answered.recv(4)
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(
                        f"sshd did not start: {(self.folder / 'sshd.log').read_text()}"
                    ) from None
                time.sleep(0.02)

    def die(self) -> None:
        """Kill it, where it runs, with all its connections; nobody listens there any more until ``start``."""
        if self.process is None:
            return
        serving = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait(patient(10))
        self.process = None
        _kill(serving)

    def settings(self, base: Path, *, skew_s: float = 0.0, **more: object) -> HostSettings:
        """Return how to reach it; ``base`` is our folder on it, ``skew_s``: how far its clocks are ahead."""
        if skew_s:
            more["python"] = str(_python_with_wrong_clocks(self.folder / "python", skew_s))
        told: dict[str, object] = {
            "address": self.address, "port": self.port, "user": getpass.getuser(),
            "key": str(self.folder / "client_key"), "known_hosts": str(self.folder / "known_hosts"),
            "folder": str(base), "grace_s": 6.0,
        }  # fmt: skip
        return HostSettings.model_validate({**told, **more})


def _python_with_wrong_clocks(file: Path, skew_s: float) -> Path:
    """Make a Python for the agent, and for what the agent starts by it, whose clocks are ahead."""
    file.write_text(
        f"#!{sys.executable}\nimport os, runpy, sys, time\nwords = sys.argv[1:]\n"
        "if words[0] == '-c':\n    os.execv(sys.executable, [sys.executable, *words])\n"
        "while words[0].startswith('-'):\n    words.pop(0)\n"
        "wall, monotonic = time.time, time.monotonic\n"
        f"time.time, time.monotonic = lambda: wall() + {skew_s}, lambda: monotonic() + {skew_s}\n"
        f"sys.executable, sys.argv = {str(file)!r}, words\nrunpy.run_path(words[0], run_name='__main__')\n"
    )
    file.chmod(0o755)
    return file


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
