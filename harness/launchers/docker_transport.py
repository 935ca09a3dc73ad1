# SPDX-License-Identifier: Apache-2.0
"""The way of the Docker SDK's requests: through the host whose daemon is meant, wherever that host is."""

from __future__ import annotations

import http.client
import io
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from harness.agent.docker_api import DockerReply, DockerRequest
from harness.errors import HostError
from harness.hosts.measuring import MeasuringHost
from harness.launchers.docker_errors import with_advice

#: Where the SDK sets no limit: an image is built in one exchange.
WITHIN_S = 1800.0
_BODY = "body.tar"
#: What belongs to the SDK's own connection, which there is none of.
_NOT_CARRIED = frozenset(
    {"content-length", "transfer-encoding", "connection", "accept-encoding", "host", "user-agent"}
)


class DockerTransport(BaseAdapter):
    """Answers come whole: nothing that is asked here goes on for ever.

    A body that is a file (what an image is built of) is sent to the host as a file of its own.
    A daemon that does not answer is a ``HostError``.
    """

    def __init__(self, host: MeasuringHost, address: str | None) -> None:
        super().__init__()
        self._host, self._address = host, address

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        headers = {
            name: str(value) for name, value in request.headers.items() if name.lower() not in _NOT_CARRIED
        }
        if hasattr(request.body, "read"):
            reply = self._send_file(request, request.body, headers, timeout)
        else:
            body = request.body or b""
            asked = DockerRequest(
                request.method or "GET",
                _path(request),
                headers,
                body.encode() if isinstance(body, str) else body,
            )
            reply = self._ask(asked, timeout)
        return _response(reply, request)

    def close(self) -> None:
        """There is no connection of its own."""

    def _send_file(
        self, request: requests.PreparedRequest, body: Any, headers: Mapping[str, str], timeout: Any
    ) -> DockerReply:
        with tempfile.TemporaryDirectory(prefix="rematch-context-") as name:
            with (Path(name) / _BODY).open("wb") as target:
                shutil.copyfileobj(body, target)
            there = self._host.install(Path(name))
            try:
                body_file = str(there / _BODY)
                asked = DockerRequest(request.method or "POST", _path(request), headers, body_file=body_file)
                return self._ask(asked, timeout)
            finally:
                self._host.discard(there)

    def _ask(self, asked: DockerRequest, timeout: Any) -> DockerReply:
        within_s = float(timeout) if isinstance(timeout, (int, float)) else WITHIN_S
        try:
            return self._host.docker([asked], address=self._address, timeout_s=within_s)[0]
        except HostError as problem:
            raise with_advice(problem, self._host) from problem


class _Whole(io.BytesIO):
    """A body as the SDK looks at one."""

    chunked = False

    @property
    def _fp(self) -> _Whole:
        return self


def _path(request: requests.PreparedRequest) -> str:
    parts = urlsplit(str(request.url))
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _response(reply: DockerReply, request: requests.PreparedRequest) -> requests.Response:
    response = requests.Response()
    response.status_code = reply.status
    response.reason = http.client.responses.get(reply.status, "")
    response.headers = CaseInsensitiveDict(reply.headers)
    response.encoding = "utf-8"
    response.raw = _Whole(reply.body)
    response.request = request
    response.url = str(request.url)
    return response
