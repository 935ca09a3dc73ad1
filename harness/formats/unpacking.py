# SPDX-License-Identifier: Apache-2.0
"""What can be had of a gzipped file, also of one that was cut off while it was written."""

from __future__ import annotations

import zlib

_GZIP = 16 + zlib.MAX_WBITS


def unpacked(data: bytes) -> tuple[bytes, bool]:
    """Return the bytes inside, as far as they go, and whether that is all: members one after another."""
    parts: list[bytes] = []
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            parts.append(member.decompress(data))
        except zlib.error:
            return b"".join(parts), False
        if not member.eof:
            return b"".join(parts), False
        data = member.unused_data.lstrip(b"\0")  # tape blocks and some writers pad with zeros
    return b"".join(parts), True
