# SPDX-License-Identifier: Apache-2.0
"""Files to and from a far host by SFTP, each checked by its hash on both sides."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath

import paramiko

from harness.contents import file_sha256
from harness.errors import HostError
from harness.remote.channel import AgentChannel


def put_file(client: paramiko.SSHClient, source: Path, target: PurePosixPath | Path, *, host: str) -> None:
    """Send one file.

    Raises:
        HostError: it cannot be read here or written there.
    """
    try:
        with closing(client.open_sftp()) as sftp:
            sftp.put(str(source), str(target), confirm=True)
            sftp.chmod(str(target), stat.S_IMODE(source.stat().st_mode))
    except (OSError, EOFError, paramiko.SSHException) as problem:
        raise HostError(f"{source} -> {target} on {host}: {_words(problem)}") from problem


def get_file(client: paramiko.SSHClient, source: PurePosixPath | Path, target: Path, *, host: str) -> None:
    """Fetch one file.

    Raises:
        HostError: it cannot be read there or written here.
    """
    try:
        with closing(client.open_sftp()) as sftp:
            sftp.get(str(source), str(target))
    except (OSError, EOFError, paramiko.SSHException) as problem:
        raise HostError(f"{source} on {host} -> {target}: {_words(problem)}") from problem


def tree_of(folder: Path) -> dict[str, str]:
    """Return the hash of every file below, by its relative name."""
    return {
        path.relative_to(folder).as_posix(): file_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def tree_name(folder: Path, tree: Mapping[str, str]) -> str:
    """Return a name for the content of a folder: the same files with the same rights, the same name."""
    digest = hashlib.sha256()
    for name, sha256 in sorted(tree.items()):
        runs = os.access(folder / name, os.X_OK)
        digest.update(f"{name}\0{sha256}\0{runs}\0".encode())
    return digest.hexdigest()[:24]


def send_tree(
    channel: AgentChannel, folder: Path, tree: Mapping[str, str], target: str, *, host: str
) -> None:
    """Send a folder under a passing name, have every file hashed there, then give it its name.

    Raises:
        HostError: there is no room, or what arrived is not what was sent.
    """
    part = f"{target}.part-{os.getpid()}-{id(folder):x}"
    sizes = {name: (folder / name).stat().st_size for name in tree}
    try:
        channel.ask("make_room", folder=part, files=sizes)
        for name in tree:
            put_file(channel.client, folder / name, PurePosixPath(part) / name, host=host)
        arrived = channel.ask("inventory", folder=part)
        wrong = sorted(name for name, sha256 in tree.items() if arrived.get(name, [None])[0] != sha256)
        if wrong:
            raise HostError(f"{host}: {wrong[0]} arrived in {part} with another content than it has here")
        channel.ask("adopt", part=part, folder=target)
    except HostError:
        _forget(channel, part)
        raise


def fetch_tree(channel: AgentChannel, source: str, folder: Path, *, host: str) -> None:
    """Bring back every file below, whole or not at all.

    Raises:
        HostError: one arrived otherwise than it is there, twice.
    """
    for name, (sha256, _, _) in sorted(channel.ask("inventory", folder=source).items()):
        ours = folder / name
        ours.parent.mkdir(parents=True, exist_ok=True)
        for last in (False, True):
            get_file(channel.client, PurePosixPath(source) / name, ours, host=host)
            if file_sha256(ours) == sha256:
                break
            if last:
                raise HostError(f"{host}: {name} arrived here with another content than it has in {source}")


def _forget(channel: AgentChannel, folder: str) -> None:
    try:
        channel.ask("remove", folder=folder)
    except HostError:  # the first problem is the one worth saying
        return


def _words(problem: BaseException) -> str:
    said = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return "the host refused it (its disk may be full)" if said == "Failure" else said
