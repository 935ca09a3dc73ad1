# SPDX-License-Identifier: Apache-2.0
"""How a far host is reached: ``hosts.toml`` in the project, and ssh's configuration for what that leaves out.

The latter is OpenSSH's own answer (``ssh -G``), which follows Include, Match and Host.
"""

from __future__ import annotations

import getpass
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from harness.definitions.strict_files import parse_toml
from harness.errors import InputError, MissingTool
from harness.model import Frozen
from harness.schema_errors import describe

SSH_CONFIG = Path("~/.ssh/config")
SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
KNOWN = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
ANSWER_WITHIN_S = 20.0
#: In what ssh says of any name, these differ though nothing was written about it.
_ECHOES = ("host", "hostname", "controlpath")
_NOBODY = "rematch-no-such-host"


def is_written(name: str) -> bool:
    """Whether ssh's configuration says anything of this name that it does not say of every name. Raises InputError:
    what is written is wrong; MissingTool: there is no ssh on PATH."""
    config, of_nobody = _ssh_config(name, None, None), _ssh_config(_NOBODY, None, None)
    if config.get("hostname", [name]) != [name]:
        return True
    return any(config.get(key) != of_nobody.get(key) for key in {*config, *of_nobody} - set(_ECHOES))


def expand(text: str, tokens: Mapping[str, str]) -> str:
    """Return a text with ``%x`` and ``${NAME}`` resolved as ssh does; what is unknown stays as it is."""
    text = re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)
    return re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], match[0]), text)


def _ssh_config(alias: str, port: int | None, user: str | None) -> dict[str, list[str]]:
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


FILE = "hosts.toml"
EXAMPLE = "harness/hosts.example.toml"
LOCAL = "local"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class HostSettings(Frozen):
    """One host. What is ``None`` comes from ``~/.ssh/config``, else from the usual places."""

    address: str | None = Field(default=None, description="name or number, or a Host of ~/.ssh/config")
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = None
    key: str | None = Field(default=None, description="private key file; default: the agent and ~/.ssh/id_*")
    known_hosts: str | None = Field(default=None, description="default: ~/.ssh/known_hosts")
    folder: str | None = Field(
        default=None, description="of ours on the host, absolute; default: .cache/rematch in the user's home"
    )
    python: str | None = Field(default=None, description="a Python >= 3.8 on the host; default: found")
    docker: str | None = Field(
        default=None, description="its Docker daemon: unix://PATH; default: DOCKER_HOST there, or found"
    )
    postgres: str | None = Field(
        default=None, description="folder of its PostgreSQL's programs (postgres, initdb); default: found"
    )
    service_address: str = Field(
        default="127.0.0.1", description="where its services listen when the load comes from another machine"
    )
    grace_s: float = Field(
        default=30.0, ge=1.0, le=3600.0, description="unheard of for so long, the host ends what we started"
    )


class _File(Frozen):
    hosts: dict[str, HostSettings] = Field(default_factory=dict)


def host_names(root: Path) -> tuple[str, ...]:
    """Return the names that ``--host`` knows: this machine, and those of ``hosts.toml``.

    Raises InputError: the file is wrong.
    """
    return (LOCAL, *sorted(set(_read(root).hosts) - {LOCAL}))


def load_settings(root: Path, name: str) -> HostSettings:
    """Return the settings of a host, from ``hosts.toml``, or none but its name in ``~/.ssh/config``.

    Raises InputError: no such host, or the file is wrong.
    """
    hosts = _read(root).hosts
    if name in hosts or name == LOCAL:
        return hosts.get(name, HostSettings())
    if _NAME.fullmatch(name) and is_written(name):
        return HostSettings(address=name)
    raise InputError(
        f"unknown host; describe it in {FILE} (copy {EXAMPLE}), or in {SSH_CONFIG}",
        place="--host",
        found=name,
        allowed=", ".join(host_names(root)),
    )


