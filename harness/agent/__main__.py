# SPDX-License-Identifier: Apache-2.0
"""``agent start``: bring the agent up as a daemon; ``attach``: reach it.

``start BASE`` prints one line of JSON and returns when the daemon (``serve``) listens. ``attach FOLDER`` passes bytes
between stdin and stdout and the daemon's socket until one of them ends.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.agent.files import SCRATCH, remove_scratch
from harness.agent.platforms import return_large_blocks
from harness.agent.processes import alive, kill_group, read_stat
from harness.agent.server import SOCKET, Server

#: In the folder of a daemon: its process, its start and its time of grace.
ABOUT = "agent.json"
CHUNK = 65536


def main() -> None:
    parser = argparse.ArgumentParser(prog="agent")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, folder in (("start", "base"), ("serve", "folder")):
        command = commands.add_parser(name)
        command.add_argument(folder, type=Path)
        command.add_argument("--grace-s", type=float, default=30.0, help="time without a message")
    commands.add_parser("attach").add_argument("folder")
    options = parser.parse_args()
    if options.command == "start":
        print(json.dumps(start_daemon(options.base, options.grace_s)), flush=True)
    elif options.command == "serve":
        os.umask(0o077)
        return_large_blocks()
        Server(options.folder, options.grace_s).serve()
        os._exit(0)
    else:
        os.chdir(options.folder)  # a path in a socket's address may have no more than 107 bytes
        link = socket.socket(socket.AF_UNIX)
        link.connect(SOCKET)
        pass_bytes(link)


def pass_bytes(daemon: socket.socket) -> None:
    """Pass bytes between stdin/stdout and a connection until either side ends."""
    with daemon, selectors.DefaultSelector() as selector:
        selector.register(daemon, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = daemon.recv(CHUNK) if key.fileobj is daemon else os.read(0, CHUNK)
                if not data:
                    return
                if key.fileobj is not daemon:
                    daemon.sendall(data)
                    continue
                while data:
                    data = data[os.write(1, data) :]


def start_daemon(base: Path, grace_s: float) -> dict[str, object]:
    """Start a daemon with a folder of its own; return where it is, and which others of ours live."""
    sessions = base / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    daemons = sweep(sessions)
    folder = Path(tempfile.mkdtemp(prefix="agent-", dir=str(sessions)))  # nobody else may look into it
    stub = pkgutil.get_data("harness.agent", "spawn_stub.py")
    assert stub is not None
    (folder / "spawn_stub.py").write_bytes(stub)
    words = [sys.executable, "-I", sys.argv[0], "serve", str(folder), "--grace-s", repr(grace_s)]
    with open(str(folder / "agent.log"), "ab") as log:
        daemon = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
        )
    stat = read_stat(daemon.pid)
    about = {"pid": daemon.pid, "start_ticks": stat.start_ticks if stat else 0, "grace_s": grace_s}
    about["started_epoch_s"] = time.time()
    (folder / ABOUT).write_text(json.dumps(about))
    while not (folder / SOCKET).exists():
        if daemon.poll() is not None:
            text = (folder / "agent.log").read_text(errors="replace")
            shutil.rmtree(str(folder), ignore_errors=True)
            raise SystemExit(f"the agent did not start: {text.strip()[-300:]}")
        time.sleep(0.002)
    return {**about, "folder": str(folder), "others": daemons, "python": sys.version.split()[0]}


def sweep(sessions: Path) -> list[dict[str, object]]:
    """Return the daemons that live; end what a killed one left behind, and remove its folder."""
    daemons: list[dict[str, object]] = []
    for folder in sorted(sessions.glob("agent-*")):
        try:
            about = json.loads((folder / ABOUT).read_text())
        except (OSError, ValueError):
            about = {"pid": 0, "start_ticks": 0}
        if about["pid"] and alive(about["pid"], about["start_ticks"]):
            daemons.append(about)
            continue
        for note in folder.glob("running/*"):
            group, _, ticks = note.name.partition("-")
            kill_group(int(group), int(ticks))
        remove_scratch(folder / SCRATCH)
        shutil.rmtree(str(folder), ignore_errors=True)
    return daemons


if __name__ == "__main__":
    main()
