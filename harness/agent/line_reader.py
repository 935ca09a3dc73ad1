# SPDX-License-Identifier: Apache-2.0
"""Reads what a service writes to its standard output through a pipe, and counts lines; run as a file, never imported.

``line_reader.py PIPE COUNTED LAST`` makes the named pipe ``PIPE`` and reads it until SIGTERM, and what is still in it
then. ``COUNTED`` is JSON, ``{"lines", "bytes"}``, written again every fifth of a second, so that a killed reader leaves
what it had read. ``LAST`` gets the end of what was read.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from types import FrameType

CHUNK_BYTES = 65536
LAST_BYTES = 4096
EVERY_S = 0.2
#: What is written over what stood there before must be as long.
WIDTH = 80


class Reader:
    """The pipe, the file of counts, and what was read so far."""

    def __init__(self, pipe: str, counted: str) -> None:
        self.stopped = False
        # before there is a pipe: whoever sees one may ask for the end
        signal.signal(signal.SIGTERM, self.stop)
        os.mkfifo(pipe)
        # for writing too: so the pipe has no end while a service is started anew, and opening it does not wait
        self.pipe = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.counted = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.n_lines = self.n_bytes = 0
        self.last = b""
        self.note()

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopped = True

    def note(self) -> None:
        self.noted_s = time.monotonic()
        text = json.dumps({"lines": self.n_lines, "bytes": self.n_bytes})
        os.pwrite(self.counted, text.ljust(WIDTH - 1).encode() + b"\n", 0)

    def read_all(self) -> None:
        """Read until the pipe is empty, or it was stopped and as much as the pipe can hold was read since."""
        left = 16 * CHUNK_BYTES
        while left > 0:
            try:
                data = os.read(self.pipe, CHUNK_BYTES)
            except BlockingIOError:
                return
            self.n_lines += data.count(b"\n")
            self.n_bytes += len(data)
            self.last = (self.last + data)[-LAST_BYTES:]
            if time.monotonic() - self.noted_s >= EVERY_S:
                self.note()
            if self.stopped:
                left -= len(data)


def main(pipe: str, counted: str, last: str) -> None:
    reader = Reader(pipe, counted)
    waiting = select.poll()
    waiting.register(reader.pipe, select.POLLIN)
    while not reader.stopped:
        waiting.poll(1000 * EVERY_S)
        reader.read_all()
        if time.monotonic() - reader.noted_s >= EVERY_S:
            reader.note()
    reader.read_all()
    reader.note()
    with open(last, "wb") as stream:
        stream.write(reader.last)


if __name__ == "__main__":
    main(*sys.argv[1:])
