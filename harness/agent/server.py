# SPDX-License-Identifier: Apache-2.0
"""The daemon's side of the wire: one JSON object a line, asked over a unix socket, answered in any order.

A question has a number; its answer is kept until the controller says it has it. So a question
that is asked again after a lost connection is not carried out again: no process is started twice.
Nobody heard for the time of grace: everything that was started is ended, the folder is removed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

from harness.agent.handlers import SLOW, Handlers
from harness.agent.relay import SOCKET
from harness.errors import HostError

#: The number of questions that only say "I am here"; nobody waits for their answers.
PULSE = 0
_LOOK_EVERY_S = 0.1


class Server:
    """Listens in ``folder``; ``serve`` returns when it was told to end or nobody is there any more."""

    def __init__(self, folder: Path, grace_s: float, skew_s: float) -> None:
        self._folder, self._grace_s = folder, grace_s
        self._orders = Handlers(folder, skew_s)
        self._lock = threading.Lock()
        self._answers: dict[int, bytes] = {}
        self._at_work: set[int] = set()
        self._link: socket.socket | None = None
        self._heard = time.monotonic()
        self._ending = threading.Event()
        os.chdir(str(folder))  # a path in a socket's address may have no more than 107 bytes
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(SOCKET)
        os.chmod(SOCKET, 0o600)
        os.chdir("/")
        self._listener.listen(4)
        self._listener.settimeout(_LOOK_EVERY_S)

    def serve(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._ending.set())
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            while not self._ending.is_set() and time.monotonic() - self._heard < self._grace_s:
                try:
                    link, _ = self._listener.accept()
                except socket.timeout:  # noqa: UP041 - until Python 3.10 it is no TimeoutError
                    continue
                link.settimeout(None)
                threading.Thread(target=self._listen, args=(link,), daemon=True).start()
        finally:
            self._orders.end_all()
            shutil.rmtree(str(self._folder), ignore_errors=True)

    def _listen(self, link: socket.socket) -> None:
        with self._lock:
            self._link = link  # the newest controller counts; answers go to it alone
        with link, link.makefile("rb") as lines:
            try:
                for line in lines:
                    self._heard = time.monotonic()
                    self._take(json.loads(line))
            except (OSError, ValueError):  # cut in the middle of a line: it will be asked again
                return

    def _take(self, question: dict[str, Any]) -> None:
        number, oldest = int(question["id"]), int(question["oldest"])
        with self._lock:
            for known in [known for known in self._answers if known < oldest]:
                del self._answers[known]
            answered = self._answers.get(number)
            if answered is None and number in self._at_work:
                return
            if answered is None:
                self._at_work.add(number)
        if answered is not None:
            self._send(answered)
        elif question["do"] in SLOW:
            threading.Thread(target=self._carry_out, args=(question,), daemon=True).start()
        else:
            self._carry_out(question)

    def _carry_out(self, question: dict[str, Any]) -> None:
        number, what = int(question["id"]), question["do"]
        answer: dict[str, Any]
        try:
            if what == "bye":
                self._orders.end_all()
                answer = {"id": number, "said": {}}
            else:
                answer = {"id": number, "said": self._orders.carry_out(what, question.get("with", {}))}
        except HostError as problem:
            answer = {"id": number, "error": str(problem)}
        except OSError as problem:
            place = f" ({problem.filename})" if problem.filename else ""
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = f"; make room for {self._folder}, or set another folder in hosts.toml" if full else ""
            answer = {"id": number, "error": f"{problem.strerror or problem}{place}{advice}"}
        except Exception as problem:  # whoever asked is told, whatever it is
            answer = {"id": number, "error": f"{what}: {type(problem).__name__}: {problem}"}
        line = json.dumps(answer).encode() + b"\n"
        with self._lock:
            if number != PULSE:
                self._answers[number] = line
            self._at_work.discard(number)
        self._send(line)
        if what == "bye":
            self._ending.set()

    def _send(self, line: bytes) -> None:
        with self._lock:
            link = self._link
            if link is None:
                return
            try:
                link.sendall(line)
            except OSError:  # the answer is kept: whoever attaches next asks again
                self._link = None
