# SPDX-License-Identifier: Apache-2.0
"""What a far host keeps of ours: the folders of trials under way, and copies of finished folders.

Copies are named after their content: sent once, and looked at once a connection.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import paramiko

from harness.agent.files import file_sha256
from harness.errors import HostError
from harness.hosts.ssh.agent_start import Agent
from harness.hosts.ssh.channel import AgentChannel
from harness.sampling import on_our_clock


def keep(
    channel: AgentChannel, folder: Path, artifacts: PurePosixPath, *, without: tuple[str, ...], host: str
) -> PurePosixPath:
    """Return where the host keeps its copy; one whose files are no longer those that were sent is sent again.
    ``without``: files whose relative names begin so belong to neither side's tree: the host adds such (AOT caches).
    Raises HostError: there is no room, or what arrived is not what was sent."""
    linked = next((path for path in folder.rglob("*") if path.is_symlink() and path.is_dir()), None)
    if linked is not None:
        raise HostError(
            f"{linked} is a link to a folder, which cannot be sent to {host}: measure on this machine"
        )
    tree = {name: sha256 for name, sha256 in tree_of(folder).items() if not name.startswith(without)}
    digest = hashlib.sha256()  # the same files with the same rights, the same name
    for name, sha256 in sorted(tree.items()):
        digest.update(f"{name}\0{sha256}\0{os.access(folder / name, os.X_OK)}\0".encode())
    target = artifacts / digest.hexdigest()[:24]
    if channel.ask("exists", path=str(target))["exists"]:
        present = {
            name: (sha256, bool(runs))
            for name, (sha256, _, runs) in channel.ask("inventory", folder=str(target)).items()
            if not name.startswith(without)
        }
        if present == {name: (sha256, os.access(folder / name, os.X_OK)) for name, sha256 in tree.items()}:
            return target
        channel.ask("remove", folder=str(target))
    send_tree(channel, folder, tree, str(target), host=host)
    return target


#: Below this a trial is not begun over there: its samples and logs must fit.
MIN_FREE_BYTES = 64 << 20
#: With less left than this when a trial ends, something of it may not have found room.
FULL_BELOW_BYTES = 1 << 20


class RemoteWorkspace:
    """The files of one host over SSH; see ``MeasuringHost``."""

    def __init__(self, agent: Agent, *, host: str, min_free_bytes: int) -> None:
        self._agent, self._host, self._min_free_bytes = agent, host, min_free_bytes
        self._ask = agent.channel.ask
        self._lock = threading.Lock()
        self._folders: dict[Path, str] = {}
        self._installed: dict[tuple[Path, tuple[str, ...]], Path] = {}
        self._sampled: list[Path] = []
        self._numbers = itertools.count(1)

    def note_samples(self, *files: Path) -> None:
        """Note files over there whose moments are on the host's clock until their folder is closed."""
        self._sampled += files

    def put(self, source: Path, target: Path) -> None:
        transfer(self._agent.channel, _put, [(source, target)], f"{{}} -> {{}} on {self._host}")

    def get(self, source: Path, target: Path) -> None:
        transfer(self._agent.channel, _get, [(source, target)], f"{{}} on {self._host} -> {{}}")

    def open_folder(self, local: Path) -> Path:
        name = f"{next(self._numbers):05d}"
        folder = str(self._ask("make_folder", name=name, wanted_bytes=self._min_free_bytes)["folder"])
        with self._lock:
            self._folders[local] = folder
        names = tuple(tree_of(local))
        if names:
            self._ask("make_room", folder=folder, files=dict.fromkeys(names, 0))
            put_files(self._agent.channel, local, names, PurePosixPath(folder), host=self._host)
        return Path(folder)

    def fetch_folder(self, local: Path, *, monotonic_offset_s: float) -> None:
        """Bring the folder back, its samples on our clock; ``monotonic_offset_s``: the host's clock minus ours.

        Raises HostError: it cannot be had whole.
        """
        with self._lock:
            folder = self._folders.pop(local, None)
        if folder is None:
            return
        if self._ask("free_bytes")["bytes"] < FULL_BELOW_BYTES:
            raise HostError(
                f"{self._host}: no space left for {folder}: what this trial wrote may not be whole, so it is not "
                "kept; make room, or set another folder in hosts.toml; the same command resumes the session"
            )
        fetch_tree(self._agent.channel, folder, local, host=self._host)
        for path in [path for path in self._sampled if str(path.parent) == folder]:
            on_our_clock(local / path.name, monotonic_offset_s)
            self._sampled.remove(path)
        with suppress(HostError):  # it goes with the agent's folder
            self._ask("remove", folder=folder)

    def install(self, folder: Path, *, without: tuple[str, ...] = ()) -> Path:
        key = (folder, without)
        if key not in self._installed:
            shelf = self._agent.base / "artifacts"
            copy = keep(self._agent.channel, folder, shelf, without=without, host=self._host)
            self._installed[key] = Path(copy)
        return self._installed[key]

    def discard(self, folder: Path) -> None:
        for key in [key for key, remote in self._installed.items() if remote == folder]:
            del self._installed[key]
        with suppress(HostError):  # it is in nobody's way
            self._ask("remove", folder=str(folder))


