# SPDX-License-Identifier: Apache-2.0
"""A headless browser without a network, spoken to through a pipe (the DevTools protocol)."""

from __future__ import annotations

import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.tests.support.available import program_or_not_run
from harness.tests.support.patience import patient

#: For one answer of the browser on a busy machine; nothing is measured by it.
_PATIENCE_S = patient(120.0)
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
    # nothing can be reached, whatever a page asks for
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--remote-debugging-pipe",
)  # fmt: skip
#: Pages are files, parts of them, or nothing.
_OWN = ("file:", "data:", "about:", "blob:")


class Browser:
    """One page of a running browser. ``requests``: addresses that pages asked for; ``problems``: what they logged."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process, self._reads, self._writes = process, process.stdout.fileno(), process.stdin.fileno()
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self._note(message)

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._events.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        while not any(one["method"] == "Page.loadEventFired" for one in self._events):
            self._note(self._next())

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, str(answer["exceptionDetails"])
        return answer["result"].get("value")

    @property
    def foreign_requests(self) -> list[str]:
        """Addresses that were asked for and are no files."""
        return [url for url in self.requests if not url.startswith(_OWN)]

    def _note(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        method, about = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(str(about["request"]["url"]))
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(str(about["entry"]["text"]))

    def _next(self) -> dict[str, Any]:
        until_s = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reads], [], [], max(0.0, until_s - time.monotonic()))
            part = os.read(self._reads, 1 << 20) if ready else b""
            assert part, f"no answer (exit status {self._process.poll()})"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def a_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose data are below ``folder``, or say that the test was not run."""
    program = program_or_not_run("chromium")
    # it reads commands from descriptor 3 and writes answers to 4
    shell = ["sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null', str(program)]
    process = subprocess.Popen(
        [*shell, *_OPTIONS, f"--user-data-dir={folder / 'browser'}", "about:blank"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    try:
        yield Browser(process)
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()  # it ends when nobody can tell it anything
        try:
            process.wait(patient(10))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
