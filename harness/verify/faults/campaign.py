# SPDX-License-Identifier: Apache-2.0
"""Faults one after another, each in a session of its own, and what came of them.

A session is started, the fault comes, the session ends by itself; then the same command is given again on a machine
without the fault. It must complete the same plan: see ``holds.py`` for all that must hold.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.provenance import without_paths
from harness.verify.faults.cluster_hands import CLUSTER_HANDS, left_in_cluster
from harness.verify.faults.hands import HANDS
from harness.verify.faults.holds import (
    Kept,
    finished,
    incomplete,
    lost,
    running_on,
    said_badly,
    taken_for_measured,
)
from harness.verify.faults.journal import Came, FaultLine
from harness.verify.faults.lacking import Lacking
from harness.verify.faults.plan import Fault, Scene
from harness.verify.faults.scenes import FOLDER, LONGEST_S, Stage, stage

#: Of what a session said where a promise was broken: a traceback, with what stands above it.
HEARD_CHARACTERS = 8000


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of one fault: whether it met something, what was broken, and what the session said.

    ``said``: its last line; ``heard``: the end of all that it said, where something was broken.
    """

    struck: bool
    broken: tuple[str, ...]
    said: str
    heard: str = ""


def run(
    faults: Iterable[Fault],
    clone: Path,
    *,
    place: str,
    seconds: float | None = None,
    done: Callable[[FaultLine], None] | None = None,
) -> tuple[FaultLine, ...]:
    """Inject faults until there are no more, or ``seconds`` have passed; return what came of each.

    Args:
        clone: the project whose services are measured.
        place: machine and source, as ``harness.provenance.describe_place`` says it.
        seconds: ``None``: there is no limit, and ``faults`` has an end.
        done: told of each fault when it is over.
    """
    lines: list[FaultLine] = []
    ends_s = None if seconds is None else time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        stages: dict[Scene, Stage | str] = {}
        for one in faults:
            if ends_s is not None and time.monotonic() > ends_s:
                break
            reason, tried = "", Tried(struck=False, broken=(), said="")
            began_s = time.monotonic()
            try:
                here = _stage(one.kind.scene, clone, stages, stack)
                began_s = time.monotonic()
                tried = try_one(one, here)
            except Lacking as problem:
                reason = str(problem)
            line = FaultLine(
                number=one.number, kind=one.kind.name, came=_came(tried, reason), broken=tried.broken,
                reason=reason, said=tried.said, heard=tried.heard, took_s=round(time.monotonic() - began_s, 1),
                place=place,
            )  # fmt: skip
            lines.append(line)
            if done is not None:
                done(line)
    return tuple(lines)


def _came(tried: Tried, reason: str) -> Came:
    if reason:
        return "unavailable"
    if tried.broken:
        return "violated"
    return "held" if tried.struck else "late"


def _stage(scene: Scene, clone: Path, stages: dict[Scene, Stage | str], stack: contextlib.ExitStack) -> Stage:
    """Return a scene, laid out when it is needed for the first time.

    Raises:
        Lacking: it cannot be had here.
    """
    if scene not in stages:
        try:
            stages[scene] = stack.enter_context(stage(scene, clone))
        except Lacking as problem:
            stages[scene] = str(problem)
    known = stages[scene]
    if isinstance(known, str):
        raise Lacking(known)
    return known


def nameless(words: str, root: Path) -> str:
    """Return words without places of this machine, also where a message cut the path of a scene short."""
    (words,) = without_paths([words], places={"root": root})
    return re.sub(rf"{re.escape(str(root.parent.parent))}/{FOLDER}\w*", "{scene}", words)


def try_one(fault: Fault, here: Stage) -> Tried:
    """Inject one fault, and give the same command again without it.

    Raises:
        Lacking: it cannot be had here.
    """
    broken: list[str] = []
    with contextlib.ExitStack() as stack:
        hand = {**HANDS, **CLUSTER_HANDS}[fault.kind.act](fault, here, stack)
        folder = here.folder(fault.number, hand.host)
        stack.callback(here.forget, fault.number, hand.host)
        before, struck_epoch_s = Kept(), 0.0

        def record() -> None:
            nonlocal before, struck_epoch_s
            before, struck_epoch_s = (
                finished(folder, promised=fault.kind.act == "power"),
                time.time(),
            )

        order = hand.order()
        running = here.start(fault.number, host=hand.host, **order)
        try:
            struck = hand.strike(running, record)
            if not running.ended(LONGEST_S):
                broken.append(f"still runs after {LONGEST_S:.0f} s")
        finally:
            running.kill()
        hand.after()
        said = running.result()
        broken += said_badly(said, fault.kind, folder)
        broken += lost(folder, before)
        if here.far is None:  # a remote agent waits for its controller, for as long as its grace lasts
            broken += running_on(here)
        hand.mend()
        again = here.start(fault.number, host=hand.host)
        if not again.ended(LONGEST_S):
            broken.append(f"resumed: still runs after {LONGEST_S:.0f} s")
        again.kill()
        broken += incomplete(again.result(), folder)
        broken += lost(folder, before)
        if not broken:
            broken += taken_for_measured(folder, fault.kind, struck_epoch_s)
        broken += running_on(here)
        broken += left_in_cluster(here)
    words = nameless(said.stderr.strip(), here.root)
    broken = [nameless(what, here.root) for what in broken]
    return Tried(
        struck=struck, broken=tuple(dict.fromkeys(broken)), said=(words.splitlines() or [""])[-1],
        heard=words[-HEARD_CHARACTERS:] if broken else "",
    )  # fmt: skip
