# SPDX-License-Identifier: Apache-2.0
"""What became of what a load asked for: the share that failed, the share answered rightly, and the kinds of errors.

An arrival that the generator never sent got no answer either, so it counts as wanted and as failed. Of a
flow passes are counted, not requests: a pass ends at its first wrong answer, and the steps after it, which
nobody sent, would otherwise make a service that fails early look better than one that fails late.

A word means what its tool means by it: wrk's ``read`` is a connection that broke, vegeta's ``no answer`` is
none at all, and k6's ``no answer`` would be a wrong one, without the value ``answer`` that a step captures.
So each tool's own words (``harness.model.load_tools``) are looked up first, and what a tool hands on from
elsewhere (an exception's class, a library's message) is told by what stands in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

import pandas as pd

from harness.model.load_tools import BY_NAME, ErrorKind


def failed_share(trials: pd.DataFrame) -> pd.Series:
    """Return (errors + dropped) / (requests + dropped) per trial, of a flow in passes; NaN: nothing was wanted.

    Args:
        trials: ``n_requests``, ``n_errors``, and where there are any ``n_dropped``, ``n_flows``.
    """
    return (_column(trials, "n_errors").fillna(0) + _dropped(trials)) / wanted(trials)


def right_share(trials: pd.DataFrame) -> pd.Series:
    """Return the share of what was wanted that was answered rightly, of a flow in whole passes.

    Together with ``failed_share`` it is one, but for passes that were neither: begun, and cut off at the end.
    """
    right = _column(trials, "n_requests") - _column(trials, "n_errors").fillna(0)
    return _column(trials, "n_flows_right").fillna(right) / wanted(trials)


def wanted(trials: pd.DataFrame) -> pd.Series:
    """Return how many requests, of a flow passes, each trial's load asked for: begun and never sent; NaN: none."""
    asked = _column(trials, "n_flows").fillna(_column(trials, "n_requests")) + _dropped(trials)
    return asked.where(asked > 0)


def counted_in(trials: pd.DataFrame) -> str:
    """Return what the shares of these trials count: ``requests``, ``passes``, or both."""
    flows = _column(trials, "n_flows").notna()
    return "passes" if flows.all() and len(flows) else "passes or requests" if flows.any() else "requests"


def _dropped(trials: pd.DataFrame) -> pd.Series:
    return _column(trials, "n_dropped").fillna(0)


def _column(trials: pd.DataFrame, name: str) -> pd.Series:
    if name not in trials:
        return pd.Series(float("nan"), index=trials.index)
    return pd.to_numeric(trials[name]).astype("float64")


ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)

#: The first two digits of k6's four-digit numbers: name service, TCP, TLS, 4xx, 5xx, HTTP/2.
_K6 = re.compile(r"k6 error (1[0-6])\d\d")
_K6_KINDS: Mapping[str, ErrorKind] = MappingProxyType(
    {"11": "refused", "12": "refused", "13": "refused", "14": "client", "15": "server", "16": "refused"}
)
#: What a step that captures a value says when the answer lacks it; the names are those of captures.
_NOTHING_CAPTURED = re.compile(r"no [a-z][a-z0-9_]{0,39}")
#: What stands in the words of operating systems, runtimes and libraries; the first row that fits counts.
_WITHIN: tuple[tuple[ErrorKind, tuple[str, ...]], ...] = (
    ("timeout", ("timeout", "timed out", "deadline")),
    (
        "refused",
        (
            "refused", "reset", "nohttpresponse", "connectexception", "httphostconnect", "broken pipe",
            "brokenpipe", "disconnected", "closed", "socketexception", "eof", "aborted", "no such host",
            "unknownhost", "no route to host", "noroutetohost", "unreachable", "cannot assign requested address",
            "bindexception", "too many open files", "incomplete", "truncatedchunk", "malformedchunk", "gaierror",
            "connection error", "reading a body", "sslexception", "sslerror",
        ),
    ),
    ("wrong_answer", ("wrong body", "wrong status", "wrong answer", "malformed http", "invalid http", "check")),
)  # fmt: skip


def error_kind(words: str, tool: str | None = None) -> ErrorKind:
    """Return the kind of an error that a load generator names by a status, an exception, or words.

    ``refused``: no connection, or it broke before a whole answer; ``timeout``: none in time; ``server``: a
    5xx; ``client``: a 4xx; ``wrong_answer``: a whole answer that is not the right one.

    Args:
        tool: whose words these are; ``None``: not known, so only what is in the words tells.
    """
    word = words.strip().lower()
    known = BY_NAME.get(tool or "")
    if known is not None and word in known.error_words:
        return known.error_words[word]
    status = word.removeprefix("status").strip()
    if status.isdigit() and len(status) == 3:
        if status[0] in "45":
            return "server" if status[0] == "5" else "client"
        return "wrong_answer"
    numbered = _K6.fullmatch(word)
    if numbered is not None:
        return _K6_KINDS.get(numbered.group(1), "other")
    if _NOTHING_CAPTURED.fullmatch(word):
        return "wrong_answer"
    return next((kind for kind, names in _WITHIN if any(name in word for name in names)), "other")


def errors_by_kind(said: Mapping[str, int], tool: str | None = None) -> dict[ErrorKind, int]:
    """Return kind -> errors, every kind in its order, from what a tool counted by its own names."""
    result: Counter[ErrorKind] = Counter()
    for words, n in said.items():
        result[error_kind(words, tool)] += n
    return {kind: result[kind] for kind in ERROR_KINDS}
