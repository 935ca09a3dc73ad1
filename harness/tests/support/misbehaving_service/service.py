# SPDX-License-Identifier: Apache-2.0
"""A small real service that fulfils part of the strings contract, and misbehaves as it is told."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

METRICS = "# TYPE http_requests_total counter\nhttp_requests_total %d\n"
GREED: list[bytes] = []


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--face", default="matched")
    parser.add_argument("--logging", default="off")
    parser.add_argument("--log-sink", default="null")
    parser.add_argument("--log-file")
    parser.add_argument("--lean", action="store_true", help="answer every POST with one constant")
    parser.add_argument(
        "--never-ready", default="", choices=("", "silent", "deaf"), help="no port; or no answers"
    )
    parser.add_argument("--fail-start", default="", help="say this on stderr and exit with 3")
    parser.add_argument("--port-taken", default="", choices=("", "always", "once"))
    parser.add_argument("--not-yet", type=int, default=0, help="answer 503 so many times first")
    parser.add_argument(
        "--wrong-answers", type=int, default=-1, help="answer wrongly after so many right answers"
    )
    parser.add_argument(
        "--crash-after", type=int, default=-1, help="die in the middle of request number n + 1"
    )
    parser.add_argument(
        "--memory-error-after", type=int, default=-1, help="run out of memory, as a runtime says it"
    )
    parser.add_argument("--killed-after", type=int, default=-1, help="SIGKILL to itself, as the kernel would")
    parser.add_argument("--slow-s", type=float, default=0.0, help="think so long about every request")
    parser.add_argument("--grow-bytes", type=int, default=0, help="keep so many bytes per request for ever")
    parser.add_argument("--hang-on-stop", default="false", choices=("true", "false"), help="ignore SIGTERM")
    parser.add_argument(
        "--child", default="false", choices=("true", "false"), help="have a child that ignores SIGTERM"
    )
    return parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write per answer
    told: argparse.Namespace
    lock = threading.Lock()
    n_requests = 0

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200, b'{"status":"up"}')
        elif self.path == "/metrics":
            self.answer(200, (METRICS % Handler.n_requests).encode(), "text/plain; version=0.0.4")
        else:
            self.answer(404, b'{"error":"not_found"}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.told.lean:
            self.answer(200, b'{"v":"HELLO"}')
            return
        number = self.misbehave()
        if number <= self.told.not_yet:
            self.answer(503, b'{"error":"starting"}')
            return
        text = json.loads(body)["s"] if body.startswith(b"{") else None
        if text is None:
            self.answer(400, b'{"error":"invalid_json"}')
        elif self.path == "/uppercase":
            wrong = 0 <= self.told.wrong_answers < number
            self.answer(
                200, json.dumps({"v": "wrong" if wrong else text.upper()}, separators=(",", ":")).encode()
            )
        elif self.path == "/count":
            self.answer(200, b'{"v":%d}' % len(text))
        else:
            self.answer(404, b'{"error":"not_found"}')

    def misbehave(self) -> int:
        """Count the request and do what is due; return its number, from 1."""
        with Handler.lock:
            Handler.n_requests += 1
            number = Handler.n_requests
        told = self.told
        if 0 <= told.crash_after < number:
            sys.stderr.write("panic: told to crash\n")
            sys.stderr.flush()
            os._exit(2)
        if 0 <= told.memory_error_after < number:
            sys.stderr.write("MemoryError: told to run out of memory\n")
            sys.stderr.flush()
            os._exit(3)
        if 0 <= told.killed_after < number:
            os.kill(os.getpid(), signal.SIGKILL)
        if told.grow_bytes:
            GREED.append(os.urandom(1) * told.grow_bytes)
        time.sleep(told.slow_s)
        return number

    def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def main() -> None:
    told = Handler.told = arguments()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if told.hang_on_stop == "true" else lambda *_: os._exit(0))
    if told.fail_start:
        sys.stderr.write(told.fail_start + "\n")
        raise SystemExit(3)
    if told.port_taken == "always" or (told.port_taken == "once" and not os.path.exists("port-was-taken")):
        open("port-was-taken", "w").close()
        raise SystemExit(f"port {told.port} is taken")
    if told.child == "true":
        code = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    if told.never_ready == "silent":
        time.sleep(600)
    try:
        server = Server((told.host, told.port), Handler)
    except OSError as problem:
        raise SystemExit(f"port {told.port} is taken: {problem}") from problem
    if told.never_ready == "deaf":
        time.sleep(600)
    sys.stderr.write(f"listening host={told.host} port={server.server_address[1]}\n")
    sys.stderr.flush()
    server.serve_forever(poll_interval=60)


main()
