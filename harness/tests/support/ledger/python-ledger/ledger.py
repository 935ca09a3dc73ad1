# SPDX-License-Identifier: Apache-2.0
"""A small service with a database and an upstream API: it books every amount twice, or, lossy, only once."""

import argparse
import os
import signal
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

LOCK = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    lossy = False
    forgetful = False
    n_posts = 0
    connection: psycopg.Connection

    def do_GET(self) -> None:
        self.answer(200, b'{"status":"up"}')

    def do_POST(self) -> None:
        amount = int(self.rfile.read(int(self.headers["Content-Length"])))
        signs = (1,) if Handler.lossy else (1, -1)
        try:
            with LOCK, Handler.connection.transaction() as booking:
                Handler.n_posts += 1
                for sign in signs:
                    Handler.connection.execute("INSERT INTO entry (amount) VALUES (%s)", (sign * amount,))
                if Handler.forgetful and Handler.n_posts % 2 == 0:
                    raise psycopg.Rollback(booking)
            with urllib.request.urlopen(os.environ["UPSTREAM_URL"] + "/word") as answer:
                self.answer(200, answer.read())
        except (psycopg.Error, OSError):
            self.answer(503, b"unavailable")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--lossy", default="false")
    parser.add_argument("--forgetful", default="false")
    told = parser.parse_args()
    Handler.lossy = told.lossy == "true"
    Handler.forgetful = told.forgetful == "true"
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # no word of where the database is: libpq reads PGHOST and its kin itself
    Handler.connection = psycopg.connect(sslmode="disable", autocommit=True)
    server = ThreadingHTTPServer((told.host, told.port), Handler)
    server.daemon_threads = True
    sys.stderr.write(f"listening host={told.host} port={told.port}\n")
    server.serve_forever(poll_interval=60)


main()
