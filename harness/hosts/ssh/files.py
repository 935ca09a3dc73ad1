# SPDX-License-Identifier: Apache-2.0
"""Files to and from a far host by SFTP, each checked by its hash on both sides."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath

import paramiko

from harness.agent.hashing import file_sha256
from harness.errors import HostError
from harness.hosts.ssh.channel import AgentChannel

ATTEMPTS = 3


def put_file(channel: AgentChannel, source: Path, target: PurePosixPath | Path, *, host: str) -> None:
    """Send one file.

    Raises:
        HostError: it cannot be read here or written there.
    """
    _transfer(channel, lambda sftp: _put(sftp, source, target), f"{source} -> {target} on {host}")


def put_files(
    channel: AgentChannel, folder: Path, names: Iterable[str], target: PurePosixPath | Path, *, host: str
) -> None:
    """Send files of a folder one after the other, all in one session of the transfer.

    Raises:
        HostError: one cannot be read here or written there.
    """
    left = list(names)

    def put(sftp: paramiko.SFTPClient) -> None:
        while left:
            _put(sftp, folder / left[0], target / left[0])
            left.pop(0)

    _transfer(channel, put, lambda: f"{folder / left[0]} -> {target} on {host}")


def _put(sftp: paramiko.SFTPClient, source: Path, target: PurePosixPath | Path) -> None:
    sftp.put(str(source), str(target), confirm=True)
    sftp.chmod(str(target), stat.S_IMODE(source.stat().st_mode))


def get_file(channel: AgentChannel, source: PurePosixPath | Path, target: Path, *, host: str) -> None:
    """Fetch one file.

    Raises:
        HostError: it cannot be read there or written here.
    """
    _transfer(channel, lambda sftp: _get(sftp, source, target), f"{source} on {host} -> {target}")


def get_files(
    channel: AgentChannel, folder: PurePosixPath, targets: Mapping[str, Path], *, host: str
) -> None:
    """Fetch files of a folder one after the other, all in one session of the transfer; ``targets``: by their names.

    Raises:
        HostError: one cannot be read there or written here.
    """
    left = list(targets.items())

    def get(sftp: paramiko.SFTPClient) -> None:
        while left:
            name, target = left[0]
            _get(sftp, folder / name, target)
            left.pop(0)

    _transfer(channel, get, lambda: f"{folder / left[0][0]} on {host} -> {left[0][1]}")


def _get(sftp: paramiko.SFTPClient, source: PurePosixPath | Path, target: Path) -> None:
    sftp.get(str(source), str(target))


def _transfer(
    channel: AgentChannel, act: Callable[[paramiko.SFTPClient], None], what: str | Callable[[], str]
) -> None:
    """Do it, and once more over the next connection when this one breaks under it."""
    for attempt in range(ATTEMPTS):
        client = channel.client
        try:
            with closing(client.open_sftp()) as sftp:
                act(sftp)
            return
        except (OSError, EOFError, AttributeError, paramiko.SSHException) as problem:
            transport = client.get_transport()
            if (transport is not None and transport.is_active()) or attempt == ATTEMPTS - 1:
                said = what if isinstance(what, str) else what()
                raise HostError(f"{said}: {_words(problem)}") from problem
        channel.ask("ping")  # waits for the next connection, or says that the host is gone


def tree_of(folder: Path) -> dict[str, str]:
    """Return the hash of every file below, by its relative name; a link to a file is one."""
    return {
        path.relative_to(folder).as_posix(): file_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
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
        put_files(channel, folder, tree, PurePosixPath(part), host=host)
        arrived = channel.ask("inventory", folder=part)
        wrong = sorted(name for name, sha256 in tree.items() if arrived.get(name, [None])[0] != sha256)
        if wrong:
            raise HostError(f"{host}: {wrong[0]} arrived in {part} with another content than it has here")
        channel.ask("adopt", part=part, folder=target)
    except HostError:
        _forget(channel, part)
        raise


def fetch_tree(channel: AgentChannel, source: str, folder: Path, *, host: str) -> None:
    """Bring back every file below; each gets its name here when its hash is the one it has there.

    Raises:
        HostError: one arrived otherwise than it is there, twice; nothing of it is kept. Or the host names one
            that would stand elsewhere than below ``folder``; nothing is fetched then.
    """
    listed = channel.ask("inventory", folder=source)
    for name in listed:
        _refuse_outside(name, host=host)
    parts = {}
    for name in sorted(listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        parts[name] = (folder / name).with_name(f"{Path(name).name}.part")
    try:
        get_files(channel, PurePosixPath(source), parts, host=host)
        for name, part in tuple(parts.items()):
            sha256 = listed[name][0]
            if file_sha256(part) != sha256:
                get_file(channel, PurePosixPath(source) / name, part, host=host)
                if file_sha256(part) != sha256:
                    raise HostError(
                        f"{host}: {name} arrived here twice with another content than it has in {source}; it was "
                        "not kept. Something on the way changes bytes: copy a large file by hand and compare"
                    )
            part.replace(folder / name)
            del parts[name]
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _refuse_outside(name: str, *, host: str) -> None:
    """Refuse a name by which a host would choose a place of this machine: it tells what a trial left, no more."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise HostError(f"{host}: it names the file {name!r}, which is not below the trial's folder")


def _forget(channel: AgentChannel, folder: str) -> None:
    try:
        channel.ask("remove", folder=folder)
    except HostError:  # the first problem is the one worth saying
        return


def _words(problem: BaseException) -> str:
    said = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    full = said == "Failure" or said.startswith("size mismatch")
    return f"the host did not take it whole ({said}); its disk may be full" if full else said