ATTEMPTS = 3


def put_files(
    channel: AgentChannel, folder: Path, names: Iterable[str], target: PurePosixPath | Path, *, host: str
) -> None:
    """Send files of a folder, all in one session of the transfer. Raises HostError: one cannot be read or written."""
    transfer(channel, _put, [(folder / name, target / name) for name in names], f"{{}} -> {{}} on {host}")


def _put(sftp: paramiko.SFTPClient, source: Path, target: PurePosixPath | Path) -> None:
    sftp.put(str(source), str(target), confirm=True)
    sftp.chmod(str(target), stat.S_IMODE(source.stat().st_mode))


def _get(sftp: paramiko.SFTPClient, source: PurePosixPath | Path, target: Path) -> None:
    sftp.get(str(source), str(target))


def transfer(
    channel: AgentChannel, act: Callable[..., None], pairs: Iterable[tuple[Any, Any]], text: str
) -> None:
    """Do it (``_put`` or ``_get``) for each pair, and go on over the next connection when this one breaks; ``text``
    names the pair at fault. Raises HostError: one cannot be read or written."""
    left = [*pairs]
    for attempt in range(ATTEMPTS):
        client = channel.client
        try:
            with closing(client.open_sftp()) as sftp:
                while left:
                    act(sftp, *left[0])
                    left.pop(0)
            return
        except (OSError, EOFError, AttributeError, paramiko.SSHException) as problem:
            transport = client.get_transport()
            if (transport is not None and transport.is_active()) or attempt == ATTEMPTS - 1:
                where = text.format(*left[0]) if left else f"a transfer ({text})"
                raise HostError(f"{where}: {_words(problem)}") from problem
        channel.ask("ping")  # waits for the next connection, or says that the host is gone


def tree_of(folder: Path) -> dict[str, str]:
    """Return the hash of every file below, by its relative name; a link to a file is one."""
    return {
        path.relative_to(folder).as_posix(): file_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def send_tree(
    channel: AgentChannel, folder: Path, tree: Mapping[str, str], target: str, *, host: str
) -> None:
    """Send a folder under a passing name, have every file hashed there, then give it its name; raises as ``keep``."""
    part = f"{target}.part-{os.getpid()}-{id(folder):x}"
    sizes = {name: (folder / name).stat().st_size for name in tree}
    try:
        channel.ask("make_room", folder=part, files=sizes)
        put_files(channel, folder, tree, PurePosixPath(part), host=host)
        arrived = channel.ask("inventory", folder=part)
        wrong = sorted(name for name, sha256 in tree.items() if arrived.get(name, [None])[0] != sha256)
        if wrong:
            raise HostError(f"{host}: {wrong[0]} arrived in {part} with another content than it has here")
        channel.ask("adopt", part=part, folder=target)
    except HostError:
        with suppress(HostError):  # the first problem is the one worth saying
            channel.ask("remove", folder=part)
        raise


def fetch_tree(channel: AgentChannel, source: str, folder: Path, *, host: str) -> None:
    """Bring back every file below; each gets its name here when its hash is the one it has there. Raises HostError:
    one arrived otherwise than it is there, or stands elsewhere than below ``folder``; nothing of it is kept."""
    listed = channel.ask("inventory", folder=source)
    for name in listed:  # it tells what a trial left, and chooses no place of this machine
        steps = PurePosixPath(name).parts
        if not steps or name.startswith("/") or ".." in steps or "\0" in name:
            raise HostError(f"{host}: it names the file {name!r}, which is not below the trial's folder")
    parts = {name: (folder / name).with_name(f"{Path(name).name}.part") for name in sorted(listed)}
    try:
        for part in parts.values():
            part.parent.mkdir(parents=True, exist_ok=True)
        base = PurePosixPath(source)
        transfer(
            channel, _get, [(base / name, part) for name, part in parts.items()], f"{{}} on {host} -> {{}}"
        )
        for name, part in parts.items():
            if file_sha256(part) != listed[name][0]:
                raise HostError(
                    f"{host}: {name} arrived here with another content than it has in {source}; it was not kept"
                )
            part.replace(folder / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _words(problem: BaseException) -> str:
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    full = text == "Failure" or text.startswith("size mismatch")
    return f"the host did not take it whole ({text}); its disk may be full" if full else text
