# SPDX-License-Identifier: Apache-2.0
"""Whom to ask, whether that host may be loaded (this machine's own addresses, others only with permission), and whether
it is fit to be: it answers, always alike, and keeps its connection."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from urllib.parse import urlsplit

from pydantic import Field

from harness.agent.http_exchange import Answer, Connection, ExchangeError, request_bytes
from harness.errors import InputError
from harness.model import Endpoint, Frozen
from harness.model.digits import plain

PERMISSION = "--i-have-permission"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One request of a running service. ``is_here``: it answers on this machine's loopback."""

    url: str
    endpoint: Endpoint
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    is_here: bool

    @property
    def request(self) -> bytes:
        """The request as it is sent."""
        body = None if self.body is None else self.body.encode()
        return request_bytes(self.method, self.path, self.headers, body, self.endpoint)


def target_of(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
    permitted: bool = False,
) -> Target:
    """Return the request that a URL means. ``permitted``: the caller may load a host that is not this one. Raises
    InputError: no http URL, an unknown host, or one that may not be loaded."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise InputError(f"is no URL ({problem})", place="URL", found=url, allowed=_FORM) from problem
    if parts.scheme != "http" or not host or parts.username is not None:
        raise InputError("cannot be asked", place="URL", found=url, allowed=_FORM)
    endpoint = Endpoint(host=host, port=80 if port is None else port)
    is_here = _is_loopback(endpoint)
    if not is_here and not permitted:
        raise InputError(
            "is not this machine: a load on it may harm others",
            place="URL",
            found=host,
            allowed=f"127.0.0.1, localhost or ::1; another host with {PERMISSION}, if it is yours to load",
        )
    path = parts.path or "/"
    return Target(
        url=url,
        endpoint=endpoint,
        method=method.upper(),
        path=f"{path}?{parts.query}" if parts.query else path,
        headers=dict(headers or {}),
        body=body,
        is_here=is_here,
    )


_FORM = "http://127.0.0.1:8080/path (no https: encryption would be measured, too)"


def header_named(text: str) -> tuple[str, str]:
    """Return name and value of ``Name: value``. Raises InputError: it has no such form."""
    name, colon, value = text.partition(":")
    good = name.strip().replace("-", "").replace("_", "").isalnum() and name.isascii()
    if not colon or not good or any(sign in text for sign in "\r\n"):
        raise InputError("is no header", place="--header", found=text, allowed="'Name: value'")
    return name.strip(), value.strip()


def _is_loopback(endpoint: Endpoint) -> bool:
    """Return whether all addresses of the host are of this machine alone. Raises InputError: it has none."""
    try:
        result = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise InputError("has no address", place="URL", found=endpoint.host, allowed=_FORM) from problem
    return all(ipaddress.ip_address(str(item[4][0]).partition("%")[0]).is_loopback for item in result)


#: Requests asked one after another, and the time after which no further one is begun.
N_ASKED, LONGEST_S = 20, 5.0
TIMEOUT_S = 10.0
#: A delayed acknowledgement of TCP that meets small writes (Nagle) costs about this.
_PLATEAU_S = (0.036, 0.048)


class Fitness(Frozen):
    """What twenty requests over one connection showed. ``faults``: why no load is offered; none: it is fit."""

    n_asked: int
    statuses: dict[int, int]
    keeps_alive: bool
    n_connections: int
    body_bytes: int
    same_body: bool
    first_s: float = Field(description="of the first request, with connecting")
    later_s: float | None = Field(description="median of the others; None: there was one")
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The status of most answers."""
        return max(self.statuses, key=lambda item: self.statuses[item])


def ask(target: Target) -> Fitness:
    """Ask a few times, one request after another. Raises InputError: nobody answers there, or not with HTTP/1.1."""
    answers: list[Answer] = []
    took: list[float] = []
    began = time.monotonic()
    with Connection(target.endpoint, TIMEOUT_S) as connection:
        while len(answers) < N_ASKED and (not answers or time.monotonic() - began < LONGEST_S):
            sent = time.monotonic()
            try:
                answers.append(connection.exchange(target.request, head_only=target.method == "HEAD"))
            except (ExchangeError, OSError) as problem:
                raise InputError(
                    f"gives no answer to request {len(answers) + 1} ({problem or type(problem).__name__})",
                    place="URL",
                    found=target.url,
                    allowed="a service that runs and speaks HTTP/1.1",
                ) from problem
            took.append(time.monotonic() - sent)
        n_opened = connection.n_opened
    statuses = Counter(answer.status for answer in answers)
    later = median(took[1:]) if len(took) > 1 else None
    result = Fitness(
        n_asked=len(answers),
        statuses=dict(statuses),
        keeps_alive=n_opened == 1
        and all(answer.headers.get("connection", "").lower() != "close" for answer in answers),
        n_connections=n_opened,
        body_bytes=len(answers[-1].body),
        same_body=len({answer.body for answer in answers}) == 1,
        first_s=took[0],
        later_s=later,
    )
    return result.model_copy(update={"faults": _faults(result), "warnings": _warnings(result)})


def _faults(fitness: Fitness) -> tuple[str, ...]:
    if len(fitness.statuses) > 1:
        text = ", ".join(f"{n} x {status}" for status, n in sorted(fitness.statuses.items()))
        return (f"the status changes from request to request: {text}",)
    if 300 <= fitness.status < 400:
        return (f"status {fitness.status}: give the address that it leads to",)
    refused = f"status {fitness.status}: a load would measure how it refuses"
    return () if 200 <= fitness.status < 300 else (refused,)


def _warnings(fitness: Fitness) -> tuple[str, ...]:
    notes = []
    if not fitness.keeps_alive:
        notes.append("it closes its connections: every request pays for a new one, and ports may run out")
    if not fitness.same_body:
        notes.append("its answers differ in their bodies: requests may not all cost the same")
    if fitness.later_s is not None and _PLATEAU_S[0] <= fitness.later_s <= _PLATEAU_S[1]:
        notes.append(
            f"about {plain(fitness.later_s * 1e3)} ms for one user alone is the mark of a delayed acknowledgement: set "
            "TCP_NODELAY, or write head and body at once"
        )
    return tuple(notes)
