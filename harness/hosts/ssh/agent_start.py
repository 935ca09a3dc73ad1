# SPDX-License-Identifier: Apache-2.0
"""Bringing the agent up on a far host: find a Python, send one file made of the agent's own modules, start it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shlex
import time
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import paramiko

from harness.errors import HostError, OrphanError
from harness.hosts.ssh.channel import AgentChannel
from harness.hosts.ssh.connection import connect
from harness.hosts.ssh.settings import HostSettings, connecting

PYTHONS = "python3 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 /usr/bin/python3"
_OLDEST = "import sys; sys.exit(0 if sys.version_info >= (3, 8) else 1)"
FOLDER = ".cache/rematch"
ANSWER_WITHIN_S = 30.0
#: An agent that lost its controller ends by itself after its grace; this is on top of it.
LEEWAY_S = 5.0
#: What paramiko gives for a channel that was closed before the command had ended by itself.
NO_STATUS = -1


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A started agent: how to ask it, and where things stand on its host."""

    channel: AgentChannel
    base: PurePosixPath
    python: str
    python_version: str


def start_agent(name: str, settings: HostSettings, *, alone: bool = True) -> Agent:
    """Connect and start the agent; ``alone``: wait for one that an ended session left, refuse one at work. Raises
    HostError: the host cannot be reached, has no Python, or no room; OrphanError: another session measures there."""
    target = connecting(name, settings)
    client = connect(target)
    try:
        base = _base(client, settings, name)
        python = _python(client, settings, name)
        file = base / agent_name()
        _send(client, file, name)
        words = [python, "-I", str(file), "start", str(base), "--grace-s", repr(settings.grace_s)]
        deadline = time.monotonic() + LEEWAY_S + settings.grace_s
        while True:
            started = _started(client, words, name)
            folder = started["folder"]
            channel = AgentChannel(target, client, python, str(file), folder, settings.grace_s)
            if not alone or not started["others"]:
                return Agent(channel=channel, base=base, python=python, python_version=str(started["python"]))
            channel.close()
            if time.monotonic() > deadline:
                session = started["others"][0]
                raise OrphanError(
                    f"{name}: another session is running there (agent {session['pid']}); wait for it: two sessions "
                    f"would disturb each other. If it is left over: kill {session['pid']} on {name}"
                )
            time.sleep(1.0)
            client = connect(target)
    except BaseException:
        client.close()
        raise


def _base(client: paramiko.SSHClient, settings: HostSettings, name: str) -> PurePosixPath:
    """The folder of ours, made if need be."""
    if settings.folder is not None and settings.folder.startswith("/"):
        base = PurePosixPath(settings.folder)
    else:
        home = _say(client, 'printf %s "$HOME"', name)[1]
        base = PurePosixPath(home or "/tmp") / (settings.folder or FOLDER)
    # a folder with a name that anybody can guess may be there already, and what lies in it is started
    words = 'umask 077 && mkdir -p "$1/artifacts" && test -O "$1" && test -O "$1/artifacts"'
    code, _, err = _say(client, f"sh -c {shlex.quote(words)} sh {shlex.quote(str(base))}", name)
    if code != 0:
        why = err.strip() or "it is there and belongs to another user"
        raise HostError(f"{name}: cannot make {base}: {why}; set another folder in hosts.toml")
    return base


def _python(client: paramiko.SSHClient, settings: HostSettings, name: str) -> str:
    """The first Python there that is new enough."""
    tried = shlex.quote(settings.python) if settings.python else PYTHONS
    script = (
        f'for p in {tried}; do if "$p" -c {shlex.quote(_OLDEST)} 2>/dev/null; '
        'then command -v "$p"; exit 0; fi; done; exit 1'
    )
    code, out, _ = _say(client, f"sh -c {shlex.quote(script)}", name)
    if code != 0:
        raise HostError(
            f"{name}: no Python >= 3.8 there (tried: {tried}); nothing else is needed: install one "
            '(apt-get install -y python3), or say in hosts.toml where it is: python = "/path/of/python3"'
        )
    return out.strip()


def _send(client: paramiko.SSHClient, file: PurePosixPath, name: str) -> None:
    """Send the agent unless it is there: its name holds its hash, and it gets it only when it is whole."""
    if _say(client, f"test -s {shlex.quote(str(file))}", name)[0] == 0:
        return
    part = file.with_name(f".{file.name}.{time.monotonic_ns()}")
    try:
        with contextlib.closing(client.open_sftp()) as sftp:
            sftp.putfo(io.BytesIO(agent_file()), str(part))  # an error where it has another size there
            sftp.posix_rename(str(part), str(file))
    except (OSError, EOFError, paramiko.SSHException) as problem:
        with contextlib.suppress(HostError):  # where the connection broke, nothing can be asked either
            _say(client, f"rm -f {shlex.quote(str(part))}", name)
        text = "the disk there may be full" if str(problem) == "Failure" else str(problem) or "no connection"
        raise HostError(f"{name}: cannot send the agent to {file}: {text}") from problem


def _started(client: paramiko.SSHClient, words: list[str], name: str) -> dict[str, Any]:
    code, out, err = _say(client, shlex.join(words), name)
    try:
        started: dict[str, Any] = json.loads(out)
    except ValueError:
        text = (err.strip().splitlines() or ["no output"])[-1]
        raise HostError(f"{name}: the agent did not start (exit code {code}): {text}") from None
    return started


def _say(client: paramiko.SSHClient, words: str, name: str) -> tuple[int, str, str]:
    """Run one short command by the user's shell there; return its exit code and what it said."""
    try:
        _, out, err = client.exec_command(words, timeout=ANSWER_WITHIN_S)
        with contextlib.closing(out.channel):
            text, complained = out.read().decode(errors="replace"), err.read().decode(errors="replace")
            code = out.channel.recv_exit_status()
        if code == NO_STATUS:
            raise EOFError("the connection, or the command, was ended from there")
        return code, text, complained
    except (OSError, EOFError, paramiko.SSHException) as problem:
        raise HostError(f"{name}: no answer to {words[:60]!r}: {problem}") from problem


_HARNESS = Path(__file__).resolve().parents[2]
_MAIN = """import sys
if sys.argv[1] in ("attach", "dial"):
    from harness.agent import relay
    getattr(relay, sys.argv[1])(sys.argv[2])
else:
    from harness.agent.__main__ import main
    main()
"""
#: The same modules give the same bytes, and so the same name, on every day.
_DATE = (1980, 1, 1, 0, 0, 0)


@cache
def agent_file() -> bytes:
    """Return the file's content."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [_HARNESS / "errors.py", *(_HARNESS / "agent").glob("*.py")]
        texts = {
            f"harness/{path.relative_to(_HARNESS).as_posix()}": path.read_text("utf-8") for path in files
        }
        texts["harness/__init__.py"] = ""  # here it imports what needs an installation
        texts["__main__.py"] = _MAIN
        for name, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def agent_name() -> str:
    """Return the file's name over there: its content's hash is part of it."""
    return f"agent-{hashlib.sha256(agent_file()).hexdigest()[:16]}.pyz"
