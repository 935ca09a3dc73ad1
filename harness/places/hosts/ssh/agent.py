# SPDX-License-Identifier: Apache-2.0
"""The agent on a far host. Bringing it up: find a Python, send one file made of the agent's own modules, start it.
Asking it: one JSON object a line, over the streams of that command of the SSH connection.

A connection that is lost ends the session with its reason: the agent ends what it started, finished trials are kept,
and the same command resumes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shlex
import threading
import time
import zipfile
from concurrent.futures import Future
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import HostError, OrphanError
from harness.places.hosts.ssh.connection import ENDS_WITHIN_S, SshConnection
from harness.places.hosts.ssh.settings import HostSettings

BEAT_S = 1.0
_PULSE = b'{"id": 0, "do": "ping"}\n'

PYTHONS = "python3 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 /usr/bin/python3"
_OLDEST = "import sys; sys.exit(0 if sys.version_info >= (3, 8) else 1)"
#: A folder with a name that anybody can guess may be there already, and what lies in it is started.
_MAKE = (
    'd="${1:-$HOME/.cache/rematch}"; umask 077 && mkdir -p "$d/artifacts" && test -O "$d" && test -O "$d/artifacts" '
    '&& printf %s "$d"'
)
#: An agent that lost its controller ends by itself after its grace; this is on top of it.
LEEWAY_S = 5.0


class Agent:
    """A running agent, and how to ask it. ``base``: the folder of all agents there, ``file``: its own; ``facts``: what
    it says of its machine, and ids of ``others`` that run there."""

    def __init__(
        self, link: SshConnection, python: str, base: PurePosixPath, file: PurePosixPath, grace_s: float
    ) -> None:
        """Start it. Raises HostError: it does not start."""
        self.link, self.python, self.base, self._grace_s = link, python, base, grace_s
        self._words = (python, "-I", str(file))
        self._running = link.start(self.command(str(base), "--grace-s", repr(grace_s)))
        try:
            self.facts: dict[str, Any] = json.loads(self._running.first_line())
        except ValueError:
            text = (self._running.complaint().strip().splitlines() or ["no output"])[-1]
            raise HostError(f"{link.name}: the agent did not start: {text}") from None
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._number = 0
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._lost: str | None = None
        self._closing = threading.Event()
        self._heard = time.monotonic()
        threading.Thread(target=self._read, name=f"agent on {link.name}", daemon=True).start()
        threading.Thread(target=self._beat, name=f"pulse of {link.name}", daemon=True).start()

    def command(self, *words: str) -> str:
        """Return a command of the agent's own file as a shell there takes it."""
        return shlex.join([*self._words, *words])

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Have the agent do one thing and return what it says. Raises HostError: it cannot be done, or the host is
        gone."""
        reply = self._asked(what, arguments).result()
        if "error" in reply:
            raise HostError(f"{self.link.name}: {reply['error']}")
        result: dict[str, Any] = reply["said"]
        return result

    def _asked(self, what: str, arguments: dict[str, Any]) -> Future[dict[str, Any]]:
        answer: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._lost is not None:
                raise HostError(self._lost)
            self._number += 1
            self._pending[self._number] = answer
            question = {"id": self._number, "do": what, "with": arguments}
        self._send(json.dumps(question).encode() + b"\n")
        return answer

    def close(self) -> None:
        """Tell the agent to end all and go. Never raises."""
        with contextlib.suppress(HostError, TimeoutError):
            self._asked("bye", {}).result(ENDS_WITHIN_S)
        self._closing.set()
        self._running.kill()
        self._running.wait()
        with self._sending, contextlib.suppress(OSError, EOFError):
            self._running.stdin.close()
        self._give_up(f"{self.link.name}: the connection was closed")

    def _send(self, line: bytes) -> None:
        with self._sending, contextlib.suppress(OSError, ValueError, EOFError):  # gone: the reader says so
            self._running.stdin.write(line)
            self._running.stdin.flush()

    def _read(self) -> None:
        stream = self._running.stdout
        with contextlib.suppress(OSError, ValueError, EOFError), stream:
            for line in stream:
                self._heard = time.monotonic()
                answer = json.loads(line)
                with self._lock:
                    waiting = self._pending.pop(answer["id"], None)
                if waiting is not None:
                    waiting.set_result(answer)
        silent_s = time.monotonic() - self._heard
        # it has an exit code only if it ended by itself; a signal is told from a lost connection by what stands
        ended = self._running.wait() >= 0 or (self.link.stands and silent_s <= self._grace_s)
        why = "the agent there has ended" if ended or self._closing.is_set() else self.link.last_words()
        self._give_up(
            f"{self.link.name} is gone: not heard since {silent_s:.0f} s ({why}); what ran there ends itself. "
            "Finished trials are kept; run the same command again to resume when the host is back"
        )

    def _beat(self) -> None:
        """Let the agent hear us; end a channel on which it is not heard for its time of grace."""
        while not self._closing.wait(min(BEAT_S, self._grace_s / 3)):
            if self._lost is not None:
                return
            if time.monotonic() - self._heard > self._grace_s:
                self._running.kill()
            self._send(_PULSE)

    def _give_up(self, why: str) -> None:
        with self._lock:
            self._lost = self._lost or why
            waiting = [*self._pending.values()]
            self._pending.clear()
        for answer in waiting:
            answer.set_exception(HostError(why))


def start_agent(link: SshConnection, settings: HostSettings, *, alone: bool = True) -> Agent:
    """Start the agent; ``alone``: wait for one that an ended session left, refuse one at work. Raises HostError: the
    host has no Python, or no room; OrphanError: another session measures there."""
    base, python = _base(link, settings), _python(link, settings)
    file = base / f"agent-{hashlib.sha256(agent_file()).hexdigest()[:16]}.pyz"
    _send(link, file)
    deadline = time.monotonic() + LEEWAY_S + settings.grace_s
    while True:
        agent = Agent(link, python, base, file, settings.grace_s)
        working = agent.facts["others"] if alone else []
        if not working:
            return agent
        agent.close()
        if time.monotonic() > deadline:
            raise OrphanError(
                f"{link.name}: another session is running there (agent {working[0]}); wait for it: two sessions "
                f"would disturb each other. If it is left over: kill {working[0]} on {link.name}"
            )
        time.sleep(1.0)


def _base(link: SshConnection, settings: HostSettings) -> PurePosixPath:
    """Return the folder of ours, made if need be."""
    code, out, err = link.run(shlex.join(["sh", "-c", _MAKE, "sh", settings.folder or ""]))
    if code != 0:
        why = err.strip() or "it is there and belongs to another user"
        folder = settings.folder or "~/.cache/rematch"
        raise HostError(f"{link.name}: cannot make {folder}: {why}; set another folder in hosts.toml")
    return PurePosixPath(out)


def _python(link: SshConnection, settings: HostSettings) -> str:
    """Return the first Python there that is new enough."""
    places = shlex.quote(settings.python) if settings.python else PYTHONS
    script = (
        f'for p in {places}; do if "$p" -c {shlex.quote(_OLDEST)} 2>/dev/null; '
        'then command -v "$p"; exit 0; fi; done; exit 1'
    )
    code, out, _ = link.run(shlex.join(["sh", "-c", script]))
    if code != 0:
        raise HostError(
            f"{link.name}: no Python >= 3.8 there (tried: {places}); nothing else is needed: install one "
            '(apt-get install -y python3), or say in hosts.toml where it is: python = "/path/of/python3"'
        )
    return out.strip()


#: Writes its stdin to a file, which gets its name when it has all bytes.
_RECEIVE = (
    'cat > "$1.$$" && test "$(wc -c < "$1.$$")" -eq "$2" && mv "$1.$$" "$1" || { rm -f "$1.$$"; exit 1; }'
)


def _send(link: SshConnection, file: PurePosixPath) -> None:
    """Send the agent unless it is there: its name holds its hash, and it gets it only when it is whole."""
    if link.run(f"test -s {shlex.quote(str(file))}")[0] == 0:
        return
    words = ["sh", "-c", _RECEIVE, "sh", str(file), str(len(agent_file()))]
    code, _, err = link.run(shlex.join(words), stdin=io.BytesIO(agent_file()))
    if code != 0:
        text = (err.strip().splitlines() or ["it did not arrive whole"])[-1]
        raise HostError(f"{link.name}: cannot send the agent to {file}: {text}")


_HARNESS = Path(__file__).resolve().parents[3]
#: Beside the agent's own commands: ``unpack`` writes the archive on stdin below a folder, ``pack`` writes one of the
#: files of a folder whose names come on stdin, each ended by a zero byte.
_MAIN = """import sys
if sys.argv[1] == "unpack":
    import tarfile
    tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall(sys.argv[2])
elif sys.argv[1] == "pack":
    import os, tarfile
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", dereference=True) as archive:
        for name in sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\\0")[:-1]:
            archive.add(os.path.join(sys.argv[2], name), arcname=name)
else:
    from harness.agent.server import main
    main()
"""
#: The same modules give the same bytes, and so the same name, on every day.
_DATE = (1980, 1, 1, 0, 0, 0)


@cache
def agent_file() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [_HARNESS / "errors.py", *(_HARNESS / "agent").glob("*.py")]
        code = {f"harness/{path.relative_to(_HARNESS).as_posix()}": path.read_text("utf-8") for path in files}
        code["harness/__init__.py"] = ""  # here it imports what needs an installation
        code["__main__.py"] = _MAIN
        for name, text in sorted(code.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)
    return held.getvalue()
