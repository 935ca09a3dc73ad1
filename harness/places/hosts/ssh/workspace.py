# SPDX-License-Identifier: Apache-2.0
"""Files of ours on a far host: the folders of trials under way, and copies of finished folders.

Files go as archives through the connection and are compared by their hashes. Copies are named after their content:
sent once, and looked at once a connection.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from harness.agent.files import file_sha256
from harness.errors import HostError
from harness.model import HostClock
from harness.places.hosts.ssh.agent import Agent
from harness.places.sampling import on_our_clock

#: Below this a trial is not begun over there: its samples and logs must fit.
MIN_FREE_BYTES = 64 << 20
#: With less left than this when a trial ends, something of it may not have found room.
FULL_BELOW_BYTES = 1 << 20


class RemoteWorkspace:
    """The files of one host over SSH; see ``MeasuringHost``."""

    name: str
    #: The host's clocks minus ours.
    offset: HostClock

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._ask = agent.ask
        self._lock = threading.Lock()
        self._folders: dict[Path, str] = {}
        self._installed: dict[tuple[Path, tuple[str, ...]], Path] = {}
        #: Files over there whose moments are on the host's clock until their folder is closed.
        self._sampled: list[Path] = []
        self._numbers = itertools.count(1)

    def put(self, source: Path, target: Path) -> None:
        send_files(self.agent, {target.name: source}, str(target.parent))

    def get(self, source: Path, target: Path) -> None:
        fetch_files(self.agent, str(source.parent), {source.name: target})

    def open_folder(self, local: Path) -> Path:
        name = f"{next(self._numbers):05d}"
        folder = str(self._ask("make_folder", name=name, wanted_bytes=MIN_FREE_BYTES)["folder"])
        with self._lock:
            self._folders[local] = folder
        names = tuple(tree_of(local))
        if names:
            send_files(self.agent, {name: local / name for name in names}, folder)
        return Path(folder)

    def close_folder(self, local: Path) -> None:
        with self._lock:
            folder = self._folders.pop(local, None)
        if folder is None:
            return
        if self._ask("free_bytes")["bytes"] < FULL_BELOW_BYTES:
            raise HostError(
                f"{self.name}: no space left for {folder}: what this trial wrote may not be whole, so it is not "
                "kept; make room, or set another folder in hosts.toml; the same command resumes the session"
            )
        fetch_tree(self.agent, folder, local)
        for path in [path for path in self._sampled if str(path.parent) == folder]:
            on_our_clock(local / path.name, self.offset.monotonic_offset_s)
            self._sampled.remove(path)
        with suppress(HostError):  # it goes with the agent's folder
            self._ask("remove", folder=folder)

    def install(self, folder: Path, *, without: tuple[str, ...] = ()) -> Path:
        key = (folder, without)
        if key not in self._installed:
            self._installed[key] = Path(self._copy(folder, without))
        return self._installed[key]

    def _copy(self, folder: Path, without: tuple[str, ...]) -> PurePosixPath:
        """Return where the host has its copy; one whose files are no longer those that were sent is sent again.
        Files whose relative names begin as in ``without`` belong to neither side: the host adds such (AOT caches)."""
        linked = next((path for path in folder.rglob("*") if path.is_symlink() and path.is_dir()), None)
        if linked is not None:
            raise HostError(
                f"{linked} is a link to a folder, which cannot be sent to {self.name}: measure on this machine"
            )
        tree = {
            name: (sha256, os.access(folder / name, os.X_OK))
            for name, sha256 in tree_of(folder).items()
            if not name.startswith(without)
        }
        digest = hashlib.sha256()  # the same files with the same rights, the same name
        for name, (sha256, runs) in sorted(tree.items()):
            digest.update(f"{name}\0{sha256}\0{runs}\0".encode())
        target = self.agent.base / "artifacts" / digest.hexdigest()[:24]
        present = self._tree_there(str(target))
        if {name: known for name, known in present.items() if not name.startswith(without)} == tree:
            return target
        self._ask("remove", folder=str(target))
        part = f"{target}.part-{os.getpid()}-{id(folder):x}"
        try:
            send_files(self.agent, {name: folder / name for name in tree}, part)
            arrived = self._tree_there(part)
            wrong = sorted(name for name, known in tree.items() if arrived.get(name) != known)
            if wrong:
                raise HostError(f"{self.name}: {wrong[0]} arrived in {part} with another content than here")
            self._ask("adopt", part=part, folder=str(target))
        except HostError:
            with suppress(HostError):  # the first problem is the one worth saying
                self._ask("remove", folder=part)
            raise
        return target

    def _tree_there(self, folder: str) -> dict[str, tuple[str, bool]]:
        listed = self._ask("inventory", folder=folder)
        return {name: (sha256, bool(runs)) for name, (sha256, runs) in listed.items()}


def tree_of(folder: Path) -> dict[str, str]:
    """Return the hash of every file below, by its relative name; a link to a file is one."""
    return {
        path.relative_to(folder).as_posix(): file_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def send_files(agent: Agent, files: dict[str, Path], folder: str) -> None:
    """Write files of this machine below a folder there by the names given. Raises HostError: one cannot be read, or
    the host did not take them whole."""
    name = agent.link.name
    with tempfile.TemporaryFile() as stream:
        try:
            with tarfile.open(fileobj=stream, mode="w", dereference=True) as archive:
                for inner, source in files.items():
                    archive.add(source, arcname=inner, filter=_of_nobody)
        except OSError as problem:
            raise HostError(f"{problem.filename} -> {folder} on {name}: {problem.strerror}") from problem
        stream.seek(0)
        code, _, err = agent.link.run(agent.command("unpack", folder), stdin=stream, within_s=None)
    if code != 0:
        text = (err.strip().splitlines() or ["no output"])[-1]
        raise HostError(f"{name}: {folder} was not taken whole ({text}); its disk may be full")


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Have a file belong to the user there, also where that is root."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def fetch_files(agent: Agent, folder: str, files: dict[str, Path]) -> None:
    """Copy files of a folder there, by their names, to places here. Raises HostError: one did not arrive."""
    name, missing = agent.link.name, set(files)
    process = agent.link.start(agent.command("pack", folder))
    try:
        process.stdin.write("".join(f"{inner}\0" for inner in files).encode("utf-8", "surrogateescape"))
        process.stdin.close()
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                content = archive.extractfile(member)
                if member.name in missing and content is not None:
                    with files[member.name].open("wb") as out:
                        shutil.copyfileobj(content, out)
                    missing.discard(member.name)
    except (OSError, tarfile.TarError) as problem:
        raise HostError(f"{name}: {folder} does not arrive here: {problem}") from problem
    finally:
        process.kill()
        process.wait()
    if missing:
        raise HostError(f"{name}: {folder}/{min(missing)} cannot be read, or the connection broke")


def refuse_outside(names: Iterable[str], host: str) -> None:
    """Refuse names of files that do not stand below a folder. Raises HostError: names the first."""
    for name in names:  # the host tells what a trial left, and chooses no place of this machine
        steps = PurePosixPath(name).parts
        if not steps or name.startswith("/") or ".." in steps or "\0" in name:
            raise HostError(f"{host}: it names the file {name!r}, which is not below the trial's folder")


def fetch_tree(agent: Agent, source: str, folder: Path) -> None:
    """Bring back every file below; each gets its name here when its hash is the one it has there. Raises HostError:
    one arrived otherwise than it is there, or stands elsewhere than below ``folder``; nothing of it is kept."""
    host, listed = agent.link.name, agent.ask("inventory", folder=source)
    refuse_outside(listed, host)
    parts = {name: (folder / name).with_name(f"{Path(name).name}.part") for name in sorted(listed)}
    try:
        for part in parts.values():
            part.parent.mkdir(parents=True, exist_ok=True)
        if parts:
            fetch_files(agent, source, parts)
        for name, part in parts.items():
            if file_sha256(part) != listed[name][0]:
                raise HostError(
                    f"{host}: {name} arrived here with another content than it has in {source}; it was not kept"
                )
            part.replace(folder / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
