# SPDX-License-Identifier: Apache-2.0
"""The program behind FakeDatabase: amounts in memory, a password, one question per connection.

Usage: python fake_database.py PORT FIRST_AMOUNT; the password comes by the environment.
A client sends one line, ``<password> add <amount>`` or ``<password> sum``, and gets the sum back.
"""

import os
import socketserver
import sys

PASSWORD = os.environ["FAKE_PASSWORD"]
AMOUNTS = [int(sys.argv[2])]


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        password, what, *amount = self.rfile.readline().decode().split()
        if password != PASSWORD:
            self.wfile.write(b"who are you?\n")
            return
        if what == "add":
            AMOUNTS.append(int(amount[0]))
        self.wfile.write(f"{sum(AMOUNTS)}\n".encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever(poll_interval=60)
