# SPDX-License-Identifier: Apache-2.0
"""An upstream API in a few lines: it answers any GET with one word."""

import argparse
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    word = b"posted"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(Handler.word)))
        self.end_headers()
        self.wfile.write(Handler.word)

    def log_message(self, *_: object) -> None:
        pass


parser = argparse.ArgumentParser()
parser.add_argument("--host")
parser.add_argument("--port", type=int)
parser.add_argument("--word", default="posted")
parser.add_argument("--fail-start")
told = parser.parse_args()
if told.fail_start:
    sys.exit(told.fail_start)
Handler.word = told.word.encode()
ThreadingHTTPServer((told.host, told.port), Handler).serve_forever(poll_interval=60)
