# SPDX-License-Identifier: Apache-2.0
"""What a far host keeps of ours: the folders of trials under way, and copies of finished folders.

Copies are named after their content: sent once, and looked at once a connection.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from harness.errors import HostError
from harness.hosts.ssh.agent_start import Agent
from harness.hosts.ssh.channel import AgentChannel
from harness.hosts.ssh.files import fetch_tree, put_files, send_tree, tree_name, tree_of
from harness.sampling import on_our_clock


def keep(
    channel: AgentChannel, folder: Path, artifacts: PurePosixPath, *, without: tuple[str, ...], host: str
) -> PurePosixPath:
    """Return where the host keeps its copy. One whose files are no longer those that were sent is sent again.

    ``without``: files whose relative names begin so belong to neither side's tree: the host adds such (AOT
    caches) and keeps them, unless they were made from a copy that had to be sent again.

    Raises:
        HostError: there is no room, or what arrived is not what was sent.
    """
    linked = next((path for path in folder.rglob("*") if path.is_symlink() and path.is_dir()), None)
    if linked is not None:
        raise HostError(
            f"{linked} is a link to a folder, which cannot be sent to {host}: measure on this machine"
        )
    tree = {name: sha256 for name, sha256 in tree_of(folder).items() if not name.startswith(without)}
    target = artifacts / tree_name(folder, tree)
    if channel.ask("exists", path=str(target))["exists"]:
        if _is_whole(channel.ask("inventory", folder=str(target)), folder, tree, without):
            return target
        channel.ask("remove", folder=str(target))
    send_tree(channel, folder, tree, str(target), host=host)
    return target


def _is_whole(
    found: Mapping[str, tuple[str, int, int]], folder: Path, tree: Mapping[str, str], without: tuple[str, ...]
) -> bool:
    """Whether the same files with the same content and the same right to be executed are there."""
    theirs = {
        name: (sha256, bool(runs))
        for name, (sha256, _, runs) in found.items()
        if not name.startswith(without)
    }
    return theirs == {name: (sha256, os.access(folder / name, os.X_OK)) for name, sha256 in tree.items()}


#: Below this a trial is not begun over there: its samples and logs must fit.
MIN_FREE_BYTES = 64 << 20
#: With less left than this when a trial ends, something of it may not have found room.
FULL_BELOW_BYTES = 1 << 20


class RemoteWorkspace:
    """The files of one host over SSH; see ``Shelf``."""

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

    def open_folder(self, ours: Path) -> Path:
        name = f"{next(self._numbers):05d}"
        folder = str(self._ask("make_folder", name=name, wanted_bytes=self._min_free_bytes)["folder"])
        with self._lock:
            self._folders[ours] = folder
        names = tuple(tree_of(ours))
        if names:
            self._ask("make_room", folder=folder, files=dict.fromkeys(names, 0))
            put_files(self._agent.channel, ours, names, PurePosixPath(folder), host=self._host)
        return Path(folder)

    def close_folder(self, ours: Path, *, monotonic_offset_s: float) -> None:
        """Bring the folder back, its samples on our clock; ``monotonic_offset_s``: the host's clock minus ours.

        Raises:
            HostError: it cannot be had whole.
        """
        with self._lock:
            folder = self._folders.pop(ours, None)
        if folder is None:
            return
        if self._ask("free_bytes")["bytes"] < FULL_BELOW_BYTES:
            raise HostError(
                f"{self._host}: no space left for {folder}: what this trial wrote may not be whole, so it is not "
                "kept; make room, or set another folder in hosts.toml; the same command resumes the session"
            )
        fetch_tree(self._agent.channel, folder, ours, host=self._host)
        for path in [path for path in self._sampled if str(path.parent) == folder]:
            on_our_clock(ours / path.name, monotonic_offset_s)
            self._sampled.remove(path)
        with suppress(HostError):  # it goes with the agent's folder
            self._ask("remove", folder=folder)

    def install(self, folder: Path, *, without: tuple[str, ...]) -> Path:
        key = (folder, without)
        if key not in self._installed:
            shelf = self._agent.base / "artifacts"
            kept = keep(self._agent.channel, folder, shelf, without=without, host=self._host)
            self._installed[key] = Path(kept)
        return self._installed[key]

    def discard(self, folder: Path) -> None:
        for key in [key for key, there in self._installed.items() if there == folder]:
            del self._installed[key]
        with suppress(HostError):  # it is in nobody's way
            self._ask("remove", folder=str(folder))
