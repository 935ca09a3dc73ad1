# SPDX-License-Identifier: Apache-2.0
"""A small real HTTP server that remembers: what one answer gives must come back in a later request."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager

from harness.model import Request
from harness.tests.support.answering_server import Handler, Server, serving
from harness.tests.support.available import patient

#: What `POST /account` can be told to answer in place of the right thing, and what a generator calls it.
FAULTS = {
    "500": (500, b'{"error":"internal"}', "status 500"),
    "no id": (200, b'{"owner":"o-0"}', "no a"),
    "no JSON": (200, b"<html>", "no a"),
    "cannot be carried": (200, b'{"id":"a b","owner":"o-0"}', "no a"),
}


class _Handler(Handler):
    server: AccountsServer

    def setup(self) -> None:
        super().setup()
        if self.server.together is not None:
            # broken, and with it the connection, when they do not come
            self.server.together.wait(patient(20))

    def respond(self) -> None:
        body = self.body().decode()
        with self.server.lock:
            status, answer = self.server.reply(self.command, self.path, body, self.headers.get("X-Owner"))
        self.answer(status, answer)


class AccountsServer(Server):
    """``faults``: what opening an account answers, in turn; None is the right thing. ``states``: see /state."""

    def __init__(self, faults: Sequence[str | None], states: Sequence[object], at_once: int) -> None:
        super().__init__(_Handler)
        self.together = threading.Barrier(at_once) if at_once > 1 else None
        self.faults, self.states = faults, states
        self.seen: Counter[str] = Counter()
        self.transfers: list[str] = []
        self.owners: dict[int, str] = {}

    def reply(self, method: str, path: str, body: str, owner: str | None) -> tuple[int, bytes]:
        """The status and body of one answer, and what is remembered of the request."""
        what = "/account/" if path.startswith("/account/") else path
        number = self.seen[what]
        self.seen[what] += 1
        if (method, path) == ("POST", "/account"):
            return self._open(self.faults[number % len(self.faults)])
        if method == "GET" and what == "/account/":
            known = self.owners.get(int(path.rpartition("/")[2]))
            return (404, b"{}") if known is None else (200, _lean({"owner": known}))
        if (method, path) == ("POST", "/transfer"):
            return self._transfer(body, owner)
        if path == "/state":
            return 200, _lean({"state": self.states[number % len(self.states)]})
        return 404, _lean({"error": path})

    def _open(self, fault: str | None) -> tuple[int, bytes]:
        if fault is not None:
            return FAULTS[fault][:2]
        number = len(self.owners) + 1
        self.owners[number] = f"o-{number}"
        return 200, _lean({"id": number, "more": [{"id": 0}, {"owner": self.owners[number]}]})

    def _transfer(self, body: str, owner: str | None) -> tuple[int, bytes]:
        self.transfers.append(body)
        asked = json.loads(body)
        if self.owners.get(asked["from"]) != owner or asked["to"] not in self.owners:
            return 409, _lean({"error": "unknown account"})
        state = "done" if len(self.transfers) % 2 else "queued"
        return 200, _lean({"id": f"t-{len(self.transfers)}", "from": asked["from"], "state": state})


def _lean(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def accounts_server(
    faults: Sequence[str | None] = (None,), states: Sequence[object] = ("done",), at_once: int = 1
) -> AbstractContextManager[AccountsServer]:
    """Run the server for the time of a test."""
    return serving(AccountsServer(faults, states, at_once))


#: Text that tools with a language of their own might read as theirs; it must arrive as it stands.
AWKWARD = r"5 $ \\ , \\$ <&> é ${__time()} $${X} ]]> $\\"


def step(number: int, name: str, method: str, path: str, **more: object) -> Request:
    """One step of a flow; without ``expect`` only the status counts."""
    line = {"mix": "accounts", "name": name, "step": number, "method": method, "path": path}
    return Request.model_validate_json(json.dumps({"expect": {"status": 200}, **line, **more}))


def open_and_show() -> tuple[Request, ...]:
    """Two steps: the second asks for what the first one opened, by its number."""
    return (
        step(1, "open", "POST", "/account", capture={"a": "/id"}),
        step(2, "show", "GET", "/account/${a}", expect={"status": 200, "json": {"owner": "o-${a}"}}),
    )


def transfer_flow() -> tuple[Request, ...]:
    """Two accounts, a transfer between them, and a look at the first: captures in every place."""
    opened = {"status": 200, "json": {"id": "${a}", "more": [{"id": 0}, {"owner": "${owner}"}]}}
    transferred = [{"id": "${t}", "from": "${a}", "state": state} for state in ("done", "queued")]
    return (
        step(1, "open-a", "POST", "/account", capture={"a": "/id", "owner": "/more/1/owner"}, expect=opened),
        step(2, "open-b", "POST", "/account", capture={"b": "/id"}),
        step(
            3,
            "transfer",
            "POST",
            "/transfer",
            headers={"X-Owner": "${owner}", "Content-Type": "application/json"},
            body='{"from":${a},"to":${b},"memo":"' + AWKWARD + '${owner}${a}"}',
            capture={"t": "/id"},
            expect={"status": 200, "one_of": transferred},
        ),
        step(4, "show-a", "GET", "/account/${a}", expect={"status": 200, "body": '{"owner":"${owner}"}'}),
    )
