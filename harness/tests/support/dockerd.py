# SPDX-License-Identifier: Apache-2.0
"""A Docker daemon for tests, in a folder of its own, stopped by its own id; and a base image with Python."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from harness.places.hosts.local import LocalHost
from harness.places.launchers.container import ContainerInstance, ContainerLauncher
from harness.places.launchers.images import LABEL, lay_out, libraries, project_label, write_archive
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.support.available import not_run, patient
from harness.tests.support.instances import OBEYS_WITHIN_S, Started, eventually, make_project
from harness.tests.support.sessions import running_with

READY_WITHIN_S = patient(40.0)
BRIDGE_ADDRESS = "10.213.77.1/24"
PYTHON_BASE = "rematch/python-for-tests:1"


class Daemon:
    """A daemon that keeps everything below one folder. ``stop`` leaves nothing of it behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self.log = folder / "dockerd.log"
        # A bridge of its own, though containers are on the host's network: with none, the daemon removes
        # the one of another daemon of this machine; with the usual one, it leaves it behind.
        self.bridge = f"rm{os.getpid() % 10_000_000}"
        self.bridged = False
        self._ip("link", "add", "name", self.bridge, "type", "bridge")
        self.bridged = True
        self._ip("addr", "add", BRIDGE_ADDRESS, "dev", self.bridge)
        self._argv = [
            "dockerd", "--data-root", f"{folder}/root", "--exec-root", f"{folder}/exec",
            "--pidfile", f"{folder}/dockerd.pid", "-H", self.address, "--bridge", self.bridge,
            "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, again when it is gone; return when it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._argv, stdout=log, stderr=log, start_new_session=True)
        self._wait()

    def die(self) -> None:
        """Kill it and its containerd, as a crash would: what runs in containers is not told."""
        containerd = psutil.Process(self._process.pid).children()
        self._process.kill()
        self._process.wait(patient(10))
        for process in containerd:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        # the next one would wait for a containerd that it takes for a living one
        assert eventually(lambda: not any(process.is_running() for process in containerd))

    def _wait(self) -> None:
        import docker
        import docker.errors

        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                client = docker.DockerClient(base_url=self.address)
                client.ping()
                client.close()
                return
            except (docker.errors.DockerException, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise AssertionError(f"dockerd did not start: {self.log.read_text()[-2000:]}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        """End the daemon and the containerd that it started, by their ids, and unmount what it mounted."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(patient(30))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(patient(10))
        for mount in sorted(mounts_below(self.folder), reverse=True):
            subprocess.run(["umount", "-l", mount], check=False)
        if self.bridged:
            self.bridged = False
            self._ip("link", "del", self.bridge)

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)


def tidy_daemon(folder: Path) -> Iterator[Daemon]:
    """Yield a running daemon, then end it and be sure that nothing of it is left. The body of a fixture."""
    missing = [name for name in ("dockerd", "ip") if shutil.which(name) is None]
    if missing:
        not_run(f"containers need {' and '.join(missing)} (apt-get install -y docker.io iproute2)")
    try:
        running = Daemon(folder)
    except (subprocess.CalledProcessError, AssertionError) as problem:
        not_run(f"a Docker daemon needs root, to make a bridge and to mount: {problem}")
    try:
        yield running
    finally:
        running.stop()
        assert eventually(lambda: not running_with(str(folder)), 20)
        assert not mounts_below(folder)
        assert not Path("/sys/class/net", running.bridge).exists()


def mounts_below(folder: Path) -> list[str]:
    """Return what is mounted below a folder."""
    fields = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [place for place in fields if place.startswith(f"{folder}/")]


def processes_in_containers(folder: Path) -> list[int]:
    """Return the processes whose root file system the daemon of this folder keeps."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                mounts = [line.split() for line in (entry / "mountinfo").read_text().splitlines()]
            except OSError:
                continue
            if any(words[4] == "/" and f"{folder}/" in " ".join((words[3], *words[9:])) for words in mounts):
                found.append(int(entry.name))
    return found


def make_python_base(client: Any, folder: Path) -> Path:
    """Lay out this Python for services of tests, and have the daemon know it as ``PYTHON_BASE``; return its folder."""
    root, archive = python_root(folder / "python-root"), folder / "python.tar"
    write_archive(root, PYTHON_BASE, archive, {})
    with archive.open("rb") as stream:
        client.images.load(stream)
    return root


def python_root(folder: Path) -> Path:
    """Lay out a folder with this Python and what services of tests use of its standard library; return it."""
    program = Path(sys.executable).resolve()
    used = _used_files(program)
    shared = [file for file in used if ".so" in file.name]
    lay_out(folder, [program, *used, *libraries(LocalHost(), [program, *shared])])
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin" / "python3").symlink_to(program)
    return folder


#: What services of tests import, and what their libraries import when they are used.
_IMPORTED = (
    "argparse, copy, encodings.ascii, encodings.idna, encodings.latin_1, http.server, json, linecache, locale, random,"
    " signal, site, socket, subprocess, sys, textwrap, threading, time, traceback, urllib.request, weakref"
)
_TOLD = """
for one in list(sys.modules.values()):
    print(getattr(one, "__file__", None))
    print(getattr(one, "__cached__", None))
"""


def _used_files(program: Path) -> list[Path]:
    """The files of the standard library, and their byte code, that a Python has loaded which imported all that."""
    library = Path(sysconfig.get_path("stdlib")).resolve()
    words = [str(program), "-I", "-S", "-c", f"import {_IMPORTED}{_TOLD}"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    files = {Path(name).resolve() for name in told if name.startswith("/")}
    return sorted(file for file in files if file.is_relative_to(library) and file.is_file())


def client_of(daemon: Daemon) -> Any:
    """Return a client that speaks to the daemon directly."""
    import docker

    return docker.DockerClient(base_url=daemon.address)


def container_launcher(root: Path, daemon: Daemon, base: Path) -> ContainerLauncher:
    """Return a launcher of containers of that daemon."""
    process = ProcessLauncher(LocalHost(), root, Tools())
    bases = {"other": base}
    return ContainerLauncher(process, root, bases=bases, grace_s=OBEYS_WITHIN_S, address=daemon.address)


class Contained(Started[ContainerLauncher, ContainerInstance]):
    """A project with a launcher of containers; ``close`` is sure that none is left."""

    def __init__(self, root: Path, daemon: Daemon, base: Path) -> None:
        self.client = client_of(daemon)
        launcher = container_launcher(make_project(root), daemon, base)
        super().__init__(root, LocalHost(), launcher, launcher.launch)

    def containers(self) -> list[Any]:
        wanted = {"label": f"{LABEL}={project_label(self.root)}"}
        return list(self.client.containers.list(all=True, filters=wanted, ignore_removed=True))

    def close(self) -> None:
        super().close()
        left = self.containers()
        self.client.close()
        assert left == []
