# SPDX-License-Identifier: Apache-2.0
"""A registry for tests, on a port of this machine: what a push needs of the OCI distribution API, digests checked."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_BLOB = re.compile(r"/v2/(?P<repository>[a-z0-9/_.-]+)/blobs/(?P<digest>sha256:[0-9a-f]{64})")
_UPLOADS = re.compile(r"/v2/(?P<repository>[a-z0-9/_.-]+)/blobs/uploads/")
_UPLOAD = re.compile(r"/v2/(?P<repository>[a-z0-9/_.-]+)/blobs/uploads/one")
_MANIFEST = re.compile(r"/v2/(?P<repository>[a-z0-9/_.-]+)/manifests/(?P<tag>[\w.-]+)")


@dataclass
class FakeRegistry:
    """``basic``: the only ``Authorization`` that is let in; ``None``: everybody is. ``asked``: methods and paths."""

    host: str = ""
    basic: str | None = None
    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put_blob(self, repository: str, digest: str, content: bytes) -> tuple[int, str]:
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
            return 400, "DIGEST_INVALID"
        self.blobs[repository, digest] = content
        return 201, ""

    def put_manifest(self, repository: str, tag: str, content: bytes) -> tuple[int, str]:
        said = json.loads(content)
        for part in (said["config"], *said["layers"]):
            known = self.blobs.get((repository, part["digest"]))
            if known is None or len(known) != part["size"]:
                return 404, "MANIFEST_BLOB_UNKNOWN"
        self.manifests[repository, tag] = content
        return 201, ""


@contextmanager
def serving(*, basic: str | None = None) -> Iterator[FakeRegistry]:
    """Serve an empty registry on the loopback."""
    registry = FakeRegistry(basic=basic)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _work(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            registry.asked.append(f"{self.command} {parts.path}")
            if registry.basic is not None and self.headers.get("Authorization") != registry.basic:
                self._answer(401, "UNAUTHORIZED", {"WWW-Authenticate": 'Basic realm="tests"'})
            elif parts.path == "/v2/":
                self._answer(200)
            elif self.command == "HEAD" and (found := _BLOB.fullmatch(parts.path)):
                self._answer(200 if (found["repository"], found["digest"]) in registry.blobs else 404)
            elif self.command == "HEAD" and (found := _MANIFEST.fullmatch(parts.path)):
                self._answer(200 if (found["repository"], found["tag"]) in registry.manifests else 404)
            elif self.command == "POST" and _UPLOADS.fullmatch(parts.path):
                self._answer(202, "", {"Location": f"{parts.path}one?state=kept"})
            elif self.command == "PUT" and (found := _UPLOAD.fullmatch(parts.path)):
                said = parse_qs(parts.query)
                assert said["state"] == ["kept"], "a location is taken as it is"
                self._answer(*registry.put_blob(found["repository"], said["digest"][0], content))
            elif self.command == "PUT" and (found := _MANIFEST.fullmatch(parts.path)):
                self._answer(*registry.put_manifest(found["repository"], found["tag"], content))
            else:
                self._answer(404, "UNSUPPORTED")

        do_GET = do_HEAD = do_POST = do_PUT = _work  # noqa: N815  # the names of the server's methods

        def _answer(self, status: int, code: str = "", headers: dict[str, str] | None = None) -> None:
            body = json.dumps({"errors": [{"code": code, "message": "as said"}]}).encode() if code else b""
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        worker.join()
