# SPDX-License-Identifier: Apache-2.0
"""Where every cause of a trial's peaks was looked for: what was recorded, and what was not and so is not excluded."""

from __future__ import annotations

from pydantic import Field

from harness.analysis.attribution.bounded_causes import Beside
from harness.analysis.attribution.log_clock import AlignedLog
from harness.analysis.attribution.machine_waits import compiling, throttling, waiting
from harness.analysis.attribution.spans import CauseName, Span
from harness.model import Frozen, TrialRecord
from harness.store import SessionFolder

#: Causes that are the service's own; the generator's pauses delay the sending, not the service.
SERVICE_CAUSES: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")
#: Causes of which is known that they were at work, and not how much they took.
BESIDE: tuple[CauseName, ...] = ("cgroup_throttle", "jit", "run_queue")


class Source(Frozen):
    """Where a cause was looked for. Not ``recorded``: it may have been at work all the same."""

    recorded: bool
    words: str = Field(description="what was read, and how finely it is known; or why there is nothing")


def beside_sources(
    session: SessionFolder,
    record: TrialRecord,
    window: Span,
    *,
    has_connect: bool,
) -> tuple[tuple[Beside, ...], dict[CauseName, Source]]:
    """Return what was recorded of causes beside the program, and where these and connecting were looked for."""
    told = "the load tool's time to connect, request by request"
    connect = Source(
        recorded=has_connect,
        words=told if has_connect else "not recorded: the load tool does not report the time to connect",
    )
    sources: dict[CauseName, Source] = {"connect": connect}
    found: list[Beside] = []
    looked: tuple[tuple[CauseName, Beside | tuple[Beside, ...] | str], ...] = (
        ("cgroup_throttle", throttling(session, record)),
        ("jit", compiling(session, record, window)),
        ("run_queue", waiting(session, record, window)),
    )
    for cause, read in looked:
        ones = () if isinstance(read, str) else (read,) if isinstance(read, Beside) else read
        words = f"not recorded: {read}" if isinstance(read, str) else "; ".join(one.words for one in ones)
        sources[cause] = Source(recorded=bool(ones), words=words)
        found += ones
    return tuple(found), sources


def log_sources(service: AlignedLog, refused: str | None, generator: AlignedLog) -> dict[CauseName, Source]:
    """Return of the causes that logs tell where they stood; ``refused``: why the service's were not laid."""
    laid = f"; not aligned with the requests: {refused}" if refused else ""
    own = _log_as_source(service, "the service's own log", laid)
    return {
        **dict.fromkeys(SERVICE_CAUSES, own),
        "generator_stall": _log_as_source(generator, "the load generator's own log", ""),
    }


def _log_as_source(log: AlignedLog, words: str, laid: str) -> Source:
    if log.placed_within_s is None:
        return Source(recorded=False, words=f"not recorded: {log.refused}")
    return Source(recorded=True, words=f"{words}, placed by {log.placed_by}{laid}")
