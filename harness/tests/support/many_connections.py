# SPDX-License-Identifier: Apache-2.0
"""Very many connections from one thread: each asks once when it is open, and all stay open until the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

from harness.model.endpoint import Endpoint
from harness.tests.support.patience import patient

#: How many may be without their answer at once: fewer than a listener lets wait, so that none is sent twice.
AT_ONCE = 64
WITHIN_S = patient(120.0)


@contextlib.contextmanager
def connections(endpoint: Endpoint, n: int, request: bytes) -> Iterator[Counter[bytes]]:
    """Yield how often each status was answered, while ``n`` connections are open at the same time."""
    opened: list[asyncio.StreamWriter] = []

    async def status(turn: asyncio.Semaphore) -> bytes:
        async with turn:
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
            opened.append(writer)
            writer.write(request)
            words = (await reader.read(4096)).split(b" ", 2)
        return words[1] if len(words) > 1 else b"closed"

    async def statuses() -> list[bytes]:
        turn = asyncio.Semaphore(AT_ONCE)
        return await asyncio.wait_for(asyncio.gather(*(status(turn) for _ in range(n))), WITHIN_S)

    with asyncio.Runner() as runner:
        try:
            yield Counter(runner.run(statuses()))
        finally:
            for writer in opened:
                writer.close()
