# SPDX-License-Identifier: Apache-2.0
"""What every adapter needs of a request mix: its proportions, and what it cannot offer or judge of it."""

from __future__ import annotations

import math

from harness.model import Request

#: Tools that choose by repeating a request get no more entries than this.
MAX_ROUND = 1000


def weights(requests: tuple[Request, ...]) -> tuple[int, ...]:
    """The weights in lowest terms: (100, 50) is (2, 1)."""
    divisor = math.gcd(*(request.weight for request in requests))
    return tuple(request.weight // divisor for request in requests)


def one_round(requests: tuple[Request, ...]) -> tuple[int, ...]:
    """Indexes of ``requests``, each as often as its weight, spread evenly (smooth weighted round robin)."""
    shares = weights(requests)
    credit = [0] * len(shares)
    order: list[int] = []
    for _ in range(sum(shares)):
        credit = [have + share for have, share in zip(credit, shares, strict=True)]
        chosen = credit.index(max(credit))
        credit[chosen] -= sum(shares)
        order.append(chosen)
    return tuple(order)


def unsupported_mix(requests: tuple[Request, ...]) -> str | None:
    """Why a mix cannot be offered by repeating requests, or None."""
    names = [request.name for request in requests]
    if len(set(names)) != len(names):
        return f"the mix names a request twice: {names}"
    if sum(weights(requests)) > MAX_ROUND:
        return f"the weights of the mix need a round of more than {MAX_ROUND} requests: choose rounder ones"
    return None


def other_statuses(tool: str, requests: tuple[Request, ...]) -> str | None:
    """Why a tool that takes 2xx and 3xx as right cannot judge these requests, or None."""
    wrong = [request.name for request in requests if not 200 <= request.expect.status < 400]
    return (
        f"{tool} counts every status but 2xx and 3xx as an error, and {wrong} expect another"
        if wrong
        else None
    )
