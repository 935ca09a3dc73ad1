# SPDX-License-Identifier: Apache-2.0
"""Folders that a far host keeps a copy of, named after their content: sent once, and looked at once a connection."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from harness.hosts.ssh.channel import AgentChannel
from harness.hosts.ssh.files import send_tree, tree_name, tree_of


def keep(
    channel: AgentChannel, folder: Path, artifacts: PurePosixPath, *, without: tuple[str, ...], host: str
) -> PurePosixPath:
    """Return where the host keeps its copy. One whose files are no longer those that were sent is sent again.

    ``without``: files whose relative names begin so belong to neither side's tree: the host adds such (AOT
    caches) and keeps them, unless they were made from a copy that had to be sent again.

    Raises:
        HostError: there is no room, or what arrived is not what was sent.
    """
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
