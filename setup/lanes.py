# SPDX-License-Identifier: Apache-2.0
"""Work beside the main thread: k6 is built and JMeter fetched while the Python packages come."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from .say import ASIDE, Aside, SetupError

#: A command that was told to end gets this long before it is killed.
STOP_WITHIN_S = 5.0


class Lane(threading.Thread):
    """One piece of work in a thread of its own; its error waits for whoever asks."""

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        super().__init__(name=name)
        self.aside = Aside()
        self.error: BaseException | None = None
        self._work = work

    def run(self) -> None:
        ASIDE.set(self.aside)  # a thread has a context of its own
        try:
            self._work()
        except BaseException as error:  # raised again by `finish`
            self.error = error

    def stop(self) -> None:
        """End its command, begin no other, and wait for the thread."""
        self.aside.stopped = True
        until_s = time.monotonic() + STOP_WITHIN_S
        while self.is_alive():
            child = self.aside.child
            if child is not None and child.poll() is None:
                (child.terminate if time.monotonic() < until_s else child.kill)()
            self.join(0.1)


class Lanes:
    """Pieces of work by name. Whatever ends the block ends those under way first: nothing is left running."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in self._lanes.values():
            lane.stop()

    def begin(self, name: str, work: Callable[[], object]) -> None:
        """Begin a piece of work, unless it was begun before."""
        if name not in self._lanes:
            self._lanes[name] = Lane(name, work)
            self._lanes[name].start()

    def finish(self, name: str) -> None:
        """Wait for a piece of work.

        Raises:
            SetupError: what it raised, its command's last words shown before.
        """
        lane = self._lanes[name]
        lane.join()
        if lane.error is None:
            return
        if isinstance(lane.error, SetupError) and lane.aside.last_words:
            print(lane.aside.last_words, file=sys.stderr, flush=True)
        raise lane.error
