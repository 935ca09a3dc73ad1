# SPDX-License-Identifier: Apache-2.0
"""One request as it is to be sent, and a list of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

#: Headers of a connection: whoever sends a request has its own.
_OF_CONNECTION = frozenset(
    {"host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "upgrade", "expect"}
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """``name``: of the case and the request, unique in its list; ``path`` with its query."""

    name: str
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, kw_only=True)
class Listed:
    """``left_out``: requests that were not taken, each with its reason; ``remarks``: what of others is not sent."""

    asked: tuple[Asked, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def connection_only(header: str) -> bool:
    """Tell whether a header is of a connection, and no part of what is asked."""
    return header.lower() in _OF_CONNECTION or header.startswith(":")


def named(requests: Iterable[Asked]) -> tuple[Asked, ...]:
    """Return the requests without repetitions, each with a name of its own made of method and path."""
    result: dict[tuple[object, ...], Asked] = {}
    names: set[str] = set()
    for item in requests:
        key = (item.method, item.path, item.body, *sorted(item.headers.items()))
        if key in result:
            continue
        words = re.sub(r"[^a-z0-9]+", "-", f"{item.method}{item.path}".lower()).strip("-")[:60]
        if words == item.method.lower():
            words += "-root"
        name, number = words, 1
        while name in names:
            number += 1
            name = f"{words}-{number}"
        names.add(name)
        result[key] = replace(item, name=name)
    return tuple(result.values())
