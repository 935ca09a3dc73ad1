# SPDX-License-Identifier: Apache-2.0
"""How much of a long file was read, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TextIO

from harness.formats.collect import RequestStream
from harness.formats.table import RequestChunk

#: A shorter file is read before anybody asks.
LONG_BYTES = 100 << 20
_BETWEEN_S = 0.5


def told(opened: RequestStream, out: TextIO) -> RequestStream:
    """Return the same stream, which tells on ``out`` how far it was read; a short file, or no terminal: nothing."""
    try:
        n_bytes = opened.path.stat().st_size
    except OSError:  # a pipe that is gone: the reader says so
        return opened
    if n_bytes < LONG_BYTES or not out.isatty():
        return opened
    return replace(opened, chunks=_telling(opened, n_bytes, out))


def words(n_read: int, n_bytes: int, elapsed_s: float) -> str:
    """Return share read and time left in words; the time only once a twentieth was read."""
    share = min(n_read / n_bytes, 1.0)
    left = "" if share < 0.05 else f", about {elapsed_s * (1 - share) / share:.0f} s left"
    return f"{share:.0%} read{left}"


def _telling(opened: RequestStream, n_bytes: int, out: TextIO) -> Iterator[RequestChunk]:
    began = told_at = time.monotonic()
    try:
        for chunk in opened.chunks:
            yield chunk
            now = time.monotonic()
            if now - told_at >= _BETWEEN_S:
                told_at = now
                said = words(opened.notes.n_bytes, n_bytes, now - began)
                print(f"\r\033[K{opened.path.name}: {said}", end="", file=out, flush=True)
    finally:
        print("\r\033[K", end="", file=out, flush=True)
