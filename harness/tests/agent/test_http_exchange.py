# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as services may speak it, byte for byte."""

from __future__ import annotations

import pytest

from harness.agent import http_exchange
from harness.agent.http_exchange import Connection, ConnectionEnded, ExchangeError, request_bytes
from harness.model import Endpoint
from harness.tests.support.scripted_server import CLOSE, HEAD_ONLY, RESET, scripted

HERE = Endpoint(host="127.0.0.1", port=80)
GET = request_bytes("GET", "/", {}, None, HERE)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def body_of(*script: bytes) -> bytes:
    with scripted(script) as (endpoint, _), Connection(endpoint, 5) as connection:
        return connection.exchange(GET).body


def test_a_request_is_sent_as_it_was_written() -> None:
    raw = request_bytes("POST", "/a?b=1", {"X-One": "1", "host": "h"}, "é".encode(), HERE)
    assert raw == b"POST /a?b=1 HTTP/1.1\r\nX-One: 1\r\nhost: h\r\nContent-Length: 2\r\n\r\n\xc3\xa9"
    with scripted([OK]) as (endpoint, received), Connection(endpoint, 5) as connection:
        connection.exchange(raw)
    assert received == [raw]
    assert b"Content-Length: 0\r\n" in request_bytes("POST", "/", {}, b"", HERE) and b"ontent-" not in GET


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n<pause>\r\n<pause>h<pause>i",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    ],
)
def test_a_body_ends_where_its_framing_says(answer: bytes) -> None:
    assert body_of(answer) == b"hi"


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_some_answers_have_no_body_whatever_they_say(status: bytes) -> None:
    assert body_of(b"HTTP/1.1 " + status + b"\r\nContent-Length: 5\r\n\r\n") == b""


def test_an_answer_to_head_has_a_length_and_no_body() -> None:
    with (
        scripted([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", OK]) as (endpoint, _),
        Connection(endpoint, 5) as connection,
    ):
        assert connection.exchange(GET, head_only=True).body == b""
        assert connection.exchange(GET).body == b"hi"


def test_a_connection_that_was_closed_between_answers_is_opened_anew() -> None:
    with scripted([OK, CLOSE], [OK]) as (endpoint, _), Connection(endpoint, 5) as connection:
        connection.exchange(GET)
        assert connection.exchange(GET).body == b"hi"
        assert connection.n_opened == 2


def test_a_service_that_wants_to_close_is_asked_on_a_new_connection() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with scripted([closing], [OK]) as (endpoint, received), Connection(endpoint, 5) as connection:
        connection.exchange(GET)
        connection.exchange(GET)
        assert (connection.n_opened, len(received)) == (2, 2)


@pytest.mark.parametrize("script", [[CLOSE], [RESET], [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"]])
def test_an_answer_that_never_gets_complete_is_an_error(script: list[bytes]) -> None:
    with (
        scripted(script) as (endpoint, _),
        Connection(endpoint, 5) as connection,
        pytest.raises(ConnectionEnded, match=r"connection ended after \d+ bytes"),
    ):
        connection.exchange(GET)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/2 200\r\n\r\n"]
)
def test_what_is_no_http_answer_is_an_error(answer: bytes) -> None:
    with pytest.raises(ExchangeError, match="not a"):
        body_of(answer)


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000,
        b"Transfer-Encoding: chunked\r\n\r\n493e0\r\n" + b"x" * 300_000 + b"\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + (b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 300,
        b"\r\n" + b"x" * 300_000,
    ],
    ids=["a length", "one chunk", "many chunks", "until closed"],
)
def test_an_answer_beyond_the_limit_is_an_error(framing: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "MAX_ANSWER", 100_000)
    with pytest.raises(ExchangeError, match="the answer has more than 100000 bytes"):
        body_of(b"HTTP/1.1 200 OK\r\n" + framing)


def test_a_refusal_in_the_middle_of_sending_is_an_answer_or_an_ended_connection() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
    raw = request_bytes("POST", "/", {}, b"x" * 8_000_000, HERE)
    with scripted([HEAD_ONLY, refusal]) as (endpoint, _), Connection(endpoint, 5) as connection:
        try:
            assert connection.exchange(raw).status == 413
        except ConnectionEnded as ended:  # the reset overtook the answer: TCP allows that
            assert ended.got == 0
