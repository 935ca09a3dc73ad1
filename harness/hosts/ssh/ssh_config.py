# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's own answer of how a name is reached (``ssh -G``), which follows Include, Match and Host."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.errors import InputError, MissingTool
from harness.model import Frozen

SSH_CONFIG = Path("~/.ssh/config")
SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
KNOWN = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
ANSWER_WITHIN_S = 20.0
#: In what ssh says of any name, these differ though nothing was written about it.
_ECHOES = ("host", "hostname", "controlpath")
_NOBODY = "rematch-no-such-host"


class SshSays(Frozen):
    """How a name is reached. ``~`` and percent tokens are resolved; whether the files exist was not asked."""

    address: str
    port: int
    user: str | None
    keys: tuple[Path, ...] = ()
    known_hosts: tuple[Path, ...] = ()
    known_to_all: tuple[Path, ...] = ()
    known_as: str | None = None
    proxy: str | None = None
    jump: str | None = None


def ask_ssh(alias: str, *, port: int | None = None, user: str | None = None) -> SshSays:
    """Return how ``ssh`` would reach a name; ``port`` and ``user`` go before what is written.

    Raises:
        InputError: what is written is wrong.
        MissingTool: there is no ssh on PATH.
    """
    config = _said(alias, port, user)
    address = config.get("hostname", [alias])[0]
    login, known_as = config.get("user", [""])[0] or None, _unless_none(config.get("hostkeyalias"))
    tokens = {
        "%": "%",
        "d": str(Path.home()),
        "h": address,
        "i": str(os.getuid()),
        "k": known_as or alias,
        "l": socket.gethostname(),
        "L": socket.gethostname().partition(".")[0],
        "n": alias,
        "p": config["port"][0],
        "r": login or "",
        "u": getpass.getuser(),
    }

    def files(key: str) -> tuple[Path, ...]:
        words = [
            word
            for line in config.get(key, [])
            for word in ([line] if key == "identityfile" else line.split())
        ]
        return tuple(Path(expand(word, tokens)).expanduser() for word in words if word != "none")

    proxy = _unless_none(config.get("proxycommand"))
    return SshSays(
        address=address,
        port=int(config["port"][0]),
        user=login,
        keys=files("identityfile"),
        known_hosts=files("userknownhostsfile"),
        known_to_all=files("globalknownhostsfile"),
        known_as=known_as,
        proxy=None if proxy is None else expand(proxy, tokens),
        jump=_unless_none(config.get("proxyjump")),
    )


def is_written(name: str) -> bool:
    """Whether ssh's configuration says anything of this name that it does not say of every name.

    Raises:
        InputError: what is written is wrong.
        MissingTool: there is no ssh on PATH.
    """
    config, of_nobody = _said(name, None, None), _said(_NOBODY, None, None)
    if config.get("hostname", [name]) != [name]:
        return True
    return any(config.get(key) != of_nobody.get(key) for key in {*config, *of_nobody} - set(_ECHOES))


def expand(text: str, tokens: Mapping[str, str]) -> str:
    """Return a text with ``%x`` and ``${NAME}`` resolved as ssh does; what is unknown stays as it is."""
    text = re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)
    return re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], match[0]), text)


def _said(alias: str, port: int | None, user: str | None) -> dict[str, list[str]]:
    """Return what ``ssh -G`` prints, by key."""
    ssh = shutil.which("ssh")
    if ssh is None:
        raise MissingTool(
            "ssh", why="to read how hosts are reached", how_to_get="apt-get install -y openssh-client"
        )
    options = [*(["-p", str(port)] if port else []), *(["-l", user] if user else [])]
    # ssh takes the home folder from the accounts; everything else here takes it from HOME, as tests do
    known = " ".join(f'"{Path(file).expanduser()}"' for file in KNOWN)
    text = f'Include "{SSH_CONFIG.expanduser()}"\nMatch all\nUserKnownHostsFile {known}\nInclude {SYSTEM_CONFIG}\n'
    with tempfile.NamedTemporaryFile("w", prefix="rematch-ssh-", encoding="utf-8") as file:
        file.write(text)
        file.flush()  # not a pipe: ``Match final`` has it read twice
        try:
            done = subprocess.run(
                [ssh, "-G", "-F", file.name, *options, "--", alias],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as problem:
            config = f"ssh -G {alias}: no answer within {ANSWER_WITHIN_S:.0f} s (a Match exec may hang)"
            raise InputError(config, file=SSH_CONFIG) from problem
    if done.returncode != 0:
        words = [line for line in done.stderr.splitlines() if "terminating" not in line]
        raise InputError(f"ssh -G {alias}: {(words or ['it failed'])[-1].strip()}", file=SSH_CONFIG)
    results: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        results.setdefault(key.lower(), []).append(value)
    return results


def _unless_none(lines: list[str] | None) -> str | None:
    return None if not lines or lines[0].lower() == "none" else lines[0]
