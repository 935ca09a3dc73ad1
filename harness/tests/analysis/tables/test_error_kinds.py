# SPDX-License-Identifier: Apache-2.0
"""Every word by which a load generator names an error is told for what it is, by its tool where tools differ."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.tables.success_shares import ERROR_KINDS, error_kind, errors_by_kind
from harness.formats.wrk_text import summary_parts
from harness.loadgen.tools.k6 import ERROR_NAMES
from harness.loadgen.tools.wrk import Errors
from harness.model.load_tools import BY_NAME, LOAD_TOOLS, ErrorKind

TOOLS: tuple[str, ...] = tuple(tool.name for tool in LOAD_TOOLS)
#: The four that judge bodies and captures in a script or plan of ours say so in the same words.
CHECKING = ("jmeter", "locust", "k6")

#: tool, its words as its adapter hands them on, kind: every word that one of ours makes up, and of those that
#: come from elsewhere all that a service that breaks, hangs or refuses brings about.
SAID: list[tuple[str, str, ErrorKind]] = [
    *((tool, "status 503", "server") for tool in (*CHECKING, "oha", "vegeta")),
    *((tool, "status 404", "client") for tool in (*CHECKING, "oha", "vegeta")),
    *((tool, "status 204", "wrong_answer") for tool in CHECKING),
    *((tool, "wrong body", "wrong_answer") for tool in CHECKING),
    *((tool, "no from_id", "wrong_answer") for tool in CHECKING),
    *((tool, "no answer", "wrong_answer") for tool in CHECKING),  # a capture may have this name
    ("vegeta", "no answer", "refused"),
    ("vegeta", "connection refused", "refused"),
    ("vegeta", "connection reset by peer", "refused"),
    ("vegeta", "EOF", "refused"),
    ("vegeta", "no such host", "refused"),
    ("vegeta", "no route to host", "refused"),
    ("vegeta", "cannot assign requested address", "refused"),
    ("vegeta", "too many open files", "refused"),
    ("vegeta", "http: server closed idle connection", "refused"),
    ("vegeta", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "timeout"),
    ("vegeta", "i/o timeout", "timeout"),
    *((tool, "connect", "refused") for tool in ("wrk", "wrk2")),
    *((tool, "read", "refused") for tool in ("wrk", "wrk2")),
    *((tool, "write", "refused") for tool in ("wrk", "wrk2")),
    *((tool, "status", "wrong_answer") for tool in ("wrk", "wrk2")),
    *((tool, "timeout", "timeout") for tool in ("wrk", "wrk2")),
    ("k6", "error", "other"),
    ("k6", "dns error", "refused"),
    ("k6", "dns: no such host", "refused"),
    ("k6", "timeout", "timeout"),
    ("k6", "tcp error", "refused"),
    ("k6", "broken pipe", "refused"),
    ("k6", "dial error", "refused"),
    ("k6", "dial timeout", "timeout"),
    ("k6", "connection refused", "refused"),
    ("k6", "connection reset", "refused"),
    ("k6", "k6 error 1110", "refused"),
    ("k6", "k6 error 1221", "refused"),
    ("k6", "k6 error 1310", "refused"),
    ("k6", "k6 error 1404", "client"),
    ("k6", "k6 error 1503", "server"),
    ("k6", "k6 error 1633", "refused"),
    ("k6", "k6 error 1020", "other"),
    ("oha", "connection refused; os error 111", "refused"),
    ("oha", "connection closed before message completed", "refused"),
    ("oha", "connection error", "refused"),
    ("oha", "error reading a body from connection", "refused"),
    ("oha", "timeout", "timeout"),
    ("oha", "invalid HTTP version parsed", "wrong_answer"),
    ("metronome", "connection refused", "refused"),
    ("metronome", "connection closed", "refused"),
    ("metronome", "timeout", "timeout"),
    ("metronome", "malformed HTTP", "wrong_answer"),
    ("metronome", "wrong body", "wrong_answer"),
    ("jmeter", "ConnectException", "refused"),
    ("jmeter", "HttpHostConnectException", "refused"),
    ("jmeter", "NoHttpResponseException", "refused"),
    ("jmeter", "NoRouteToHostException", "refused"),
    ("jmeter", "UnknownHostException", "refused"),
    ("jmeter", "BindException", "refused"),
    ("jmeter", "SocketException", "refused"),
    ("jmeter", "ConnectionClosedException", "refused"),
    ("jmeter", "TruncatedChunkException", "refused"),
    ("jmeter", "MalformedChunkCodingException", "refused"),
    ("jmeter", "SSLException", "refused"),
    ("jmeter", "SocketTimeoutException", "timeout"),
    ("jmeter", "ConnectTimeoutException", "timeout"),
    ("jmeter", "ConnectionPoolTimeoutException", "timeout"),
    ("jmeter", "wrong status", "wrong_answer"),
    ("jmeter", "InterruptedException", "other"),
    ("locust", "ConnectionError", "refused"),
    ("locust", "ConnectionRefusedError", "refused"),
    ("locust", "ConnectionResetError", "refused"),
    ("locust", "ConnectionAbortedError", "refused"),
    ("locust", "BrokenPipeError", "refused"),
    ("locust", "HTTPConnectionClosed", "refused"),
    ("locust", "gaierror", "refused"),
    ("locust", "OSError", "refused"),
    ("locust", "SSLError", "refused"),
    ("locust", "Timeout", "timeout"),
    ("locust", "TimeoutError", "timeout"),
    ("locust", "HTTPParseError", "wrong_answer"),
    ("locust", "HTTPProtocolViolationError", "wrong_answer"),
    ("locust", "error", "wrong_answer"),
]


@pytest.mark.parametrize(("tool", "words", "kind"), SAID, ids=[f"{t}: {w}" for t, w, _ in SAID])
def test_a_tools_words_are_told_for_what_they_are(tool: str, words: str, kind: ErrorKind) -> None:
    assert error_kind(words, tool) == kind


def test_every_word_that_an_adapter_makes_up_is_among_them() -> None:
    told = {tool: {words for t, words, _ in SAID if t == tool} for tool in TOOLS}
    assert set(ERROR_NAMES.values()) <= told["k6"]
    assert set(Errors.model_fields) == told["wrk"] == told["wrk2"]
    for tool in LOAD_TOOLS:
        assert set(tool.error_words) <= {words.lower() for words in told[tool.name]}, tool.name


def test_wrks_summary_has_no_other_words() -> None:
    text = (
        "Running 1s test @ http://127.0.0.1:1/\n"
        "  9 requests in 1.00s, 1.00MB read\n"
        "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
        "  Non-2xx or 3xx responses: 5\n"
    )
    parts = summary_parts(text)
    assert parts is not None
    assert set(parts.errors_by_kind) == set(BY_NAME["wrk"].error_words)


def test_the_faults_of_our_scripts_are_among_them() -> None:
    """What the scripts for k6 and Locust, and the plan for JMeter, say of a wrong answer."""
    tools = resources.files("harness.loadgen").joinpath("templates")
    said = set()
    for name in ("k6_script.js", "locustfile.py"):
        text = tools.joinpath(name).read_text(encoding="utf-8")
        said |= {found.split()[0] for found in re.findall(r"`((?:no|status|error) \$\{)", text)}
        said |= {found.split()[0] for found in re.findall(r'f"((?:no|status) \{)', text)}
        said |= set(re.findall(r'"(wrong \w+)"', text))
    plan = tools.joinpath("plan.jmx.jinja").read_text(encoding="utf-8")
    said |= set(re.findall(r'custom_message">(wrong \w+)<', plan))
    assert said == {"no", "status", "error", "wrong body", "wrong status"}
    assert all(
        error_kind(words, tool) == "wrong_answer" for tool in CHECKING for words in said if " " in words
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("status 503", "server"),
        ("500", "server"),
        ("status 404", "client"),
        ("status 204", "wrong_answer"),
        ("no balance", "wrong_answer"),
        ("ConnectionRefusedError(111)", "refused"),
        ("ConnectTimeoutException", "timeout"),
        ("something else", "other"),
    ],
)
def test_without_its_tool_an_error_is_told_by_what_is_in_its_words(words: str, kind: ErrorKind) -> None:
    assert error_kind(words) == kind


@given(
    st.dictionaries(st.text(max_size=20), st.integers(0, 1000), max_size=8),
    st.sampled_from([None, *TOOLS]),
)
@settings(max_examples=60, deadline=None)
def test_no_error_is_lost_or_counted_twice_by_its_kind(said: dict[str, int], tool: str | None) -> None:
    found = errors_by_kind(said, tool)
    assert tuple(found) == ERROR_KINDS
    assert sum(found.values()) == sum(said.values())
