# SPDX-License-Identifier: Apache-2.0
"""A session of very many trials, watched from outside: here, on a host over SSH, and one that leaks on purpose."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pydantic import Field

from harness.errors import RematchError
from harness.model import Frozen
from harness.store import SessionFolder
from harness.tests.chaos.faults.agents import agents
from harness.tests.chaos.faults.plan import Scene
from harness.tests.chaos.faults.scenes import NAME, Stage, stage
from harness.tests.chaos.faults.sessions import Running
from harness.tests.chaos.growth import Growth, Judged, growth
from harness.tests.chaos.watch import bytes_below, held, last_said

EVERY_S = 0.25
#: A session that says nothing new for so long hangs.
STUCK_S = 300.0
CONTROL_TRIALS = 100
#: What a session ends with that SIGTERM stopped.
STOPPED = 143
SESSIONS: dict[str, Scene] = {"on this machine": "soak", "over SSH": "remote soak"}
#: Where the estimate of the time that is left is looked at, as shares of the trials.
ASKED_AT = (0.25, 0.5, 0.75)


class Soaked(Frozen):
    """One session as it was watched."""

    name: str
    control: bool
    n_trials: int = Field(ge=1)
    took_s: float = Field(ge=0)
    outcomes: dict[str, int]
    growths: tuple[Growth, ...]
    left_ratios: dict[str, float] = Field(
        description="share of the trials that were done -> time left as it was said / as it was"
    )
    most_behind: int = Field(description="most trials that were finished and not yet said, or the reverse")

    @property
    def judged(self) -> Judged:
        """The session grows when one of its series does, and is flat when all of them are."""
        found = {one.judged for one in self.growths}
        return "grows" if "grows" in found else "flat" if found == {"flat"} else "undecided"


Series = dict[tuple[str, str], list[tuple[float, float]]]


def soak(
    clone: Path,
    name: str,
    n_trials: int,
    *,
    seed: int,
    seconds: float | None = None,
    leaks: bool = False,
    say: Callable[[str], None],
) -> Soaked:
    """Measure ``n_trials`` tiny trials in one session and watch what it holds.

    Args:
        clone: the project whose echo service is measured. name: one of ``SESSIONS``.
        seconds: the session is stopped after so long, as by ``KeyboardInterrupt``; what was seen until then counts.
        leaks: each trial leaves memory, a descriptor, a thread and a file behind: the control.

    Raises:
        Lacking: it cannot be had here.
        RematchError: the session does not complete.
    """
    with stage(SESSIONS[name], clone) as here:
        argv = [
            "measure", NAME, "--profile", "smoke", "--seed", str(seed), "--host", here.host,
            "--blocks", str(max(1, n_trials // 2)),
        ]  # fmt: skip
        running = here.line.start(argv, {"leaks": True} if leaks else {})
        try:
            series, progress, took_s = _watch(here, running, seconds, say, seed)
        finally:
            running.kill()
        folder = here.folder(seed)
        said = running.result()
        if said.code not in (0, STOPPED) or (said.code == 0) != folder.complete:
            raise RematchError(f"the session ended with {said.code}: {said.stderr.strip()[-300:]}")
        outcomes = Counter(record.outcome.value for record in folder.records())
        series["session", "record of a trial"] = _records(folder)
        found = [growth(who, what, values) for (who, what), values in series.items()]
        return Soaked(
            name=name,
            control=leaks,
            n_trials=sum(outcomes.values()),
            took_s=round(took_s, 1),
            outcomes=dict(outcomes),
            growths=tuple(one for one in found if one is not None),
            left_ratios=_ratios(progress, took_s) if folder.complete else {},
            most_behind=max((abs(done - shown) for _, done, shown, _, _ in progress), default=0),
        )


Progress = list[tuple[float, int, int, int, float | None]]


def _watch(
    here: Stage, running: Running, seconds: float | None, say: Callable[[str], None], seed: int
) -> tuple[Series, Progress, float]:
    """Read until all trials are done; return the series, what progress said, and seconds until then."""
    series: Series = {}
    progress: Progress = []
    folder = here.folder(seed)
    new_s, told_s, seen = time.monotonic(), time.monotonic(), 0
    watched = (here.root / ".cache" / "running", here.root / "tmp", here.root / "far")
    try:
        while not running.ended(EVERY_S):
            now_s = time.monotonic()
            done = _done(folder)
            shown = last_said(running.words())
            if shown is not None and shown.done >= shown.total:
                break
            if seconds is not None and now_s - running.began_s > seconds:
                running.process.send(signal.SIGTERM)
                break
            if done > seen:
                seen, new_s = done, now_s
            elif now_s - new_s > STUCK_S:
                raise RematchError(f"no trial has ended for {STUCK_S:.0f} s, after {done} of them")
            if shown is None or done == 0:
                continue
            progress.append((now_s - running.began_s, done, shown.done, shown.total, shown.left_s))
            people = {"session": running.process.pid}
            if here.far is not None:
                people.update(("agent", one.pid) for one in agents(here.far.base))
            for who, pid in people.items():
                for what, value in (held(pid) or {}).items():
                    series.setdefault((who, what), []).append((done, value))
            series.setdefault(("session", "files left on disk"), []).append((done, bytes_below(watched)))
            log = len(running.words()) + _size(folder.folder / "events.jsonl")
            series.setdefault(("session", "log a trial"), []).append((done, log / done))
            if now_s - told_s > 20:
                told_s = now_s
                say(f"{here.scene}: {done} of {shown.total} trials")
    except KeyboardInterrupt:  # what was seen counts
        running.process.send(signal.SIGTERM)
    took_s = time.monotonic() - running.began_s
    if not running.ended(STUCK_S):
        raise RematchError(f"the session does not end within {STUCK_S:.0f} s of its last trial")
    return series, progress, took_s


def _done(folder: SessionFolder) -> int:
    with contextlib.suppress(OSError):
        return sum(path.name[0].isdigit() for path in folder.folder.iterdir())
    return 0


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _records(folder: SessionFolder) -> list[tuple[float, float]]:
    paths = sorted(path for path in folder.folder.glob("[0-9]*") if path.is_dir())
    return [(float(n), float(_size(path / "record.json"))) for n, path in enumerate(paths, 1)]


def _ratios(progress: Progress, took_s: float) -> dict[str, float]:
    """Return what was said of the time left, divided by what it was, once at each share of ``ASKED_AT``."""
    found = {}
    for share in ASKED_AT:
        for at_s, _, shown, total, left_s in progress:
            if shown >= share * total and left_s is not None and took_s > at_s:
                found[f"{share:.0%}"] = round(left_s / (took_s - at_s), 3)
                break
    return found


__all__ = ["CONTROL_TRIALS", "SESSIONS", "Soaked", "soak"]
