# SPDX-License-Identifier: Apache-2.0
"""Whom to ask, and whether that host may be loaded: this machine's own addresses, others only with permission."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness.agent.http_exchange import request_bytes
from harness.errors import InputError
from harness.model.endpoint import Endpoint

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
    """Return the request that a URL means.

    Args:
        permitted: the caller may load a host that is not this one.

    Raises:
        InputError: no http URL, an unknown host, or one that may not be loaded.
    """
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
    """Return name and value of ``Name: value``.

    Raises:
        InputError: it has no such form.
    """
    name, colon, value = text.partition(":")
    good = name.strip().replace("-", "").replace("_", "").isalnum() and name.isascii()
    if not colon or not good or any(sign in text for sign in "\r\n"):
        raise InputError("is no header", place="--header", found=text, allowed="'Name: value'")
    return name.strip(), value.strip()


def _is_loopback(endpoint: Endpoint) -> bool:
    """All addresses of the host are of this machine alone.

    Raises:
        InputError: it has none.
    """
    try:
        result = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise InputError("has no address", place="URL", found=endpoint.host, allowed=_FORM) from problem
    return all(ipaddress.ip_address(str(item[4][0]).partition("%")[0]).is_loopback for item in result)
