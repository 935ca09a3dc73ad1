# SPDX-License-Identifier: Apache-2.0
"""One fault in a session of its own, and what it broke.

A session is started, the fault comes, the session ends by itself; then the same command is given again on a machine
without the fault. It must complete the same plan: see ``holds.py`` for all that must hold.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

from harness.tests.chaos.faults.hands import HANDS
from harness.tests.chaos.faults.holds import (
    Kept,
    finished,
    incomplete,
    lost,
    running_on,
    said_badly,
    taken_for_measured,
)
from harness.tests.chaos.faults.plan import Fault
from harness.tests.chaos.faults.scenes import LONGEST_S, NUMBER, Stage


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Whether a fault met something, what it broke, and what the session wrote to stderr."""

    struck: bool
    broken: tuple[str, ...]
    stderr: str


def attempt(fault: Fault, here: Stage) -> Attempt:
    """Inject one fault, and give the same command again without it.

    Raises:
        Lacking: it cannot be had here.
    """
    broken: list[str] = []
    with contextlib.ExitStack() as stack:
        hand = HANDS[fault.act](fault, here, stack)
        folder = here.folder(NUMBER)
        stack.callback(here.forget, NUMBER)
        before, struck_epoch_s = Kept(), 0.0

        def record() -> None:
            nonlocal before, struck_epoch_s
            before, struck_epoch_s = (
                finished(folder, promised=fault.act == "power"),
                time.time(),
            )

        order = hand.order()
        running = here.start(NUMBER, **order)
        try:
            struck = hand.strike(running, record)
            if not running.ended(LONGEST_S):
                broken.append(f"still runs after {LONGEST_S:.0f} s")
        finally:
            running.kill()
        hand.after()
        said = running.result()
        broken += said_badly(said, fault, folder)
        broken += lost(folder, before)
        if here.far is None:  # a remote agent waits for its controller, for as long as its grace lasts
            broken += running_on(here)
        hand.mend()
        again = here.start(NUMBER)
        if not again.ended(LONGEST_S):
            broken.append(f"resumed: still runs after {LONGEST_S:.0f} s")
        again.kill()
        broken += incomplete(again.result(), folder)
        broken += lost(folder, before)
        if not broken:
            broken += taken_for_measured(folder, fault, struck_epoch_s)
        broken += running_on(here)
    return Attempt(struck=struck, broken=tuple(dict.fromkeys(broken)), stderr=said.stderr)