def _read(root: Path) -> _File:
    path = root / FILE
    try:
        data = parse_toml(path.read_text("utf-8"))
    except FileNotFoundError:
        return _File()
    except (OSError, RecursionError, ValueError) as problem:  # TOML's and Unicode's errors are values' errors
        raise InputError(" ".join(str(problem).split())[:200], file=FILE) from problem
    hosts = data.get("hosts", {})
    for name in hosts if isinstance(hosts, dict) else ():
        if not _NAME.fullmatch(name):
            allowed = "small letters, digits and dashes"
            raise InputError(
                "a host's name becomes part of file names", file=FILE, found=name, allowed=allowed
            )
    try:
        return _File.model_validate_json(json.dumps(data))
    except (ValidationError, TypeError, RecursionError) as problem:
        if isinstance(problem, ValidationError):
            raise describe(problem, _File, data, file=FILE) from None
        raise InputError(str(problem), file=FILE) from problem


SSH_PORT = 22


class Connecting(Frozen):
    """What a connection needs, every question answered.

    ``known_hosts``: the user's files first. ``proxy``: a ProxyCommand, or ssh over the hosts of a ProxyJump.
    """

    name: str
    address: str
    port: int = SSH_PORT
    user: str | None = None
    keys: tuple[str, ...] = ()
    known_hosts: tuple[Path, ...]
    known_as: str | None = None
    proxy: str | None = None

    @property
    def name_of_key(self) -> str:
        """How files of known hosts call it: with its port, unless that is the usual one."""
        plain = self.address if self.port == SSH_PORT else f"[{self.address}]:{self.port}"
        return self.known_as or plain

    @property
    def where(self) -> str:
        way = f", by {self.proxy}" if self.proxy else ""
        return f"{self.name} ({self.address} port {self.port}{way})"


def connecting(name: str, settings: HostSettings) -> Connecting:
    """Return how to connect: the settings first, then what ``ssh`` would do. Raises InputError: the key of the settings
    does not exist, or what is written is wrong; MissingTool: there is no ssh on PATH."""
    alias = settings.address or name
    config = _ssh_config(alias, settings.port, settings.user)
    address, port = config.get("hostname", [alias])[0], config["port"][0]
    user, known_as = config.get("user", [""])[0] or None, _unless_none(config.get("hostkeyalias"))
    machine = socket.gethostname()
    tokens = {
        "%": "%", "d": str(Path.home()), "h": address, "i": str(os.getuid()), "k": known_as or alias, "l": machine,
        "L": machine.partition(".")[0], "n": alias, "p": port, "r": user or "", "u": getpass.getuser(),
    }  # fmt: skip

    def files(key: str) -> list[Path]:
        lines = config.get(key, [])
        words = lines if key == "identityfile" else [word for line in lines for word in line.split()]
        return [Path(expand(word, tokens)).expanduser() for word in words if word != "none"]

    keys, own = files("identityfile"), files("userknownhostsfile")
    if settings.key is not None:
        keys = [Path(settings.key).expanduser()]
        if not keys[0].is_file():
            raise InputError(
                "there is no such key",
                file=FILE,
                place=f"hosts.{name}.key",
                found=settings.key,
                allowed="a private key file; or no key here, for the SSH agent's and ~/.ssh/id_*",
            )
    if settings.known_hosts is not None:
        own = [Path(settings.known_hosts).expanduser()]
    proxy, jump = _unless_none(config.get("proxycommand")), _unless_none(config.get("proxyjump"))
    if proxy is None and jump is not None:
        proxy = _over(jump, f"[{address}]:{port}")
    elif proxy is not None:
        proxy = expand(proxy, tokens)
    # no file of one's own means that keys are not to be checked; they are, so the usual one is it
    own = [file for file in own if file != Path(os.devnull)] or [Path(KNOWN[0]).expanduser()]
    return Connecting(
        name=name,
        address=address,
        port=int(port),
        user=user,
        keys=tuple(str(key) for key in keys if key.is_file()),  # as ssh does: others are passed over
        known_hosts=(*own, *files("globalknownhostsfile")),
        known_as=known_as,
        proxy=proxy,
    )


def _over(jump: str, target: str) -> str:
    """Return what OpenSSH runs for a ``ProxyJump``: ssh to its last host, over those before it."""
    before, _, last = jump.rpartition(",")
    words = ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-W", target]
    if Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir):  # ssh takes the home folder from the accounts
        words += ["-F", str(SSH_CONFIG.expanduser())]
    words += ["-J", before] if before else []
    return shlex.join([*words, last if last.startswith("ssh://") else f"ssh://{last.strip()}"])
